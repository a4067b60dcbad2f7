"""From a solver's worst case to an explicit one: points, gradients and values in fractions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from clusterproof.theory.classes.definitions import Definition, FunctionClass, SetClass
from clusterproof.theory.classes.path_program import PathProgram, excess
from clusterproof.theory.classes.program import Solution, solve
from clusterproof.theory.classes.traced_numbers import TracedPoint

Coordinates: TypeAlias = tuple[Fraction, ...]
SHARES = tuple(Fraction(1, n) for n in (5, 10, 30, 100, 300, 1000, 10_000, 100_000))
"""By how much the constants of a class are made smaller, so that its conditions are met with a margin."""
DIGITS = (1, 2, 3, 4, 6, 8)
SMALL = 1e-7
"""Share of the largest singular value below which a direction is left out."""
LEAST = 1e-7
"""Excess, in a trace of 1, below which a solver's is rounding."""


@dataclass(frozen=True)
class Explicit:
    """Numbers of a worst case in fractions.

    Attributes
    ----------
    dimension
        Of the space.
    start, solution
        Points; no solution of a function that is not convex.
    minimum
        Least value of the whole.
    further
        What ``f.point()`` returns, in order.
    triplets
        Of each oracle, (point, gradient, value).
    """

    dimension: int
    start: Coordinates
    solution: Coordinates | None
    minimum: Fraction
    further: tuple[Coordinates, ...]
    triplets: tuple[tuple[tuple[Coordinates, Coordinates, Fraction], ...], ...]


def largest_excess(path: PathProgram) -> float | None:
    """Return the largest measured - bound in a trace of 1; None if the solver fails."""
    solution = solve(excess(path.program))
    return None if solution is None else solution.ratio


def explicit_cases(path: PathProgram) -> Iterator[Explicit]:
    """Yield cases in fractions that meet every condition and break the bound, simple ones first."""
    definitions = [oracle.definition for oracle in path.trace.oracles]
    for share in SHARES:
        solution = solve(excess(path.smaller([_smaller(each, share) for each in definitions])))
        if solution is None or solution.ratio < LEAST:
            continue
        for digits in DIGITS:
            for shrunk in (Fraction(1), 1 - Fraction(1, 10**digits)):
                case = _rounded(path, solution, digits, shrunk)
                if case is not None:
                    yield case


def _smaller(definition: Definition, share: Fraction) -> Definition:
    """Return a class with smaller constants, the conditions of which imply those of the class with a margin."""
    less = 1 - share
    if isinstance(definition, FunctionClass):
        top, mu = definition.smoothness, definition.strong_convexity
        gap = share if top is None else share * (top - mu)
        return replace(
            definition,
            smoothness=None if top is None else top - gap / 3 if definition.convex else top * less,
            strong_convexity=mu + gap / 3 if definition.convex else mu,
            lipschitz=None if definition.lipschitz is None else definition.lipschitz * less,
        )
    if isinstance(definition, SetClass):
        return replace(
            definition, diameter=None if definition.diameter is None else definition.diameter * less
        )
    return replace(
        definition,
        strong_monotonicity=definition.strong_monotonicity * (1 + share),
        cocoercivity=None if definition.cocoercivity is None else definition.cocoercivity * (1 + share),
        lipschitz=None if definition.lipschitz is None else definition.lipschitz * less,
    )


def _rounded(path: PathProgram, solution: Solution, digits: int, shrunk: Fraction) -> Explicit | None:
    """Round a worst case, and return it if it still is one."""
    gram, values = solution.gram, solution.values
    has_constant = any(
        form.linear[-1] for form in (path.bound, *path.measured, *path.inequalities[:-1], *path.equations)
    )
    scale = values[-1] if has_constant else np.trace(gram)
    if scale < LEAST:
        return None
    sizes, vectors = np.linalg.eigh(gram / scale)
    keep = sizes > SMALL * sizes[-1]
    factor = vectors[:, keep] * np.sqrt(sizes[keep])
    factor = np.linalg.qr(factor.T)[1].T  # the first vectors have the fewest coordinates
    factor = factor * np.where(np.diag(factor) < 0, -1.0, 1.0)
    coordinates = np.array(
        [[_fraction(entry, digits) * shrunk for entry in row] for row in factor], dtype=object
    )
    rounded = [_fraction(value / scale, 2 * digits) * shrunk**2 for value in values[:-1]]
    exact = np.array([*rounded, Fraction(1)], dtype=object)
    products = coordinates @ coordinates.T
    if any(form.at(products, exact) < 0 for form in path.inequalities):
        return None
    if any(form.at(products, exact) != 0 for form in path.equations):
        return None
    if any((form - path.bound).at(products, exact) <= 0 for form in path.measured):
        return None
    return _case(path, coordinates, exact)


def _case(path: PathProgram, coordinates: np.ndarray, values: np.ndarray) -> Explicit:
    """Evaluate every point, gradient and value of the trace."""
    trace, frame = path.trace, path.frame
    dimension = coordinates.shape[1]

    def place(rows: np.ndarray) -> list[Coordinates]:
        combined = rows[:, path.vectors] @ coordinates
        return [tuple(Fraction(entry) / frame.unit for entry in row) for row in combined]

    def number(row: np.ndarray) -> Fraction:
        return Fraction(row[path.values] @ values)

    def point(traced: TracedPoint) -> Coordinates:
        return tuple(Fraction(e) for e in (frame.fractions([traced])[:, path.vectors] @ coordinates)[0])

    triplets = [
        tuple(zip(place(x), place(g), map(number, f), strict=True))
        for x, g, f in zip(frame.points, frame.gradients, frame.values, strict=True)
    ]
    return Explicit(
        dimension,
        point(trace.start),
        None if trace.solution is None else point(trace.solution),
        number(frame.linear(trace.minimum)),
        tuple(map(point, trace.further)),
        tuple(triplets),
    )


def _fraction(value: float, digits: int) -> Fraction:
    return Fraction(str(round(float(value), digits)))
