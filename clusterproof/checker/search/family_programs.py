"""Semidefinite programs for the multipliers of one inequality, at each point of a grid of parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.kernel.multipliers import Need
from clusterproof.checker.kernel.polynomials import Polynomial
from clusterproof.checker.kernel.quotients import Quotient
from clusterproof.checker.kernel.worlds import Form
from clusterproof.checker.search.duals import complement_of, exact_face
from clusterproof.checker.search.semidefinite import minimum, triangles

Point = tuple[Fraction, ...]
SIZES = {0: (1,), 1: (13,), 2: (7, 6), 3: (5, 4, 4)}
"""Number of grid values of each symbol, indexed by the number of symbols; with more symbols, there are 3 values."""
NEAR_END = Fraction(1, 100)
"""Distance between the outer grid values and the ends of a range, relative to its length, for a single symbol."""
TOLERANCES = (1e-10, 1e-9, 1e-8, 1e-7)
RAISED = (0.0, 1e-9, 1e-8, 1e-7, 1e-6)
"""Numbers to add to the diagonal of the form, tried in this order, because a program may have no interior."""
MOST_PROGRAMS = 12_000
"""Largest number of programs for one inequality."""
LARGEST = 1e4
"""Multipliers with at least this absolute value are rejected."""
FEWEST = 4
"""Smallest number of grid points to which quotients are fitted."""
SUM = (-1,)
"""Key in a form for the coefficient of the sum of the weights, which is 1. No function value has this key."""


class TooManyPrograms(Exception):
    """Raised if an inequality requires more than ``MOST_PROGRAMS`` programs."""


def weight_names(need: Need) -> list[str]:
    """Return the names of the weights if the inequality bounds the least of several numbers; otherwise return []."""
    return [f"weight {k}" for k in range(len(need.slacks))] if len(need.slacks) > 1 else []


def value_at(value: Any, at: Point) -> Fraction:
    """Evaluate a number or quotient at a point."""
    if type(value) is not Quotient:
        return Fraction(value)
    found: Fraction = polynomial_at(value.top, at) / polynomial_at(value.bottom, at)
    return found


def polynomial_at(p: Polynomial, at: Sequence[Any]) -> Any:
    """Evaluate a polynomial at a point."""
    total: Any = 0
    for powers, value in p.items():
        for x, power in zip(at, powers, strict=True):
            value = value * x**power if power else value
        total += value
    return total


class Programs:
    """The programs for one inequality on a grid of parameters.

    Attributes
    ----------
    conditions
        Conditions, indexed by name, except conditions that are identically 0. The first ``signed`` conditions are
        inequalities. If the goal is a bound on the least of several numbers, the first conditions are minus these
        numbers, under the names of ``weight_names``, and their multipliers are the weights.
    forms
        The form of the slack of the inequality, followed by the forms of the conditions.
    points
        The grid points.
    """

    def __init__(self, need: Need) -> None:
        self.need, self.spent = need, 0
        slacks = [slack.terms if type(slack) is Form else {(): slack} for slack in need.slacks]
        weighted = {
            name: {**{key: -value for key, value in slack.items()}, SUM: 1}
            for name, slack in zip(weight_names(need), slacks, strict=False)
        }
        several = {**need.nonnegative, **need.zero}
        known = {name: form.terms for name, form in several.items() if form.terms}
        self.conditions: dict[str, Mapping[Any, Any]] = {**weighted, **known}
        self.signed = len(weighted) + sum(name in need.nonnegative for name in known)
        self.forms: list[Mapping[Any, Any]] = [{SUM: 1} if weighted else slacks[0], *self.conditions.values()]
        self.places = self._places()
        keys = {key for form in self.forms for key in form}
        self.vectors = sorted({v for key in keys if len(key) == 2 for v in key})
        self.linear = sorted(key for key in keys if len(key) != 2)
        self.points = list(self._grid((), need.boxes[-1]))
        self.data = [self._numbers(at) for at in self.points]
        self.null: dict[int, np.ndarray] = {}

    def _places(self) -> list[int]:
        """Return the indices of all symbols that occur in the forms, or in the range of such a symbol."""
        values = [value for form in self.forms for value in form.values() if type(value) is Quotient]
        used: set[int] = set()
        while values:
            new = set().union(*(each.top.places | each.bottom.places for each in values)) - used
            used |= new
            values = [end for place in new for end in self.need.boxes[-1][place] if type(end) is Quotient]
        return sorted(used)

    def _grid(self, at: Point, box: Sequence[Any]) -> Iterator[Point]:
        """Yield the grid points that start with the coordinates ``at`` and meet the hypotheses."""
        place = len(at)
        if place == self.need.width:
            if all(self._meets(fact, at) for fact in self.need.facts):
                yield at
            return
        padded = (*at, *[Fraction(0)] * (self.need.width - place))
        low, high = (None if end is None else value_at(end, padded) for end in box[place])
        for x in self._values(place, low, high):
            yield from self._grid((*at, x), box)

    def _values(self, place: int, low: Fraction | None, high: Fraction | None) -> list[Fraction]:
        """Return grid values of a symbol between the ends of its range."""
        if place not in self.places:
            start = low if low is not None else high - 1 if high is not None else Fraction(0)
            return [start + 1 if high is None else (start + high) / 2]
        sizes = SIZES.get(len(self.places), (3,) * len(self.places))
        count = sizes[self.places.index(place)]
        if low is not None and high is not None:
            shares = [Fraction(n, count + 1) for n in range(1, count + 1)]
            if len(self.places) == 1:
                shares = [NEAR_END, *shares[1:-1], 1 - NEAR_END]
            return [low + (high - low) * share for share in shares]
        apart = [*range(1, count), 4 * count]
        if low is not None:
            return [low + n for n in apart]
        if high is not None:
            return [high - n for n in apart]
        return [Fraction(n - count // 2) for n in range(1, count + 1)]

    def _meets(self, fact: Any, at: Point) -> bool:
        """Return whether a hypothesis holds at a point, or contains a symbol that occurs in no form."""
        if not fact.slack.top.places | fact.slack.bottom.places <= set(self.places):
            return True
        value = value_at(fact.slack, at)
        return value == 0 if fact.equation else value > 0 if fact.strict else value >= 0

    def _numbers(self, at: Point) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrices of all forms at a point, and their coefficients of function values and constants."""
        order = {vector: n for n, vector in enumerate(self.vectors)}
        column = {key: n for n, key in enumerate(self.linear)}
        matrices = np.zeros((len(self.forms), len(order), len(order)))
        others = np.zeros((len(self.forms), len(column)))
        for n, form in enumerate(self.forms):
            for key, value in form.items():
                number = float(value_at(value, at))
                if len(key) == 2:
                    i, j = order[key[0]], order[key[1]]
                    matrices[n, i, j] += number / 2
                    matrices[n, j, i] += number / 2
                else:
                    others[n, column[key]] += number
        return matrices, others

    def table(
        self, cost: np.ndarray, active: Sequence[int], fixed: Mapping[int, np.ndarray]
    ) -> np.ndarray | None:
        """Return optimal multipliers of the ``active`` conditions at each point, or None if many points have none.

        Points without a solution are removed from the grid if they are less than a quarter of it and no multiplier is
        fixed yet.
        """
        rows: list[np.ndarray | None] = []
        for place in range(len(self.points)):
            known = {m: float(values[place]) for m, values in fixed.items()}
            found, row = self.solved(place, cost[list(active)], active, known), np.zeros(len(cost))
            if found is not None:
                row[list(active)] = found
            rows.append(None if found is None else row)
        kept = [place for place, row in enumerate(rows) if row is not None]
        if 4 * len(kept) <= 3 * len(rows) or (fixed and len(kept) < len(rows)):
            return None
        if len(kept) < len(rows):
            self._keep(kept)
        return np.array([row for row in rows if row is not None])

    def _keep(self, kept: Sequence[int]) -> None:
        """Restrict the grid to the points with the given indices."""
        self.null = {n: self.null[place] for n, place in enumerate(kept) if place in self.null}
        self.points, self.data = [self.points[n] for n in kept], [self.data[n] for n in kept]

    def interval(
        self, n: int, active: Sequence[int], fixed: Mapping[int, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the smallest and the largest value of a multiplier at each point, or None if some point has none."""
        cost = np.array([1.0 if m == n else 0.0 for m in active])
        low, high = [], []
        for place in range(len(self.points)):
            known = {m: float(values[place]) for m, values in fixed.items()}
            least, most = (self.solved(place, sign * cost, active, known) for sign in (1, -1))
            if least is None:
                return None
            low.append(least[active.index(n)])
            high.append(low[-1] + 10.0 if most is None else most[active.index(n)])
        return np.array(low), np.maximum(low, high)

    def least(self, support: Sequence[int], table: np.ndarray) -> list[int]:
        """Return a minimal set of conditions: without any one of them, some point has no multipliers."""
        kept = sorted(support, key=lambda n: float(np.abs(table[:, n]).max()))
        for n in list(kept):
            fewer = [m for m in kept if m != n]
            if self.suffice(fewer):
                kept = fewer
        return sorted(kept)

    def suffice(self, active: Sequence[int]) -> bool:
        """Return whether multipliers of the ``active`` conditions exist at all points; try a few points first."""
        places = range(len(self.points))
        some = places[:: max(1, len(places) // 4)]
        return all(self._has_some(place, active) for place in (*some, *places))

    def _has_some(self, place: int, active: Sequence[int]) -> bool:
        found = self.solved(place, np.ones(len(active)), active, {}, RAISED[:3:2])
        return found is not None and bool(np.abs(found).max(initial=0) < LARGEST)

    def solved(
        self,
        place: int,
        cost: np.ndarray,
        active: Sequence[int],
        fixed: Mapping[int, float],
        raised: Sequence[float] = RAISED,
    ) -> np.ndarray | None:
        """Return optimal multipliers of the ``active`` conditions at one point, or None if none are found."""
        self.spent += 1
        if self.spent > MOST_PROGRAMS:
            raise TooManyPrograms
        return next(
            (x for extra in raised if (x := self._solved(place, cost, active, fixed, extra)) is not None),
            None,
        )

    def _solved(
        self, place: int, cost: np.ndarray, active: Sequence[int], fixed: Mapping[int, float], extra: float
    ) -> np.ndarray | None:
        matrices, others = self.data[place]
        target, right = matrices[0].copy(), others[0].copy()
        for n, value in fixed.items():
            target -= value * matrices[1 + n]
            right -= value * others[1 + n]
        columns, null = [1 + n for n in active], self.null.get(place)
        rows, whole = others[columns].T, np.eye(len(self.vectors))
        if null is not None:
            vanishing = [
                np.array([m @ v for m in matrices[columns]]).reshape(len(active), len(v)).T for v in null
            ]
            rows = np.vstack([rows, *vanishing])
            right = np.concatenate([right, *(target @ v for v in null)])
            whole = complement_of(null.tolist(), len(self.vectors))
        if active:
            x, _, rank, _ = np.linalg.lstsq(rows, right, rcond=1e-9)
            free = np.linalg.svd(rows)[2][rank:].T
        else:
            x, free = np.zeros(0), np.zeros((0, 0))
        if np.abs(rows @ x - right).max(initial=0) > 1e-6 * (1 + np.abs(right).max(initial=0)):
            return None
        rest = whole.T @ (target - np.tensordot(x, matrices[columns], 1)) @ whole
        signed = [k for k, n in enumerate(active) if n < self.signed]
        if not free.shape[1]:
            lowest = np.linalg.eigvalsh(rest).min(initial=0)
            return x if x[signed].min(initial=0) > -1e-7 and lowest > -1e-7 - extra else None
        moved = triangles(
            np.array([whole.T @ np.tensordot(z, matrices[columns], 1) @ whole for z in free.T])
        ).T
        found = minimum(
            np.vstack([-free[signed], moved]),
            np.concatenate([x[signed], triangles(rest) + extra * triangles(np.eye(len(rest)))]),
            free.T @ cost,
            (0, len(signed), [len(rest)]),
            tolerances=TOLERANCES,
            almost=True,
        )
        return None if found is None else x + free @ found.unknowns

    def restrict_to_faces(self) -> bool:
        """Compute exact multipliers at each point, and store the directions on which the remaining form vanishes.

        A point is removed from the grid if it has no exact multipliers, or if its number of directions differs from the
        most frequent number of directions.

        Returns
        -------
        bool
            Whether enough points remain on the grid.
        """
        null: dict[int, np.ndarray] = {}
        for place, at in enumerate(self.points):
            forms = [
                {key: v for key, value in form.items() if (v := value_at(value, at))} for form in self.forms
            ]
            named = list(zip(self.conditions, forms[1:], strict=True))
            basis = exact_face(forms[0], dict(named[: self.signed]), dict(named[self.signed :]), self.vectors)
            if basis is not None:
                null[place] = basis / np.maximum(np.linalg.norm(basis, axis=1, keepdims=True), 1e-300)
        ranks = [len(each) for each in null.values()]
        usual = max(set(ranks), key=ranks.count, default=0)
        kept = [place for place, each in null.items() if len(each) == usual]
        self.null = {place: null[place] for place in kept if usual}
        self._keep(kept)
        return len(kept) > min(FEWEST, len(ranks) - 1) and bool(kept)
