"""Random functions, sets and operators of a class, with small fractions as coefficients and a known exact solution.

Each object is built in an orthonormal basis, one coordinate at a time. A function has a piecewise linear derivative in
each coordinate, with jumps if the function is not smooth. A set is a box. An operator can also rotate pairs of
coordinates. For ``count="any"``, the module draws one function, which stands for itself and its mirror image.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.claims.class_members import Drawn, Groups
from clusterproof.checker.claims.coordinate_formulas import (
    ZERO,
    Box,
    Formula,
    Separable,
    Slope,
    Turning,
    Vector,
    inner,
    plus,
)
from clusterproof.checker.kernel.interpolation import Class, FunctionClass, OperatorClass, SetClass
from clusterproof.checker.kernel.worlds import ANY

ANGLES = tuple((Fraction(p, r), Fraction(q, r)) for p, q, r in ((0, 1, 1), (1, 0, 1), (-1, 0, 1), (3, 4, 5)))
"""Cosine and sine of the angles by which an operator can rotate a pair of coordinates."""


def draw(groups: Groups, reach: Fraction | None, stream: np.random.Generator) -> Drawn:
    """Draw functions, sets and operators of the classes, with small fractions as coefficients and an exact solution.

    Parameters
    ----------
    groups
        One pair (count, class) per summand; each summand is the mean of ``count`` functions.
    reach
        Largest |start - solution|, or None if there is no limit.
    stream
        Random generator.
    """
    dimension = _pick((1, 1, 1, 2, 2, 3, 4), stream)
    first = groups[0][1]
    scale = _pick((Fraction(1), _magnitude(stream)), stream)
    if reach is not None:
        scale = reach * _pick((1, 1, 1, Fraction(1, 2), _magnitude(stream, -6, 0)), stream)
    if isinstance(first, FunctionClass) and not first.convex:
        return _draw_bounded(groups, first, dimension, scale, stream)
    if groups[0][0] == ANY:
        assert isinstance(first, FunctionClass)
        return _draw_pair(groups, first, dimension, scale, stream)
    solution = _pick(((ZERO,) * dimension, _small(dimension, stream)), stream)
    definitions = [definition for count, definition in groups for _ in range(count)]
    weights = [Fraction(1, count) for count, _ in groups for _ in range(count)]
    bases = [_basis(dimension, stream) for _ in definitions]
    subgradients = [solution if getattr(first, "has_fixed_point", False) else (ZERO,) * dimension]
    if len(definitions) > 1:
        subgradients = _balanced(definitions, weights, bases, scale, stream)
    formulas, minimum = list[Any](), ZERO
    for definition, weight, basis, gradient in zip(definitions, weights, bases, subgradients, strict=True):
        at, own = (tuple(inner(q, x) for q in basis) for x in (solution, gradient))
        value = Fraction(_pick((0, 0, 1, -2), stream)) if isinstance(definition, FunctionClass) else ZERO
        formulas.append((basis, _formula(definition, at, own, value, scale, stream)))
        minimum += weight * value
    start = plus(solution, _pick(_basis(dimension, stream), stream), scale * _pick((1, -1), stream))
    further = tuple(
        plus(solution, _pick(_basis(dimension, stream), stream), scale * _magnitude(stream)) for _ in range(3)
    )
    return Drawn(groups, start, solution, minimum, further, tuple(formulas))


def _formula(
    definition: Class,
    at: Vector,
    gradient: Vector,
    value: Fraction,
    scale: Fraction,
    stream: np.random.Generator,
) -> Formula:
    """Draw a function with the given subgradient and value at a point, in the coordinates of its own basis."""
    if isinstance(definition, SetClass):
        return _box(definition, at, gradient, scale, stream)
    if isinstance(definition, OperatorClass):
        return _operator(definition, at, gradient, scale, stream)
    mu, L, M = definition.strong_convexity, definition.smoothness, definition.lipschitz
    limits: Sequence[Fraction | None] = [None] * len(at)
    if M is not None:
        limits = _limits(gradient, M, stream)
    derivatives = [
        _slope(mu, L, limit, t, g, scale, stream) for t, g, limit in zip(at, gradient, limits, strict=True)
    ]
    return Separable(tuple(derivatives), value)


def _slope(
    low: Fraction,
    high: Fraction | None,
    limit: Fraction | None,
    at: Fraction,
    derivative: Fraction,
    scale: Fraction,
    stream: np.random.Generator,
) -> Slope:
    """Draw a derivative of size at most ``limit``, with curvatures in [low, high]; it may jump if ``high`` is None."""
    top = low + _magnitude(stream) if high is None else high
    if limit is not None:
        if high is None:  # a multiple of |t - at|, its derivative limited at both sides
            share = (derivative + limit) / (2 * limit) if limit else ZERO
            return Slope.through([at], [ZERO, ZERO], [2 * limit], at, derivative, share)
        if not top:
            return Slope.through([], [ZERO], [], at, derivative, ZERO)
        ends = [at + (end - derivative) / top for end in (-limit, limit)]
        return Slope.through(ends, [ZERO, top, ZERO], [ZERO, ZERO], at, derivative, ZERO)
    kind = stream.random()
    threshold = scale * _magnitude(stream, -6, 0)
    if kind < 0.35 and low >= 0:
        knots, curvatures = [], [low + (top - low) * _pick((0, 1, Fraction(1, 2)), stream)]
    elif kind < 0.7:  # Huber's function, or the function with the two curvatures exchanged
        inside, outside = (top, low) if kind < 0.6 else (low, top)
        knots, curvatures = [at - threshold, at + threshold], [outside, inside, outside]
    else:
        offsets = {
            at + _pick((1, -1), stream) * scale * _magnitude(stream, -3, 1)
            for _ in range(_pick((2, 3, 4), stream))
        }
        knots = sorted(offsets)
        curvatures = [
            low + (top - low) * _pick((0, 1, 0, 1, Fraction(1, 2), Fraction(1, 10)), stream)
            for _ in range(len(knots) + 1)
        ]
    if low < 0:  # then the function is bounded below
        curvatures[0] = curvatures[-1] = top
    if high is not None:
        return Slope.through(knots, curvatures, [ZERO] * len(knots), at, derivative, ZERO)
    if at not in knots:
        place = bisect_left(knots, at)
        knots, curvatures = (
            [*knots[:place], at, *knots[place:]],
            [*curvatures[: place + 1], *curvatures[place:]],
        )
    jumps = [_pick((0, 1, 1), stream) * scale * _magnitude(stream) for _ in knots]
    return Slope.through(knots, curvatures, jumps, at, derivative, Fraction(1, 2))


def _limits(gradient: Vector, M: Fraction, stream: np.random.Generator) -> list[Fraction]:
    """Return a limit for the derivative in each coordinate, so that every subgradient has norm at most M."""
    if not any(gradient):
        shares = [Fraction(int(place == 0)) for place in range(len(gradient))]
        if len(gradient) > 1 and stream.random() < 0.5:
            shares[:2] = [Fraction(3, 5), Fraction(4, 5)]
        return [M * share for share in shares]
    limits = [abs(g) for g in gradient]
    place = int(stream.random() * len(limits))
    rest = M**2 - inner(gradient, gradient) + gradient[place] ** 2
    root = Fraction(math.isqrt(math.floor(rest * 2**12)), 2**6)
    limits[place] = max(limits[place], root)
    return limits


def _box(
    definition: SetClass, at: Vector, normal: Vector, scale: Fraction, stream: np.random.Generator
) -> Box:
    size = scale * _magnitude(stream)
    if definition.diameter is not None:
        size = definition.diameter * _pick((1, 1, 1, Fraction(1, 2), Fraction(1, 8)), stream)
    shares = [Fraction(1, 2)] * len(at) if 1 < len(at) <= 4 else [Fraction(1)]
    if stream.random() < 0.3:
        shares = [Fraction(int(place == 0)) for place in range(len(at))]
    widths = [size * share for share in shares]
    below = []
    for width, push in zip(widths, normal, strict=True):
        share = _pick((ZERO, Fraction(1), Fraction(1, 2), Fraction(1, 3)), stream)
        below.append(width * (share if not push else int(push > 0)))
    lower = tuple(t - b for t, b in zip(at, below, strict=True))
    return Box(lower, plus(lower, tuple(widths)), at, normal)


def _operator(
    definition: OperatorClass, at: Vector, image: Vector, scale: Fraction, stream: np.random.Generator
) -> Formula:
    mu, beta, L = definition.strong_monotonicity, definition.cocoercivity, definition.lipschitz
    limits = [limit for limit in (L, None if not beta else 1 / beta) if limit is not None]
    largest = min(limits) if limits else mu + _magnitude(stream)
    least = -largest if definition.has_fixed_point else mu
    if stream.random() < 0.3:
        derivatives = [
            _slope(max(least, ZERO), largest, None, t, g, scale, stream)
            for t, g in zip(at, image, strict=True)
        ]
        return Separable(tuple(derivatives))

    def allowed(a: Fraction, b: Fraction) -> bool:
        square = a**2 + b**2
        return (
            (not definition.monotone or a >= mu)
            and (beta is None or a >= beta * square)
            and (L is None or square <= L**2)
        )

    blocks, left = list[tuple[Fraction, Fraction]](), len(at)
    while left:
        cosine, sine = _pick(ANGLES, stream)
        centre = _pick(
            (ZERO, Fraction(1, 2)), stream
        )  # within the disks of Lipschitz and of cocoercive operators
        a, b = max(largest * (centre + (1 - centre) * cosine), least), largest * (1 - centre) * sine
        if not allowed(a, b):
            a, b = least, ZERO
        if not b or left > 1:
            blocks.append((a, b))
            left -= 2 if b else 1
    return Turning(tuple(blocks), at, image)


def _balanced(
    definitions: Sequence[Class],
    weights: Sequence[Fraction],
    bases: Sequence[tuple[Vector, ...]],
    scale: Fraction,
    stream: np.random.Generator,
) -> list[Vector]:
    """Draw subgradients at the solution with weighted sum 0, each no larger than its function's Lipschitz constant."""
    zero = (ZERO,) * len(bases[0])
    limits = [getattr(d, "lipschitz", None) if isinstance(d, FunctionClass) else None for d in definitions]
    sets = [k for k, definition in enumerate(definitions) if isinstance(definition, SetClass)]
    free = [k for k, limit in enumerate(limits) if limit is None and k not in sets]
    if stream.random() < 0.25 or len(sets) == len(definitions):
        return [zero] * len(definitions)
    vectors = []
    for definition, limit, basis in zip(definitions, limits, bases, strict=True):
        if limit is not None:
            size, direction = limit * _pick((0, 1, Fraction(1, 2)), stream), _pick(basis, stream)
        else:
            size = scale * (getattr(definition, "smoothness", None) or 1) / 2 * _pick((0, 1), stream)
            direction = _small(len(zero), stream)
        vectors.append(tuple(size * entry for entry in direction))
    # Balance the sum with one vector: preferably of a function or operator without a limit, otherwise of a set.
    last = (free or sets or [len(definitions) - 1])[-1]
    vectors = [zero if k == last or (k in sets and last in sets) else v for k, v in enumerate(vectors)]
    total = zero
    for weight, vector in zip(weights, vectors, strict=True):
        total = plus(total, vector, weight)
    vectors[last] = tuple(-entry / weights[last] for entry in total)
    while any(limit is not None and inner(v, v) > limit**2 for v, limit in zip(vectors, limits, strict=True)):
        vectors = [tuple(entry / 2 for entry in vector) for vector in vectors]
    return vectors


