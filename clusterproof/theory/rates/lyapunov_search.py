"""Search, in floats, for a Lyapunov function of heavy ball on smooth strongly convex functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from clusterproof.checker.search.paths import Coordinates, Terms
from clusterproof.checker.search.semidefinite import minimum, triangles
from clusterproof.theory.rates.energy import LINES, Line, Numbers, conditions_of, start, traced
from clusterproof.theory.rates.parameters import Parameters

DIGITS = 12
"""Number of significant digits of the Lyapunov function, relative to its largest coefficient."""
MORE = Fraction(10**6 + 1, 10**6)
"""Factor for the Lyapunov function, and for prefactors of inequalities that would be tight, as a margin for proofs."""
GRADIENT_PART = (2, 4, 5)
"""Indices of the entries of the matrix that multiply the gradient."""
UNITS = [(tuple(row[:6]), tuple(row[6:])) for row in np.eye(8, dtype=int).tolist()]
"""Lyapunov functions with a single nonzero coefficient: each entry of the matrix, then each weight."""
LYAPUNOV = slice(2, 10)
"""Indices of these coefficients among the unknowns of the semidefinite program."""
SHARES = (0.001, 0.01, 0.1, 0.3, 0.6, 0.9, 0.99)
"""Shares of the largest margin to reserve for the exact proof, in the order of the attempts."""


@lru_cache(maxsize=16)
def _forms(parameters: Parameters, line: Line) -> _Forms:
    """Return the forms of a line. They are computed once for all rates."""
    return _Forms(parameters, line)


class _Forms:
    """The two sides of a line as quadratic forms in floats, one for each of ``UNITS``, and the conditions of the class.

    Parameters
    ----------
    parameters
        The dynamics.
    line
        The line. It is evaluated for r = 1 and C_0 = 1.
    """

    def __init__(self, parameters: Parameters, line: Line) -> None:
        momentum, _, step = parameters.normalised
        each = [traced(parameters, line, Numbers(step, momentum, 1, 1, *unit, None)) for unit in UNITS]
        measured, allowed = ([sides[k].terms for _, sides in each] for k in range(2))
        conditions = [terms for name, terms in conditions_of(parameters, line).items() if name != "1"]
        coordinates = Coordinates([*measured, *allowed, *conditions])
        self.order, self.count = len(coordinates.vectors), len(conditions)

        def columns(several: Sequence[Terms]) -> tuple[np.ndarray, np.ndarray]:
            matrices = np.array([coordinates.matrix(each) for each in several])
            return triangles(matrices), np.array([coordinates.others(each)[:-1] for each in several])

        self.measured, self.allowed, self.conditions = map(columns, (measured, allowed, conditions))


class Search:
    """Search, in floats, for Lyapunov functions V that decrease under the given dynamics.

    The unknowns are a margin t, the largest s with V >= s |x_t - x*|^2, P, c, C_0^2, and the multipliers of three
    claims.

    Parameters
    ----------
    parameters
        The dynamics.
    disturbance
        Whether to restrict V to functions that also bound the effect of disturbances.
    norm
        Whether to restrict V to squared norms, without function values.
    """

    def __init__(self, parameters: Parameters, *, disturbance: bool, norm: bool = False) -> None:
        self._disturbance, self._norm = disturbance, norm
        self._strong_convexity = parameters.normalised[1]
        self._lines = [_forms(parameters, line) for line in LINES]

    def margin(self, rate_squared: float) -> float | None:
        """Return the largest margin of the forms for contraction and distance (trace 1), or None if there is none."""
        found = self._solve(rate_squared, constants=False)
        return None if found is None else float(found[0])

    def candidates(self, rate: Fraction) -> Iterator[tuple[list[Fraction], list[Fraction]]]:
        """Yield P and c, rounded to fractions, in the order of increasing prefactors.

        The program fixes C_0^2 (with disturbances, C_0^2 + C_1^2) to 1 and t to a share of its largest value, and
        maximises s. If V is scaled such that V >= |x_t - x*|^2, the prefactor is 1 / sqrt(s).
        """
        widest = self._solve(float(rate) ** 2, constants=True)
        if widest is None or not (widest[0] > 0 and widest[1] > 0):
            return
        for share in SHARES:
            found = self._solve(float(rate) ** 2, constants=True, margin=share * float(widest[0]))
            if found is not None and found[1] > 0:
                yield self._rounded(found)
        yield self._rounded(widest)

    def _rounded(self, found: np.ndarray) -> tuple[list[Fraction], list[Fraction]]:
        numbers = found[2:10] / found[1] * float(MORE)
        scale = 10 ** max(DIGITS - int(np.ceil(np.log10(np.abs(numbers).max()))), 0)
        exact = [Fraction(round(float(number) * scale), scale) for number in numbers]
        if self._disturbance:
            for place in GRADIENT_PART:
                exact[place] = Fraction(0)
            exact[6:] = [Fraction(0)] * 2 if self._norm else [max(each, Fraction(0)) for each in exact[6:]]
        return exact[:6], exact[6:]

    def _solve(
        self, rate_squared: float, *, constants: bool, margin: float | None = None
    ) -> np.ndarray | None:
        """Solve the semidefinite program: maximise t, or maximise s for a given t.

        The sum of the constants, or the trace of the form for the distance, is 1.
        """
        contraction, distance, start = self._lines
        width = 11 + sum(line.count for line in self._lines)
        multiplied = np.cumsum([11, *(line.count for line in self._lines)])

        def rows(
            line: _Forms, place: int, entries: Sequence[tuple[Any, Any]], *, margin: bool
        ) -> tuple[Any, Any]:
            found = []
            for kind in range(2):
                table = np.zeros((width, line.conditions[kind].shape[1]))
                for at, values in entries:
                    table[at] = values[kind]
                table[multiplied[place] : multiplied[place + 1]] = -line.conditions[kind]
                found.append(table)
            if margin:
                found[0][0] = -triangles(np.eye(line.order))
            return found[0].T, found[1].T

        before, after = contraction.allowed, contraction.measured
        change = [rate_squared * b - a for b, a in zip(before, after, strict=True)]
        errors = [[each[0] for each in sides] for sides in (distance.measured, start.allowed)]
        of_distance = rows(
            distance, 1, [(LYAPUNOV, distance.allowed), (1, [-each for each in errors[0]])], margin=True
        )
        parts = [
            rows(contraction, 0, [(LYAPUNOV, change)], margin=True),
            of_distance,
            rows(start, 2, [(LYAPUNOV, [-each for each in start.measured]), (10, errors[1])], margin=False),
        ]
        unit = np.eye(width)
        m = float(self._strong_convexity)
        impulse = unit[2] + unit[8] / 2
        normal = unit[10] + (impulse if self._disturbance else 0.0)
        if not constants:
            diagonal = triangles(np.eye(distance.order)) > 0
            trace = of_distance[0][diagonal].sum(axis=0)
            trace[0] = 0.0
            normal = trace + unit[1]
        fixed = unit[:1] if margin is not None else unit[:0]
        equal, signs = [normal[None], fixed, *(part[1] for part in parts)], [unit[1:2], unit[11:]]
        matrices, orders = [part[0] for part in parts], [line.order for line in self._lines]
        if self._disturbance or m == 1:
            equal.append(unit[[2 + place for place in GRADIENT_PART]])
        if self._disturbance:
            (equal if self._norm else signs).append(unit[8:10])
            root = np.sqrt(2.0)
            matrices.append(np.array([unit[2] + m / 2 * unit[8], root * unit[3], unit[5] + m / 2 * unit[9]]))
            orders.append(2)
        equations, inequalities = np.vstack(equal), np.vstack(signs)
        table = np.vstack([equations, -inequalities, *(-each for each in matrices)])
        right = np.zeros(len(table))
        right[0] = 1.0
        cost = -unit[0]
        if margin is not None:
            right[1], cost = margin, -unit[1]
        found = minimum(table, right, cost, (len(equations), len(inequalities), orders))
        return None if found is None else found.unknowns


def least_prefactor_squared(
    parameters: Parameters, matrix: Sequence[Fraction], weights: Sequence[Fraction]
) -> Fraction | None:
    """Approximate the smallest C_0^2 with V(x, x) <= C_0^2 |x - x*|^2, or return None if the solver fails."""
    line = _forms(parameters, start)
    known = np.array([float(each) for each in (*matrix, *weights)])
    scale = np.abs(known).max()
    forms, values = line.measured
    columns, equations = (
        np.vstack([error[:1], -of_class]).T
        for error, of_class in zip(line.allowed, line.conditions, strict=True)
    )
    signs = -np.eye(1 + line.count)
    table = np.vstack([equations, signs, -columns])
    right = np.concatenate([known @ values / scale, np.zeros(len(signs)), -(known @ forms) / scale])
    cost = np.eye(1 + line.count)[0]
    found = minimum(table, right, cost, (len(equations), len(signs), (line.order,)))
    return None if found is None else Fraction(float(found.unknowns[0] * scale))
