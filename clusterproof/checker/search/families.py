"""Multipliers for the kernel's rule *family*: quotients of polynomials in the parameters.

The search solves semidefinite programs on a grid of parameters, which give an interval for each multiplier. It then
fixes the multipliers one by one, at the simplest quotient that lies in the interval at every grid point. Such quotients
are only candidates: the kernel checks them. If a bound is attained, the feasible sets of the programs have no interior.
In this case, the search first computes exact multipliers at each point. They determine the directions on which the form
vanishes, and the search solves the programs on this face.
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
from clusterproof.checker.kernel.ranges import Interval
from clusterproof.checker.search.elimination_orders import order_of
from clusterproof.checker.search.family_programs import Programs, TooManyPrograms, weight_names
from clusterproof.checker.search.hints import Hint, Hints, Ratio, hint_of, named, require_known
from clusterproof.checker.search.quotients_between import Quotients, solved

MOST_STATES = 8
"""Largest number of symbols for rounds and for states of loops."""
FUEL = 20_000_000
"""Largest number of steps for the kernel to evaluate a statement on symbols, or to check one candidate."""
PRESENT = 1e-4
"""Smallest size, relative to the largest multiplier, at which a multiplier counts as nonzero."""
EXACT = 3e-5
"""Largest relative difference between a quotient and the solver's multiplier, if the multiplier is unique."""
COSTS = 3
"""Number of cost functions to try if the first one leads to multipliers that match no quotient."""
SHARES = (0.0, 0.02, 0.2)
"""Shares of an interval that are cut off at both ends, in the order in which the search tries them."""
Proof = dict[str, Any]


class NotShown(Exception):
    """Raised if no proof for all values is found; the message states the missing part of the proof, or the reason."""


def family_of(statement: kernel.Statement, line: str, hints: Hints | None = None) -> dict[str, Any]:
    """Search for evidence of the rule *family* for a line.

    Parameters
    ----------
    statement
        A statement of the language, with a function of a class.
    line
        Name of the line, or an empty string if it is the only one.
    hints
        Multipliers from the claim's author; the search finds all other multipliers.

    Returns
    -------
    dict
        The evidence without ``statement``, ``line`` and ``witness``.

    Raises
    ------
    NotShown
        If the search does not find some part of the proof.
    InvalidArgument
        If a hint names a part that does not occur in the proof.
    """
    why = ""
    for listed in ([], _listed(statement)):
        try:
            states, found = traced(statement, line, listed)
        except NotShown as reason:
            why = why or str(reason)
            continue
        data: dict[str, Any] = {"states": states, "listed": listed}
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
    raise NotShown(why)


def traced(
    statement: kernel.Statement, line: str, listed: Sequence[str] = ()
) -> tuple[int, list[tuple[str, Need]]]:
    """Return the number of symbols for rounds and states, and the inequalities that multipliers must prove.

    Raises
    ------
    NotShown
        If the kernel cannot evaluate the statement on symbols, or cannot prove a required fact about symbols.
    """
    for states in range(MOST_STATES + 1):
        try:
            with limited(FUEL):
                return states, named(needs(statement, line, {"states": states, "listed": listed}))
        except kernel.Refused as refused:
            if "more states" not in str(refused):
                raise NotShown(str(refused)) from None
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise NotShown(f"{type(error).__name__}: {error}") from None
    raise NotShown(f"the loops have more than {MOST_STATES} numbers that change")


def _listed(statement: kernel.Statement) -> list[str]:
    """Return the names of integer quantities with a lower and an upper end; the proof treats each value separately."""
    return [
        name
        for name, allowed in statement.space.ranges.items()
        if type(allowed) is Interval
        and allowed.integers
        and allowed.low is not None
        and allowed.high is not None
    ]


