"""Random functions, sets and operators of a class, in small fractions and with an exact common solution.

All use one construction: in an orthonormal basis each coordinate has a piecewise linear derivative, with jumps if it is
not smooth; a set is a box; an operator may turn pairs of coordinates.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.interpolation import Class, FunctionClass, OperatorClass, SetClass, Triplet
from clusterproof.checker.kernel.listed import Listed
from clusterproof.checker.kernel.numbers import write
from clusterproof.checker.kernel.worlds import Oracle, Point, World

Vector = tuple[Fraction, ...]
Groups = Sequence[tuple[int, Class]]
ZERO = Fraction(0)
ANGLES = tuple((Fraction(p, r), Fraction(q, r)) for p, q, r in ((0, 1, 1), (1, 0, 1), (-1, 0, 1), (3, 4, 5)))
"""Cosines and sines of the angles that are used."""


# ---- one coordinate


@dataclass(frozen=True)
class Slope:
    """A piecewise linear derivative, with one piece more than it has knots.

    Attributes
    ----------
    knots
        Points where pieces meet, in order.
    pieces
        (a, b, c): the derivative a t + b of the function a t^2 / 2 + b t + c.
    chosen
        The derivative that is returned at each knot.
    """

    knots: tuple[Fraction, ...]
    pieces: tuple[tuple[Fraction, Fraction, Fraction], ...]
    chosen: tuple[Fraction, ...]

    @classmethod
    def through(
        cls,
        knots: Sequence[Fraction],
        curvatures: Sequence[Fraction],
        jumps: Sequence[Fraction],
        at: Fraction,
        derivative: Fraction,
        share: Fraction,
    ) -> Slope:
        """Return the derivative with given curvatures, jumps and value at one point; the function is 0 there.

        At a knot the value is a share of the jump above its lower end.
        """
        middle = bisect_left(knots, at)
        lower = derivative - (share * jumps[middle] if middle < len(knots) and knots[middle] == at else 0)
        a = curvatures[middle]
        b = lower - a * at
        pieces = [(a, b, -(a * at / 2 + b) * at)]
        for t, curvature, jump in zip(knots[middle:], curvatures[middle + 1 :], jumps[middle:], strict=True):
            pieces.append(_continued(pieces[-1], t, curvature, jump))
        before = zip(knots[:middle][::-1], curvatures[:middle][::-1], jumps[:middle][::-1], strict=True)
        for t, curvature, jump in before:
            pieces.insert(0, _continued(pieces[0], t, curvature, -jump))
        ends = [p[0] * t + p[1] + share * j for p, t, j in zip(pieces, knots, jumps, strict=False)]
        return cls(tuple(knots), tuple(pieces), tuple(ends))

    def at(self, t: Fraction) -> tuple[Fraction, Fraction]:
        """Return the derivative and the value."""
        place = bisect_left(self.knots, t)
        a, b, c = self.pieces[place]
        known = place < len(self.knots) and self.knots[place] == t
        return self.chosen[place] if known else a * t + b, (a * t / 2 + b) * t + c

    def prox(self, t: Fraction, step: Fraction) -> Fraction:
        """Return u with u + step g = t for a derivative g there, where 1 + step a > 0."""
        for knot, (a, b, _), (c, d, _) in zip(self.knots, self.pieces, self.pieces[1:], strict=False):
            if t < knot + step * (a * knot + b):
                return (t - step * b) / (1 + step * a)
            if t <= knot + step * (c * knot + d):
                return knot
        a, b, _ = self.pieces[-1]
        return (t - step * b) / (1 + step * a)

    def infimum(self) -> Fraction:
        """Return the least value of a function that does not decrease at either end."""
        candidates = list(self.knots)
        for place, (a, b, _) in enumerate(self.pieces):
            if a > 0 and place == bisect_left(self.knots, -b / a):
                candidates.append(-b / a)
        return min((self.at(t)[1] for t in candidates), default=ZERO)


def _continued(
    piece: tuple[Fraction, Fraction, Fraction], t: Fraction, curvature: Fraction, jump: Fraction
) -> tuple[Fraction, Fraction, Fraction]:
    """Return a piece of another curvature with the same value at t, whose derivative is larger by a jump."""
    a, b, c = piece
    slope = b + (a - curvature) * t + jump
    return curvature, slope, c + ((a - curvature) * t / 2 + b - slope) * t


# ---- several coordinates


@dataclass(frozen=True)
class Separable:
    """A sum of functions of one coordinate each, plus a constant; as an operator, its gradient."""

    derivatives: tuple[Slope, ...]
    value: Fraction = ZERO

    def at(self, x: Vector) -> tuple[Vector, Fraction]:
        """Return a subgradient (or normal vector, or image) and the value."""
        several = [slope.at(t) for slope, t in zip(self.derivatives, x, strict=True)]
        return tuple(g for g, _ in several), self.value + sum(f for _, f in several)

    def prox(self, x: Vector, step: Fraction) -> Vector:
        """Return y with y + step g = x, g a subgradient there."""
        return tuple(slope.prox(t, step) for slope, t in zip(self.derivatives, x, strict=True))


@dataclass(frozen=True)
class Box:
    """lower <= x <= upper, with a normal vector at one of its points."""

    lower: Vector
    upper: Vector
    point: Vector
    normal: Vector

    def at(self, x: Vector) -> tuple[Vector, Fraction]:
        """Return a subgradient (or normal vector, or image) and the value."""
        if self.prox(x, Fraction(1)) != x:
            raise Refused("a point outside the set")
        return self.normal if x == self.point else (ZERO,) * len(x), ZERO

    def prox(self, x: Vector, step: Fraction) -> Vector:
        """Return y with y + step g = x, g a subgradient there."""
        return tuple(min(max(t, a), b) for t, a, b in zip(x, self.lower, self.upper, strict=True))

    def minimise_linear(self, direction: Vector) -> Vector:
        """Return the point of the set at which <direction, .> is least."""
        return tuple(b if v < 0 else a for v, a, b in zip(direction, self.lower, self.upper, strict=True))


@dataclass(frozen=True)
class Turning:
    """The operator x -> image + T (x - point), where T has blocks (a, 0) or, on pairs, a I + b (quarter turn)."""

    blocks: tuple[tuple[Fraction, Fraction], ...]
    point: Vector
    image: Vector

    def _applied(self, x: Vector, blocks: Sequence[tuple[Fraction, Fraction]]) -> Vector:
        found: list[Fraction] = []
        for a, b in blocks:
            k = len(found)
            found += [a * x[k] - b * x[k + 1], b * x[k] + a * x[k + 1]] if b else [a * x[k]]
        return tuple(found)

    def at(self, x: Vector) -> tuple[Vector, Fraction]:
        """Return a subgradient (or normal vector, or image) and the value."""
        moved = self._applied(_plus(x, self.point, -1), self.blocks)
        return _plus(self.image, moved), ZERO

    def prox(self, x: Vector, step: Fraction) -> Vector:
        """Return y with y + step g = x, g a subgradient there."""
        inverse = [
            (
                (1 + step * a) / ((1 + step * a) ** 2 + (step * b) ** 2),
                -step * b / ((1 + step * a) ** 2 + (step * b) ** 2),
            )
            for a, b in self.blocks
        ]
        return _plus(self.point, self._applied(_plus(_plus(x, self.image, -step), self.point, -1), inverse))


Formula = Separable | Box | Turning
"""A formula that answers for a function, set or operator, in coordinates of its own basis."""


def _plus(x: Vector, y: Vector, factor: Fraction | int = 1) -> Vector:
    return tuple(a + factor * b for a, b in zip(x, y, strict=True))


def _inner(x: Vector, y: Vector) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), ZERO)


# ---- values of a quantity


@dataclass(frozen=True)
class Known:
    """A function of a class, known at some points only, as the kernel reads it."""

    code: dict[str, Any]

    def world(self, groups: Groups, reach: Fraction | None) -> World:
        """Return the functions before any of their points has been requested."""
        return _KnownWorld(groups, reach, self.code)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Functions by formulas, each in an orthonormal basis of its own.

    Attributes
    ----------
    groups
        Classes to which the functions belong.
    start, solution, minimum, further
        As in ``Listed``.
    formulas
        (basis, formula) of each.
    asked
        Triplets that were requested of each function: first at points, then proximal points and linear minima.
    """

    groups: Groups
    start: Vector
    solution: Vector | None
    minimum: Fraction
    further: tuple[Vector, ...]
    formulas: tuple[tuple[tuple[Vector, ...], Formula], ...]
    asked: dict[int, tuple[dict[Any, Triplet], dict[Any, Triplet]]] = field(default_factory=dict, repr=False)

    @property
    def code(self) -> dict[str, Any]:
        """The requested triplets, as the kernel reads them."""
        several = (self.asked.get(number, ({}, {})) for number in range(len(self.formulas)))
        return {
            "start": list(map(write, self.start)),
            "solution": None if self.solution is None else list(map(write, self.solution)),
            "minimum": write(self.minimum),
            "further": [list(map(write, point)) for point in self.further],
            "triplets": [
                [
                    [self._written(x), self._written(g), write(f)]
                    for kind in kinds
                    for x, g, f in kind.values()
                ]
                for kinds in several
            ],
        }

    def _written(self, point: Point) -> list[Any]:
        return list(map(write, _coordinates(point, len(self.start))))

    def world(self, groups: Groups, reach: Fraction | None) -> World:
        """Return the functions before any of their points has been requested."""
        return _DrawnWorld(groups, reach, self)

    def further_point(self, number: int) -> Vector:
        """Return a further point. If none is left that was drawn, make one from the others and keep it."""
        while number >= len(self.further):
            half = _plus((ZERO,) * len(self.start), _plus(self.further[-1], self.start, -1), Fraction(1, 2))
            object.__setattr__(self, "further", (*self.further, _plus(self.further[-3], half)))
        return self.further[number]

    def at_rest(self) -> Drawn:
        """Return the same functions, started at the solution; all further points lie there as well."""
        x = self.start if self.solution is None else self.solution
        return Drawn(self.groups, x, self.solution, self.minimum, (x,) * len(self.further), self.formulas)


