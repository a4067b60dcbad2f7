"""Random functions, sets and operators of a class with a prescribed (sub)gradient at a point, in small fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np
from flint import fmpq, fmpq_mat

from clusterproof.theory.classes.definitions import Definition, OperatorClass, SetClass
from clusterproof.theory.classes.formulas import Envelope, Formula, Maximum, Separable, SmoothMaximum
from clusterproof.theory.classes.operators import AffineOperator, GradientOperator
from clusterproof.theory.classes.piecewise import Piecewise
from clusterproof.theory.classes.sets import Box, Hull
from clusterproof.theory.classes.vectors import Vector, combination, inner, zero
from clusterproof.theory.squares.exact import Rational, rational

Item = TypeVar("Item")
ANGLES = [(fmpq(p, r), fmpq(q, r)) for p, q, r in ((0, 1, 1), (1, 0, 1), (-1, 0, 1), (3, 4, 5), (-5, 12, 13))]
"""Cosines and sines."""


def draw_formula(
    definition: Definition,
    at: Vector,
    gradient: Vector,
    value: Fraction,
    scale: Rational,
    stream: np.random.Generator,
) -> Formula:
    """Return a function of the class with the given subgradient and value at a point.

    Parameters
    ----------
    definition
        A class of convex functions, sets or operators.
    at, gradient, value
        The point; the subgradient, normal vector or image there; the value there.
    scale
        The distance from the point at which methods start.
    stream
        Source of randomness.
    """
    if isinstance(definition, SetClass):
        return _draw_set(definition, at, gradient, scale, stream)
    if isinstance(definition, OperatorClass):
        return _draw_operator(definition, at, gradient, scale, stream)
    mu, f = rational(definition.strong_convexity), rational(value)
    if definition.lipschitz is None:
        L = mu + magnitude(stream) if definition.smoothness is None else rational(definition.smoothness)
        if definition.smoothness is None and stream.random() < 0.5:
            return _draw_maximum(mu, None, at, gradient, f, scale, stream)
        if mu == L or stream.random() < 0.7:
            return draw_separable(mu, L, draw_basis(at.dimension, stream), at, gradient, f, scale, stream)
        return _draw_envelope(mu, L, at, gradient, f, scale, stream)
    M = rational(definition.lipschitz)
    if definition.smoothness is None and stream.random() < 0.8:
        return _draw_maximum(mu, M, at, gradient, f, scale, stream)
    L = magnitude(stream) if definition.smoothness is None else rational(definition.smoothness)
    centre = at - gradient / L  # the proximal point, at which the maximum has the subgradient
    gradients, gaps = _draw_gradients(gradient, M, scale, stream)
    level = f - inner(gradient, gradient) / (2 * L)
    return SmoothMaximum(L, gradients, _offsets(gradients, gaps, centre, level))


def pick(options: Sequence[Item], stream: np.random.Generator) -> Item:
    """Return one of several, each with the same probability."""
    return options[int(stream.random() * len(options))]


def magnitude(stream: np.random.Generator, smallest: int = -3, largest: int = 3) -> Rational:
    """Return a number between 2^smallest and 2^largest, about log-uniform, with a power of two as denominator."""
    exponent = smallest + int(stream.random() * (largest - smallest))
    size = fmpq(32 + int(stream.random() * 32), 32)
    return size * 2**exponent if exponent >= 0 else size / 2**-exponent


def draw_small(dimension: int, stream: np.random.Generator) -> Vector:
    """Return a vector of small fractions."""
    denominator = pick((1, 1, 2, 3), stream)
    return Vector([Fraction(int(stream.random() * 9) - 4, denominator) for _ in range(dimension)])


def draw_basis(dimension: int, stream: np.random.Generator) -> tuple[Vector, ...]:
    """Return an orthonormal basis: the unit vectors, or their image under one or two reflections I - 2 v v'/v'v."""
    rows = [Vector([int(i == j) for j in range(dimension)]) for i in range(dimension)]
    if dimension == 1:
        return tuple(rows)
    for _ in range(pick((0, 1, 1, 2), stream)):
        v = Vector([int(stream.random() * 5) - 2 for _ in range(dimension)])
        if v != zero(dimension):
            rows = [row - 2 * inner(row, v) / inner(v, v) * v for row in rows]
    return tuple(rows)


def draw_unit(dimension: int, stream: np.random.Generator) -> Vector:
    """Return a vector of length 1."""
    return pick((1, -1), stream) * pick(draw_basis(dimension, stream), stream)


def draw_separable(
    low: Rational,
    high: Rational,
    basis: tuple[Vector, ...],
    at: Vector,
    gradient: Vector,
    value: Rational,
    scale: Rational,
    stream: np.random.Generator,
) -> Separable:
    """Return a separable function with second derivatives in a range, bounded from below if that has negative ones."""
    parts = []
    for j, q in enumerate(basis):
        breaks, curvatures = _draw_curvatures(low, high, inner(q, at), scale, stream)
        if low < 0:
            curvatures = [high, *curvatures[1:-1], high]
        parts.append(
            Piecewise.from_curvatures(
                breaks if len(curvatures) > 1 else [],
                curvatures,
                at=inner(q, at),
                derivative=inner(q, gradient),
                value=value if j == 0 else fmpq(0),
            )
        )
    return Separable(basis, tuple(parts))


def _draw_curvatures(
    low: Rational, high: Rational, at: Rational, scale: Rational, stream: np.random.Generator
) -> tuple[list[Rational], list[Rational]]:
    """Return breaks and the second derivatives between them: a parabola, Huber's function, its opposite, or random."""

    def curvature() -> Rational:
        return low + (high - low) * pick((0, 1, 0, 1, fmpq(1, 2), fmpq(1, 10)), stream)

    kind = stream.random()
    if kind < 0.35 and low >= 0:
        return [], [curvature()]
    threshold = scale * magnitude(stream, -6, 0)
    if kind < 0.7:
        inside, outside = (high, low) if kind < 0.6 else (low, high)
        return [at - threshold, at + threshold], [outside, inside, outside]
    offsets = {
        at + pick((1, -1), stream) * scale * magnitude(stream, -3, 1) for _ in range(pick((2, 3, 4), stream))
    }
    return sorted(offsets), [curvature() for _ in range(len(offsets) + 1)]