def _draw_bounded(
    groups: Groups, definition: FunctionClass, dimension: int, scale: Fraction, stream: np.random.Generator
) -> Drawn:
    """Draw a smooth function, convex or not, and compute its infimum."""
    assert definition.smoothness is not None
    L, basis = definition.smoothness, _basis(dimension, stream)
    start, centre, gradient = (_small(dimension, stream) for _ in range(3))
    derivatives = [
        _slope(-L, L, None, t, L * scale / 2 * g, scale, stream)
        for t, g in zip(centre, gradient, strict=True)
    ]
    value = Fraction(_pick((0, 1, -2), stream))
    minimum = sum((slope.infimum() for slope in derivatives), value)
    formulas = ((basis, Separable(tuple(derivatives), value)),)
    further = tuple(plus(start, _small(dimension, stream), scale) for _ in range(3))
    return Drawn(groups, start, None, minimum, further, formulas)


def _draw_pair(
    groups: Groups, definition: FunctionClass, dimension: int, scale: Fraction, stream: np.random.Generator
) -> Drawn:
    """Draw the first of two functions; the second function is its mirror image, as in ``Listed``.

    Both functions share the coordinates with even indices.
    """
    shared = [tuple(part for entry in row for part in (entry, ZERO)) for row in _basis(dimension, stream)]
    apart = [(ZERO, *row[:-1]) for row in shared]
    solution = _pick(((ZERO,) * 2 * dimension, plus(_pick(shared, stream), _pick(shared, stream))), stream)
    if definition.lipschitz is not None:
        size = definition.lipschitz * _pick((0, 1, Fraction(1, 2)), stream)
    else:
        size = scale * (definition.smoothness or 1) * _pick((0, 1, Fraction(1, 2)), stream)
    basis, value = _basis(2 * dimension, stream), Fraction(_pick((0, 1, -2), stream))
    gradient = tuple(size * entry for entry in _pick(apart, stream))
    at, own = (tuple(inner(q, x) for q in basis) for x in (solution, gradient))
    formula = _formula(definition, at, own, value, scale, stream)
    start = plus(solution, _pick(shared, stream), scale * _pick((1, -1), stream))
    further = tuple(
        plus(solution, _pick(_basis(2 * dimension, stream), stream), scale * _magnitude(stream))
        for _ in range(3)
    )
    return Drawn(groups, start, solution, value, further, ((basis, formula),))