def _coordinates(point: Point, dimension: int) -> Vector:
    return tuple(point.terms.get(place, ZERO) for place in range(dimension))


class _TakesFloats(World):
    """A world in which a claim is evaluated with floats; the kernel proves nothing about such a claim."""

    rounded = False
    """Whether a float has occurred. From then on numbers are floats, and are compared as floats."""

    def exact(self, value: Any) -> Any:
        """Return a factor; a float remains unchanged."""
        if not isinstance(value, float | np.floating):
            return super().exact(value)
        if not np.isfinite(value):
            raise Refused(f"a point times {value}")
        self.rounded = True
        return Fraction(float(value))

    def shown(self, value: Fraction) -> Fraction | float:
        """Return a number as the claim's function gets it."""
        return float(value) if self.rounded else value


class _KnownWorld(_TakesFloats, Listed):
    """The world of a counterexample, in which the claim's function is evaluated again."""

    def inner(self, left: Point, right: Point) -> Any:
        """Return the inner product in the form that the claim's function gets."""
        return self.shown(super().inner(left, right))


class _DrawnWorld(_TakesFloats):
    """The world of drawn functions, which answer at every point."""

    def __init__(self, groups: Groups, reach: Fraction | None, drawn: Drawn) -> None:
        super().__init__(groups, reach)
        self.start = self.at(drawn.start)
        self.solution = None if drawn.solution is None else self.at(drawn.solution)
        self.minimum, self._drawn = drawn.minimum, drawn
        self.points = 0
        self.oracles = [
            _DrawnOracle(self, definition, *formula, drawn.asked.setdefault(number, ({}, {})))
            for number, (definition, formula) in enumerate(zip(self.definitions, drawn.formulas, strict=True))
        ]
        if self.solution is not None:
            for oracle in self.oracles:
                oracle.evaluate(self.solution)

    def at(self, x: Vector) -> Point:
        """Return the point with these coordinates."""
        return Point(self, {place: entry for place, entry in enumerate(x) if entry})

    def inner(self, left: Point, right: Point) -> Any:
        """Return the sum of the products of the coordinates."""
        return self.shown(sum((a * right.terms.get(place, ZERO) for place, a in left.terms.items()), ZERO))

    def is_zero(self, point: Point) -> bool:
        """Return whether all coordinates are 0."""
        return not point.terms

    def point(self) -> Point:
        """Return the next of the further points."""
        self.points += 1
        return self.at(self._drawn.further_point(self.points - 1))


