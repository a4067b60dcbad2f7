"""Multipliers that are quotients of the parameters, for the kernel's rule *family*.

Semidefinite programs at a grid of the parameters say between which numbers each multiplier may lie. One after the other
is fixed at the simplest quotient that lies there at every point. Such quotients are candidates only: the kernel checks
them. Where a bound is attained the programs have no interior; then the form vanishes on directions that exact
multipliers at each point give, and the programs are solved on the face that is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np

from clusterproof.checker import kernel
from clusterproof.checker.kernel.evaluation import limited
from clusterproof.checker.kernel.families import needs
from clusterproof.checker.kernel.multipliers import Need, require_multipliers
from clusterproof.checker.kernel.numbers import write
from clusterproof.checker.kernel.polynomials import Polynomial
from clusterproof.checker.kernel.spaces import Interval
from clusterproof.checker.search.family_programs import Programs, TooManyPrograms
from clusterproof.checker.search.quotients_between import Quotients, Ratio

MOST_STATES = 8
"""Most symbols for rounds and states."""
FUEL = 20_000_000
"""Steps in which the kernel may trace a statement, or check one candidate."""
PRESENT = 1e-4
"""From which on, beside the largest, a multiplier is other than 0."""
EXACT = 3e-5
"""How far, beside 1, a multiplier that is determined may be from what the solver finds."""
COSTS = 3
"""Costs by which multipliers are chosen, where the first ones are no quotients."""
SHARES = (0.0, 0.02, 0.2)
"""Shares of an interval that are left out at both ends."""
ORDERS = 6
"""Random orders of elimination."""
Proof = dict[str, Any]


def family_of(statement: kernel.Statement, line: str) -> dict[str, Any] | None:
    """Search evidence of the rule *family* for a line.

    Parameters
    ----------
    statement
        In the language, with a function of a class.
    line
        Its name; empty of a single one.

    Returns
    -------
    dict or None
        A record without ``statement``, ``line`` and ``witness``; None if a need is not shown.
    """
    for listed in ([], _listed(statement)):
        for states in range(MOST_STATES + 1):
            data: dict[str, Any] = {"states": states, "listed": listed}
            try:
                with limited(FUEL):
                    found = list(needs(statement, line, data))
            except kernel.Refused as refused:
                if "more states" in str(refused):
                    continue
                break
            except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
                break
            proofs = [proof_of(need) for need in found]
            if None not in proofs:
                return {"rule": "family", **data, "proofs": proofs}
            break
    return None


def _listed(statement: kernel.Statement) -> list[str]:
    """Return the integers between two ends, of which each is a case of its own."""
    return [
        name
        for name, allowed in statement.space.ranges.items()
        if type(allowed) is Interval
        and allowed.integers
        and allowed.low is not None
        and allowed.high is not None
    ]


def proof_of(need: Need) -> Proof | None:
    """Return multipliers that the kernel accepts; None if none are found."""
    if len(need.slacks) != 1:
        return None
    programs = Programs(need)
    if not programs.points:
        return None
    with suppress(TooManyPrograms, np.linalg.LinAlgError):
        found = _Fitted(programs, EXACT).proof(1)
        if found is None and programs.restrict_to_faces():
            found = _Fitted(programs, EXACT / 100).proof(COSTS)
        return found
    return None


class _Fitted:
    """Quotients through multipliers at all points of a grid."""

    def __init__(self, programs: Programs, near: float) -> None:
        self.programs, self.near = programs, near
        self.names = list(programs.conditions)

    def proof(self, costs: int) -> Proof | None:
        """Return a proof by one of several costs."""
        everything = list(range(len(self.names)))
        tried: list[list[int]] = []
        for cost in islice(self._costs(), costs):
            table = self.programs.table(cost)
            if table is None:
                return None
            quotients = Quotients(self.programs.need, self.programs.points, self.programs.forms)
            largest = max(1.0, float(np.abs(table).max(initial=0)))
            support = [n for n in everything if np.abs(table[:, n]).max() > PRESENT * largest]
            if (found := self._through(quotients, support, table)) is not None:
                return found
            for fewer in (self.programs.least(support, table), support) if costs > 1 else (support,):
                if fewer not in tried:
                    tried.append(fewer)
                    for share in SHARES[:costs]:
                        if (found := self._by_intervals(quotients, fewer, share)) is not None:
                            return found
        return None

    def _costs(self) -> Iterator[np.ndarray]:
        """Yield costs of multipliers: nearly equal ones, then random ones."""
        count, signed = len(self.names), self.programs.signed
        base = np.where(np.arange(count) < signed, 1 + 0.1 * np.arange(count) / max(1, count), 0.0)
        yield base
        stream = np.random.default_rng(0)
        while True:
            yield base * stream.uniform(0.5, 2.0, count)

    def _through(self, quotients: Quotients, support: Sequence[int], table: np.ndarray) -> Proof | None:
        """Return a proof by quotients through the multipliers as they are."""
        fits: dict[int, Ratio] = {}
        for n in support:
            room = self.near * (1 + np.abs(table[:, n]))
            if (found := quotients.between(table[:, n] - room, table[:, n] + room)) is None:
                return None
            fits[n] = found
        return self._checked(fits)

    def _by_intervals(self, quotients: Quotients, support: Sequence[int], share: float) -> Proof | None:
        """Return a proof with one multiplier after the other at a quotient between its least and its largest value."""
        fits: dict[int, Ratio] = {}
        for n in support:
            rest = [m for m in support if m not in fits]
            ends = self.programs.interval(n, rest, {m: quotients.at(ratio) for m, ratio in fits.items()})
            if ends is None:
                return None
            low, high = ends
            room = 3 * self.near * (1 + np.abs(low))
            thin = high - low < 1e-3 * (1 + np.abs(low))
            inner = np.where(thin, 0.0, share * (high - low))
            outer = np.where(thin | (share == 0), room, 0.0)
            if (found := quotients.between(low + inner - outer, high - inner + outer)) is None:
                return None
            fits[n] = found
        return self._checked(fits)

    def _checked(self, fits: Mapping[int, Ratio]) -> Proof | None:
        """Return a proof if the kernel accepts it, in some order of elimination."""
        terms = {self.names[n]: (_terms(top), _terms(bottom)) for n, (top, bottom) in fits.items() if top}
        need = self.programs.need
        vectors, stream = range(need.vectors), np.random.default_rng(1)
        orders = [
            [*vectors],
            [*reversed(vectors)],
            *(stream.permutation(vectors).tolist() for _ in range(ORDERS)),
        ]
        for order in orders:
            try:
                with limited(FUEL):
                    require_multipliers(need, {"multipliers": terms, "order": order})
            except kernel.Refused as refused:
                if "semidefinite" not in str(refused):
                    return None
                continue
            written = {name: [_written(each) for each in ratio] for name, ratio in terms.items()}
            return {"multipliers": written, "order": order}
        return None


def _terms(p: Polynomial) -> list[tuple[list[int], Any]]:
    return [(list(powers), value) for powers, value in sorted(p.items())]


def _written(terms: Sequence[tuple[list[int], Any]]) -> list[Any]:
    return [[powers, write(value)] for powers, value in terms]
