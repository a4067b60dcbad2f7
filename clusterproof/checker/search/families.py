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
from clusterproof.checker.kernel.multipliers import Need, cleared, remaining, require_multipliers
from clusterproof.checker.kernel.numbers import write
from clusterproof.checker.kernel.polynomials import Polynomial
from clusterproof.checker.kernel.spaces import Interval
from clusterproof.checker.search.elimination_orders import order_of
from clusterproof.checker.search.family_programs import Programs, TooManyPrograms
from clusterproof.checker.search.hints import Hint, Hints, Ratio, hint_of, named, require_known
from clusterproof.checker.search.quotients_between import Quotients

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
Proof = dict[str, Any]


class NotShown(Exception):
    """A line has no proof of every value; the message says what was not shown, or why it is not followed on symbols."""


def family_of(statement: kernel.Statement, line: str, hints: Hints | None = None) -> dict[str, Any]:
    """Search evidence of the rule *family* for a line.

    Parameters
    ----------
    statement
        In the language, with a function of a class.
    line
        Its name; empty of a single one.
    hints
        An author's own multipliers; what they leave open is searched.

    Returns
    -------
    dict
        A record without ``statement``, ``line`` and ``witness``.

    Raises
    ------
    NotShown
        If something is not shown.
    InvalidArgument
        If a hint is about nothing that must be shown.
    """
    why = ""
    for listed in ([], _listed(statement)):
        for states in range(MOST_STATES + 1):
            data: dict[str, Any] = {"states": states, "listed": listed}
            try:
                with limited(FUEL):
                    found = named(needs(statement, line, data))
            except kernel.Refused as refused:
                if "more states" in str(refused):
                    continue
                why = why or str(refused)
                break
            except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
                why = why or f"{type(error).__name__}: {error}"
                break
            require_known(hints or {}, [name for name, _ in found])
            proofs: list[Proof] = []
            for name, need in found:
                proof = proof_of(need, hint_of(name, (hints or {}).get(name), need, states))
                if proof is None:
                    why = why or f"no multipliers were found for {name}"
                    break
                proofs.append(proof)
            else:
                return {"rule": "family", **data, "proofs": proofs}
            break
    raise NotShown(why)


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


def proof_of(need: Need, hint: Hint) -> Proof | None:
    """Return multipliers that the kernel accepts; None if none are found."""
    if hint.names is not None and len(hint.fixed) == len(hint.names):
        return _checked(need, hint.fixed, hint.squares)
    if len(need.slacks) != 1:
        return None
    programs = Programs(need)
    if not programs.points:
        return None
    with suppress(TooManyPrograms, np.linalg.LinAlgError):
        found = _Fitted(programs, EXACT, hint).proof(1)
        if found is None and programs.restrict_to_faces():
            found = _Fitted(programs, EXACT / 100, hint).proof(COSTS)
        return found
    return None


class _Fitted:
    """Quotients through multipliers at all points of a grid."""

    def __init__(self, programs: Programs, near: float, hint: Hint) -> None:
        self.programs, self.near, self.hint = programs, near, hint
        self.names = list(programs.conditions)
        several = self.names if hint.names is None else [each for each in hint.names if each in self.names]
        self.open = [self.names.index(name) for name in several if name not in hint.fixed]
        self.given = {self.names.index(name): ratio for name, ratio in hint.fixed.items()}

    def proof(self, costs: int) -> Proof | None:
        """Return a proof by one of several costs."""
        tried: list[list[int]] = []
        for cost in islice(self._costs(), costs):
            quotients = Quotients(self.programs.need, self.programs.points, self.programs.forms)
            values = {n: quotients.at(ratio) for n, ratio in self.given.items()}
            table = self.programs.table(cost, self.open, values)
            if table is None:
                return None
            if len(self.programs.points) < len(quotients.points):
                quotients = Quotients(self.programs.need, self.programs.points, self.programs.forms)
            largest = max(1.0, float(np.abs(table).max(initial=0)))
            support = [n for n in self.open if np.abs(table[:, n]).max() > PRESENT * largest]
            if (found := self._through(quotients, support, table)) is not None:
                return found
            few = self.programs.least(support, table) if costs > 1 and not self.given else support
            for fewer in (few, support):
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
        fits = dict(self.given)
        for n in support:
            room = self.near * (1 + np.abs(table[:, n]))
            if (found := quotients.between(table[:, n] - room, table[:, n] + room)) is None:
                return None
            fits[n] = found
        return self._accepted(fits)

    def _by_intervals(self, quotients: Quotients, support: Sequence[int], share: float) -> Proof | None:
        """Return a proof with one multiplier after the other at a quotient between its least and its largest value."""
        fits = dict(self.given)
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
        return self._accepted(fits)

    def _accepted(self, fits: Mapping[int, Ratio]) -> Proof | None:
        return _checked(self.programs.need, {self.names[n]: ratio for n, ratio in fits.items()}, ())


def _checked(need: Need, ratios: Mapping[str, Ratio], squares: Sequence[Mapping[str, Any]]) -> Proof | None:
    """Return a proof if the kernel accepts it, with some order of elimination."""
    terms = {name: (_terms(top), _terms(bottom)) for name, (top, bottom) in ratios.items() if top}
    several = [{**each, "factor": tuple(map(_terms, each["factor"]))} for each in squares]
    proof: Proof = {"multipliers": terms, **({"squares": several} if several else {})}
    try:
        with limited(FUEL):
            order = order_of(cleared(remaining(need, proof), need), need)
            if order is None:
                return None
            proof["order"] = [*order, *range(len(order), need.vectors)]
            require_multipliers(need, proof)
    except kernel.Refused:
        return None
    return {
        "multipliers": {name: [_written(each) for each in ratio] for name, ratio in terms.items()},
        "order": proof["order"],
        **(
            {"squares": [{**e, "factor": [_written(each) for each in e["factor"]]} for e in several]}
            if several
            else {}
        ),
    }


def _terms(p: Polynomial) -> list[tuple[list[int], Any]]:
    return [(list(powers), value) for powers, value in sorted(p.items())]


def _written(terms: Sequence[tuple[list[int], Any]]) -> list[Any]:
    return [[powers, write(value)] for powers, value in terms]