class _DrawnOracle(Oracle):
    def __init__(
        self,
        world: _DrawnWorld,
        definition: Class,
        basis: tuple[Vector, ...],
        formula: Formula,
        asked: tuple[dict[Any, Triplet], dict[Any, Triplet]],
    ) -> None:
        super().__init__(definition)
        self._world, self._basis, self._formula, self._asked = world, basis, formula, asked

    def _inwards(self, point: Point) -> Vector:
        x = _coordinates(point, len(self._basis))
        return tuple(_inner(q, x) for q in self._basis)

    def _outwards(self, x: Vector) -> Point:
        rows = zip(*self._basis, strict=True)
        return self._world.at(tuple(_inner(row, x) for row in rows))

    def at(self, point: Point) -> Triplet:
        """Return the formula's triplet."""
        gradient, value = self._at(point)
        return self._asked[0].setdefault(point.key, (point, self._outwards(gradient), value))

    def _at(self, point: Point) -> tuple[Vector, Fraction]:
        gradient, value = self._formula.at(self._inwards(point))
        return gradient, value if isinstance(self.definition, FunctionClass) else ZERO

    def implicit(self, point: Point, step: Fraction | None) -> Triplet:
        """Return the formula's proximal point, or linear minimum."""
        if step is None:
            assert isinstance(self._formula, Box)  # only sets have linear minima
            x = self._outwards(self._formula.minimise_linear(self._inwards(point)))
            gradient = -point
        else:
            x = self._outwards(self._formula.prox(self._inwards(point), step))
            gradient = (point - x) / step
        return self._asked[1].setdefault((point.key, step), (x, gradient, self._at(x)[1]))


