"""Convex sets given by formulas: projections, and points at which a linear function is least, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from flint import fmpq

from clusterproof.theory.classes.formulas import Formula, listed, numbers, vectors
from clusterproof.theory.classes.quadratic_program import least_weights
from clusterproof.theory.classes.vectors import Vector, combination, inner, zero
from clusterproof.theory.squares.exact import Rational


class Indicator(Formula):
    """The function that is 0 in a set; it has no value elsewhere."""

    def evaluate(self, x: Vector) -> tuple[Vector, Rational]:
        if self.proximal(x, fmpq(1)) != x:
            raise TypeError(f"{x} is not in the set")
        return zero(x.dimension), fmpq(0)


@dataclass(frozen=True)
class Box(Indicator):
    """lower_j <= <q_j, x> <= upper_j for an orthonormal basis q."""

    kind: ClassVar[str] = "box"
    basis: tuple[Vector, ...]
    lower: tuple[Rational, ...]
    upper: tuple[Rational, ...]

    def proximal(self, x: Vector, step: Rational) -> Vector:
        bounds = zip(self.basis, self.lower, self.upper, strict=True)
        return combination([min(max(inner(q, x), low), high) for q, low, high in bounds], self.basis)

    def minimise_linear(self, direction: Vector) -> Vector:
        bounds = zip(self.basis, self.lower, self.upper, strict=True)
        return combination([high if inner(q, direction) < 0 else low for q, low, high in bounds], self.basis)

    def text(self) -> str:
        if len(self.basis) == 1:
            return f"the interval [{self.lower[0]}, {self.upper[0]}]"
        bounds = zip(self.lower, self.basis, self.upper, strict=True)
        return "the box " + ", ".join(f"{low} <= <{q}, x> <= {high}" for low, q, high in bounds)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Box:
        return cls(vectors(data["basis"]), numbers(data["lower"]), numbers(data["upper"]))


@dataclass(frozen=True)
class Hull(Indicator):
    """The convex hull of points: a segment, a simplex, a polytope."""

    kind: ClassVar[str] = "hull"
    vertices: tuple[Vector, ...]

    def proximal(self, x: Vector, step: Rational) -> Vector:
        weights = least_weights(self.vertices, [fmpq(0)] * len(self.vertices), x, fmpq(1))
        return combination(weights, self.vertices)

    def minimise_linear(self, direction: Vector) -> Vector:
        return min(self.vertices, key=lambda vertex: inner(direction, vertex))

    def text(self) -> str:
        return f"the convex hull of {listed(self.vertices)}"

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Hull:
        return cls(vectors(data["vertices"]))