def _draw_envelope(
    mu: Rational,
    L: Rational,
    at: Vector,
    gradient: Vector,
    value: Rational,
    scale: Rational,
    stream: np.random.Generator,
) -> Envelope:
    K = L - mu
    count = pick((2, 2, 3, 4), stream)
    points = [at + scale / 2 * draw_small(at.dimension, stream) for _ in range(count)]
    costs = [K * scale**2 * fmpq(int(stream.random() * 9) - 4, 4) for _ in range(count)]
    here, _ = Envelope(mu, K, tuple(points), tuple(costs)).evaluate(at)
    # plus <tilt, x>: the points move, and the costs by what completes the square
    tilt = gradient - here
    costs = [
        cost + inner(tilt, z) - inner(tilt, tilt) / (2 * K) for z, cost in zip(points, costs, strict=True)
    ]
    tilted = Envelope(mu, K, tuple(z - tilt / K for z in points), tuple(costs))
    missing = value - tilted.evaluate(at)[1]
    return Envelope(mu, K, tilted.points, tuple(cost + missing for cost in costs))


def _draw_maximum(
    mu: Rational,
    M: Rational | None,
    at: Vector,
    gradient: Vector,
    value: Rational,
    scale: Rational,
    stream: np.random.Generator,
) -> Maximum:
    gradients, gaps = _draw_gradients(gradient - mu * at, M, scale, stream)
    return Maximum(mu, gradients, _offsets(gradients, gaps, at, value - mu * inner(at, at) / 2))


def _draw_gradients(
    subgradient: Vector, M: Rational | None, scale: Rational, stream: np.random.Generator
) -> tuple[tuple[Vector, ...], list[Rational]]:
    """Return gradients, not longer than M, and by how much each affine function is below the maximum at a point.

    The subgradient is a convex combination of the gradients of those that are not below it.
    """
    size = (
        magnitude(stream) if M is None else M * pick((1, 1, 1, fmpq(1, 2), magnitude(stream, -5, 0)), stream)
    )
    gradients: list[Vector] = []
    for _ in range(pick(range(1, subgradient.dimension + 1), stream)):
        slope = size * draw_unit(subgradient.dimension, stream)
        for share in pick(((1, fmpq(1, 2), fmpq(1, 4)), (fmpq(1, 3), fmpq(1, 8))), stream):
            opposite = subgradient - share * (slope - subgradient)
            if M is None or inner(opposite, opposite) <= M**2:
                gradients += [slope, opposite]
                break
    gradients = gradients or [subgradient]
    gaps = [fmpq(0)] * len(gradients)
    for _ in range(pick((0, 0, 1, 2), stream)):
        gradients.append(size * draw_unit(subgradient.dimension, stream))
        gaps.append(size * scale * magnitude(stream, -3, 1))
    return tuple(gradients), gaps


def _offsets(
    gradients: Sequence[Vector], gaps: Sequence[Rational], at: Vector, level: Rational
) -> tuple[Rational, ...]:
    """Return the offsets of affine functions which are a gap below a level at a point."""
    return tuple([level - gap - inner(gradient, at) for gradient, gap in zip(gradients, gaps, strict=True)])