# ---- drawing


def draw(groups: Groups, reach: Fraction | None, stream: np.random.Generator) -> Drawn:
    """Draw functions, sets and operators of the classes, with an exact solution and small fractions.

    Parameters
    ----------
    groups
        (count, class) of each summand, which is a mean of ``count`` functions.
    reach
        Largest |start - solution|; None for no limit.
    stream
        Source of randomness.
    """
    dimension = _pick((1, 1, 1, 2, 2, 3, 4), stream)
    first = groups[0][1]
    scale = _pick((Fraction(1), _magnitude(stream)), stream)
    if reach is not None:
        scale = reach * _pick((1, 1, 1, Fraction(1, 2), _magnitude(stream, -6, 0)), stream)
    if isinstance(first, FunctionClass) and not first.convex:
        return _draw_bounded(groups, first, dimension, scale, stream)
    solution = _pick(((ZERO,) * dimension, _small(dimension, stream)), stream)
    definitions = [definition for count, definition in groups for _ in range(count)]
    weights = [Fraction(1, count) for count, _ in groups for _ in range(count)]
    bases = [_basis(dimension, stream) for _ in definitions]
    subgradients = [solution if getattr(first, "has_fixed_point", False) else (ZERO,) * dimension]
    if len(definitions) > 1:
        subgradients = _balanced(definitions, weights, bases, scale, stream)
    formulas, minimum = list[Any](), ZERO
    for definition, weight, basis, gradient in zip(definitions, weights, bases, subgradients, strict=True):
        at, own = (tuple(_inner(q, x) for q in basis) for x in (solution, gradient))
        value = Fraction(_pick((0, 0, 1, -2), stream)) if isinstance(definition, FunctionClass) else ZERO
        formulas.append((basis, _formula(definition, at, own, value, scale, stream)))
        minimum += weight * value
    start = _plus(solution, _pick(_basis(dimension, stream), stream), scale * _pick((1, -1), stream))
    further = tuple(
        _plus(solution, _pick(_basis(dimension, stream), stream), scale * _magnitude(stream))
        for _ in range(3)
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
    """Draw a function with a given subgradient and value at a point, in its own coordinates."""
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
    """Draw a derivative with curvatures from ``low`` to ``high`` (None: any, with jumps), of magnitude <= ``limit``."""
    top = low + _magnitude(stream) if high is None else high
    if limit is not None:
        if high is None:  # a multiple of the distance to a point, and of distances to points farther away
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
    elif kind < 0.7:  # Huber's function, or its opposite
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
    if low < 0:  # it is bounded below
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
    """Return limits of the coordinates' derivatives, at least as large as the subgradient, with length at most M."""
    if not any(gradient):
        shares = [Fraction(int(place == 0)) for place in range(len(gradient))]
        if len(gradient) > 1 and stream.random() < 0.5:
            shares[:2] = [Fraction(3, 5), Fraction(4, 5)]
        return [M * share for share in shares]
    limits = [abs(g) for g in gradient]
    place = int(stream.random() * len(limits))
    rest = M**2 - _inner(gradient, gradient) + gradient[place] ** 2
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
    return Box(lower, _plus(lower, tuple(widths)), at, normal)


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
        )  # within the circles of Lipschitz and of cocoercive operators
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
    """Draw subgradients at the solution with weighted sum 0; for Lipschitz functions, short enough ones."""
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
    # subtract the sum of the others from a function without a limit, else an operator, else a set, else the last
    last = (free or sets or [len(definitions) - 1])[-1]
    vectors = [zero if k == last or (k in sets and last in sets) else v for k, v in enumerate(vectors)]
    total = zero
    for weight, vector in zip(weights, vectors, strict=True):
        total = _plus(total, vector, weight)
    vectors[last] = tuple(-entry / weights[last] for entry in total)
    while any(
        limit is not None and _inner(v, v) > limit**2 for v, limit in zip(vectors, limits, strict=True)
    ):
        vectors = [tuple(entry / 2 for entry in vector) for vector in vectors]
    return vectors


