"""Formulas for functions, sets and operators: piecewise linear derivatives, boxes, and plane rotations."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from clusterproof.checker.kernel.evaluation import Refused

Vector = tuple[Fraction, ...]
ZERO = Fraction(0)


# ---- one coordinate


@dataclass(frozen=True)
class Slope:
    """A piecewise linear derivative of a function of one variable; n knots separate n + 1 pieces.

    Attributes
    ----------
    knots
        Points at which two adjacent pieces meet, in increasing order.
    pieces
        (a, b, c) for each piece: on this piece the function is a t^2 / 2 + b t + c, and its derivative is a t + b.
    chosen
        The derivative that the formula returns at each knot.
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
        """Build the derivative from its curvature on each piece, its jump at each knot, and its value at ``at``.

        The function is 0 at ``at``. At each knot, the formula returns the left limit of the derivative plus ``share``
        times the jump.
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
        """Return the derivative and the value of the function at a point."""
        place = bisect_left(self.knots, t)
        a, b, c = self.pieces[place]
        known = place < len(self.knots) and self.knots[place] == t
        return self.chosen[place] if known else a * t + b, (a * t / 2 + b) * t + c

    def prox(self, t: Fraction, step: Fraction) -> Fraction:
        """Return u with u + step g = t, where g is the derivative at u. Every piece must satisfy 1 + step a > 0."""
        for knot, (a, b, _), (c, d, _) in zip(self.knots, self.pieces, self.pieces[1:], strict=False):
            if t < knot + step * (a * knot + b):
                return (t - step * b) / (1 + step * a)
            if t <= knot + step * (c * knot + d):
                return knot
        a, b, _ = self.pieces[-1]
        return (t - step * b) / (1 + step * a)

    def infimum(self) -> Fraction:
        """Return the infimum of the function, which must not decrease without bound in either direction."""
        candidates = list(self.knots)
        for place, (a, b, _) in enumerate(self.pieces):
            if a > 0 and place == bisect_left(self.knots, -b / a):
                candidates.append(-b / a)
        return min((self.at(t)[1] for t in candidates), default=ZERO)


def _continued(
    piece: tuple[Fraction, Fraction, Fraction], t: Fraction, curvature: Fraction, jump: Fraction
) -> tuple[Fraction, Fraction, Fraction]:
    """Return the piece beyond the knot t. The function is continuous at t, and its derivative jumps by ``jump``."""
    a, b, c = piece
    slope = b + (a - curvature) * t + jump
    return curvature, slope, c + ((a - curvature) * t / 2 + b - slope) * t


# ---- several coordinates


@dataclass(frozen=True)
class Separable:
    """A separable function: a sum of functions of one coordinate, plus a constant; or its gradient, as an operator."""

    derivatives: tuple[Slope, ...]
    value: Fraction = ZERO

    def at(self, x: Vector) -> tuple[Vector, Fraction]:
        """Return a subgradient at x (for an operator, the image of x) and the value at x."""
        several = [slope.at(t) for slope, t in zip(self.derivatives, x, strict=True)]
        return tuple(g for g, _ in several), self.value + sum(f for _, f in several)

    def prox(self, x: Vector, step: Fraction) -> Vector:
        """Return y with y + step g = x, where g is a subgradient at y."""
        return tuple(slope.prox(t, step) for slope, t in zip(self.derivatives, x, strict=True))


@dataclass(frozen=True)
class Box:
    """The set lower <= x <= upper, and a normal vector at one point of the set."""

    lower: Vector
    upper: Vector
    point: Vector
    normal: Vector

    def at(self, x: Vector) -> tuple[Vector, Fraction]:
        """Return a normal vector at a point of the set, and the value 0."""
        if self.prox(x, Fraction(1)) != x:
            raise Refused("a point outside the set")
        return self.normal if x == self.point else (ZERO,) * len(x), ZERO

    def prox(self, x: Vector, step: Fraction) -> Vector:
        """Return the projection of x onto the set."""
        return tuple(min(max(t, a), b) for t, a, b in zip(x, self.lower, self.upper, strict=True))

    def minimise_linear(self, direction: Vector) -> Vector:
        """Return a point of the set that minimises the inner product with a direction."""
        return tuple(b if v < 0 else a for v, a, b in zip(direction, self.lower, self.upper, strict=True))


@dataclass(frozen=True)
class Turning:
    """The operator x -> image + T (x - point), where T is block diagonal.

    A block (a, 0) multiplies one coordinate by a. A block (a, b) applies the matrix a I + b J to two coordinates, where
    J is the rotation by 90 degrees.
    """

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
        """Return the image of a point; the second entry is always 0, because an operator has no value."""
        return plus(self.image, self.turned(plus(x, self.point, -1))), ZERO

    def turned(self, x: Vector) -> Vector:
        """Return T x."""
        return self._applied(x, self.blocks)

    def prox(self, x: Vector, step: Fraction) -> Vector:
        """Return y with y + step g = x, where g is the image of y."""
        inverse = [
            (
                (1 + step * a) / ((1 + step * a) ** 2 + (step * b) ** 2),
                -step * b / ((1 + step * a) ** 2 + (step * b) ** 2),
            )
            for a, b in self.blocks
        ]
        return plus(self.point, self._applied(plus(plus(x, self.image, -step), self.point, -1), inverse))


Formula = Separable | Box | Turning
"""A formula for a function, set or operator, in coordinates of an orthonormal basis."""


def plus(x: Vector, y: Vector, factor: Fraction | int = 1) -> Vector:
    """Return x + factor y."""
    return tuple(a + factor * b for a, b in zip(x, y, strict=True))


def inner(x: Vector, y: Vector) -> Fraction:
    """Return the inner product."""
    return sum((a * b for a, b in zip(x, y, strict=True)), ZERO)