def _draw_set(
    definition: SetClass, at: Vector, normal: Vector, scale: Rational, stream: np.random.Generator
) -> Formula:
    D = None if definition.diameter is None else rational(definition.diameter)
    size = scale * magnitude(stream) if D is None else D * pick((1, 1, 1, fmpq(1, 2), fmpq(1, 8)), stream)
    dimension = at.dimension
    if stream.random() < 0.5:
        basis = draw_basis(dimension, stream)
        lower, upper = [], []
        halves = draw_unit(1, stream) if dimension == 1 else Vector([Fraction(1, 2)] * dimension)
        shares = pick((halves, draw_unit(dimension, stream)), stream)  # of length 1 at most
        for q, share in zip(basis, shares._entries, strict=True):
            width, push = size * abs(share), inner(q, normal)
            below = width * pick((0, 1, fmpq(1, 2), fmpq(1, 3)), stream)
            if push != 0:
                below = width if push > 0 else fmpq(0)
            lower.append(inner(q, at) - below)
            upper.append(inner(q, at) - below + width)
        return Box(basis, tuple(lower), tuple(upper))
    if stream.random() < 0.5:
        edges = [size * draw_unit(dimension, stream)]
    else:
        edges = [size * draw_small(dimension, stream) for _ in range(pick(range(2, dimension + 3), stream))]
    edges = [-edge if inner(edge, normal) > 0 else edge for edge in edges]
    vertices = [zero(dimension), *edges]
    if normal == zero(dimension) and stream.random() < 0.5:  # the point need not be a vertex
        middle = combination([fmpq(1, len(vertices))] * len(vertices), vertices)
        vertices = [vertex - middle for vertex in vertices]
    differences = [v - w for v in vertices for w in vertices]
    while D is not None and any(inner(d, d) > D**2 for d in differences):
        vertices, differences = [v / 2 for v in vertices], [d / 2 for d in differences]
    return Hull(tuple(at + vertex for vertex in vertices))


def _draw_operator(
    definition: OperatorClass, at: Vector, image: Vector, scale: Rational, stream: np.random.Generator
) -> Formula:
    """Return a gradient, or an affine operator that acts on an orthonormal basis by numbers and scaled rotations."""
    mu, beta, L = definition.strong_monotonicity, definition.cocoercivity, definition.lipschitz
    limits = [rational(limit) for limit in (L, None if beta is None else 1 / beta) if limit is not None]
    largest = min(limits) if limits else rational(mu) + magnitude(stream)
    least = -largest if definition.has_fixed_point else rational(mu)
    basis = draw_basis(at.dimension, stream)
    if stream.random() < 0.3:
        return GradientOperator(draw_separable(least, largest, basis, at, image, fmpq(0), scale, stream))

    def allowed(a: Rational, b: Rational) -> bool:
        square = a**2 + b**2
        return (
            (not definition.monotone or a >= rational(mu))
            and (beta is None or a >= rational(beta) * square)
            and (L is None or square <= rational(L) ** 2)
        )

    def entry() -> tuple[Rational, Rational]:
        for _ in range(20):
            cosine, sine = pick(ANGLES, stream)
            centre = pick(
                (fmpq(0), fmpq(1, 2)), stream
            )  # of the circle of Lipschitz, of cocoercive operators
            circle = (centre + (1 - centre) * cosine, (1 - centre) * sine)
            a, b = pick((circle, (fmpq(0), magnitude(stream))), stream)
            a, b = max(largest * a, least), largest * b
            if allowed(a, b):
                return a, b
        return least, fmpq(0)

    rows = [zero(at.dimension) for _ in basis]
    j = 0
    while j < len(basis):
        (a, b), p = entry(), basis[j]
        if b != 0 and j + 1 == len(basis):
            continue
        for i in range(len(rows)):
            rows[i] += a * p._entries[i] * p
        if b != 0:
            q = basis[j + 1]
            for i in range(len(rows)):
                rows[i] += a * q._entries[i] * q + b * (q._entries[i] * p - p._entries[i] * q)
            j += 1
        j += 1
    if definition.monotone and not limits and stream.random() < 0.5:
        skew = fmpq_mat(
            len(rows), len(rows), [fmpq(int(stream.random() * 5) - 2) for _ in range(len(rows) ** 2)]
        )
        skew -= skew.transpose()
        rows = [row + Vector(line) for row, line in zip(rows, skew.tolist(), strict=True)]
    matrix = tuple(rows)
    return AffineOperator(matrix, image - Vector([inner(row, at) for row in matrix]))