def _draw_bounded(
    groups: Groups, definition: FunctionClass, dimension: int, scale: Fraction, stream: np.random.Generator
) -> Drawn:
    """Draw a function that is not convex and whose infimum is known."""
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
    further = tuple(_plus(start, _small(dimension, stream), scale) for _ in range(3))
    return Drawn(groups, start, None, minimum, further, formulas)


def _pick(options: Sequence[Any], stream: np.random.Generator) -> Any:
    """Return one of several objects, all with the same probability."""
    return options[int(stream.random() * len(options))]


def _magnitude(stream: np.random.Generator, smallest: int = -3, largest: int = 3) -> Fraction:
    """Return a roughly log-uniform number between 2^smallest and 2^largest; its denominator is a power of two."""
    exponent = smallest + int(stream.random() * (largest - smallest))
    return Fraction(32 + int(stream.random() * 32), 32) * Fraction(2) ** exponent


def _small(dimension: int, stream: np.random.Generator) -> Vector:
    """Return a vector of small fractions."""
    denominator = _pick((1, 1, 2, 3), stream)
    return tuple(Fraction(int(stream.random() * 9) - 4, denominator) for _ in range(dimension))


def _basis(dimension: int, stream: np.random.Generator) -> tuple[Vector, ...]:
    """Return an orthonormal basis: the unit vectors, or their image under one or two reflections I - 2 v v'/v'v."""
    rows = [tuple(Fraction(int(i == j)) for j in range(dimension)) for i in range(dimension)]
    for _ in range(_pick((0, 1, 1, 2), stream) if dimension > 1 else 0):
        v = tuple(Fraction(int(stream.random() * 5) - 2) for _ in range(dimension))
        if any(v):
            rows = [_plus(row, v, -2 * _inner(row, v) / _inner(v, v)) for row in rows]
    return tuple(rows)