def proof_of(need: Need, hint: Hint) -> Proof | None:
    """Return multipliers that the kernel accepts, or None if the search finds none."""
    if hint.names is not None and len(hint.fixed) == len(hint.names) and not weight_names(need):
        return _checked(need, hint.fixed, hint.squares)
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
    """Search for quotients of the parameters that match the solver's multipliers at all grid points."""

    def __init__(self, programs: Programs, near: float, hint: Hint) -> None:
        self.programs, self.near, self.hint = programs, near, hint
        self.names = list(programs.conditions)
        allowed = None if hint.names is None else [*weight_names(programs.need), *hint.names]
        several = self.names if allowed is None else [each for each in allowed if each in self.names]
        self.open = [self.names.index(name) for name in several if name not in hint.fixed]
        self.given = {self.names.index(name): ratio for name, ratio in hint.fixed.items()}

    def proof(self, costs: int) -> Proof | None:
        """Search for a proof with the first ``costs`` cost functions; return None if none is found."""
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
            for fewer in self._supports(support, table, least=costs > 1 and not self.given):
                if fewer not in tried:
                    tried.append(fewer)
                    for share in (*SHARES[:costs], None):
                        if (found := self._by_intervals(quotients, fewer, share)) is not None:
                            return found
        return None

    def _supports(self, support: list[int], table: np.ndarray, *, least: bool) -> Iterator[list[int]]:
        """Yield sets of conditions to try: a minimal set, minimal sets without one of its conditions, the support."""
        if least:
            few = self.programs.least(support, table)
            yield few
            for n in few:
                others = [m for m in self.open if m != n]
                if self.programs.suffice(others):
                    yield self.programs.least(others, table)
        yield support

    def _costs(self) -> Iterator[np.ndarray]:
        """Yield cost functions for the multipliers: first nearly equal weights, then random weights."""
        count, signed = len(self.names), self.programs.signed
        base = np.where(np.arange(count) < signed, 1 + 0.1 * np.arange(count) / max(1, count), 0.0)
        yield base
        stream = np.random.default_rng(0)
        while True:
            yield base * stream.uniform(0.5, 2.0, count)

    def _through(self, quotients: Quotients, support: Sequence[int], table: np.ndarray) -> Proof | None:
        """Fit quotients to the solver's multipliers at the grid points; return None if they are not a proof."""
        fits = dict(self.given)
        for n in support:
            room = self.near * (1 + np.abs(table[:, n]))
            found = self._determined(n, support, fits)
            found = found or quotients.between(table[:, n] - room, table[:, n] + room)
            if found is None:
                return None
            fits[n] = found
        return self._accepted(fits)

    def _determined(self, n: int, support: Sequence[int], fits: Mapping[int, Ratio]) -> Ratio | None:
        """Return the multiplier that follows from the coefficient of a function value if all others there are fixed."""
        slack, *conditions = self.programs.forms
        for key in self.programs.linear:
            own = conditions[n].get(key)
            others = [m for m in {*support, *self.given} if m != n and key in conditions[m]]
            if own is None or not all(m in fits for m in others):
                continue
            terms = [(conditions[m][key], fits[m]) for m in others]
            return solved(self.programs.need, slack.get(key, 0), terms, own)
        return None

    def _by_intervals(
        self, quotients: Quotients, support: Sequence[int], share: float | None
    ) -> Proof | None:
        """Search for a proof: fix the multipliers one by one, each at a quotient in its interval.

        A share ``share`` of each interval is cut off at both ends. If ``share`` is None, the search first tries
        quotients that equal an end of the interval, because ends are often simple.
        """
        fits = dict(self.given)
        for n in support:
            if (known := self._determined(n, support, fits)) is not None:
                fits[n] = known
                continue
            rest = [m for m in support if m not in fits]
            ends = self.programs.interval(n, rest, {m: quotients.at(ratio) for m, ratio in fits.items()})
            if ends is None:
                return None
            found = self._at_an_end(quotients, *ends) if share is None else None
            found = found or self._inside(quotients, *ends, share or 0.0)
            if found is None:
                return None
            fits[n] = found
        return self._accepted(fits)

    def _at_an_end(self, quotients: Quotients, low: np.ndarray, high: np.ndarray) -> Ratio | None:
        """Return a quotient that equals the lower end, or the upper end, of the interval at every grid point."""
        for end in (low, high):
            room = self.near * (1 + np.abs(end))
            if (found := quotients.between(end - room, end + room)) is not None:
                return found
        return None

    def _inside(self, quotients: Quotients, low: np.ndarray, high: np.ndarray, share: float) -> Ratio | None:
        """Return the simplest quotient inside the intervals, after a share of them is cut off at both ends."""
        room = 3 * self.near * (1 + np.abs(low))
        thin = high - low < 1e-3 * (1 + np.abs(low))
        inner = np.where(thin, 0.0, share * (high - low))
        outer = np.where(thin | (share == 0), room, 0.0)
        return quotients.between(low + inner - outer, high - inner + outer)

    def _accepted(self, fits: Mapping[int, Ratio]) -> Proof | None:
        return _checked(self.programs.need, {self.names[n]: ratio for n, ratio in fits.items()}, ())


def _checked(need: Need, ratios: Mapping[str, Ratio], squares: Sequence[Mapping[str, Any]]) -> Proof | None:
    """Return a proof if the kernel accepts the quotients with some order of elimination, otherwise None."""
    terms = {name: (_terms(top), _terms(bottom)) for name, (top, bottom) in ratios.items() if top}
    weights: list[Any] = [terms.pop(name, 0) for name in weight_names(need)]
    several = [{**each, "factor": tuple(map(_terms, each["factor"]))} for each in squares]
    proof: Proof = {"multipliers": terms, **({"squares": several} if several else {})}
    proof |= {"weights": weights} if weights else {}
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
        **({"weights": [[_written(each) for each in w] if w else 0 for w in weights]} if weights else {}),
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