def _pick(options: Sequence[Any], stream: np.random.Generator) -> Any:
    """Return one of the options, each with the same probability."""
    return options[int(stream.random() * len(options))]


def _magnitude(stream: np.random.Generator, smallest: int = -3, largest: int = 3) -> Fraction:
    """Draw a roughly log-uniform number between 2^smallest and 2^largest, with a power of two as its denominator."""
    exponent = smallest + int(stream.random() * (largest - smallest))
    return Fraction(32 + int(stream.random() * 32), 32) * Fraction(2) ** exponent


def _small(dimension: int, stream: np.random.Generator) -> Vector:
    """Draw a vector of small fractions."""
    denominator = _pick((1, 1, 2, 3), stream)
    return tuple(Fraction(int(stream.random() * 9) - 4, denominator) for _ in range(dimension))


def _basis(dimension: int, stream: np.random.Generator) -> tuple[Vector, ...]:
    """Draw an orthonormal basis: the unit vectors, or their images under one or two reflections I - 2 v v'/v'v."""
    rows = [tuple(Fraction(int(i == j)) for j in range(dimension)) for i in range(dimension)]
    for _ in range(_pick((0, 1, 1, 2), stream) if dimension > 1 else 0):
        v = tuple(Fraction(int(stream.random() * 5) - 2) for _ in range(dimension))
        if any(v):
            rows = [plus(row, v, -2 * inner(row, v) / inner(v, v)) for row in rows]
    return tuple(rows)
