"""Operators given by formulas: images and resolvents, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from flint import fmpq, fmpq_mat

from clusterproof.theory.classes.formulas import Formula, Separable, listed, numbers, vectors
from clusterproof.theory.classes.vectors import Vector, inner
from clusterproof.theory.squares.exact import Rational


@dataclass(frozen=True)
class AffineOperator(Formula):
    """A(x) = B x + b.

    Attributes
    ----------
    rows
        Of B.
    offset
        b.
    """

    kind: ClassVar[str] = "affine operator"
    rows: tuple[Vector, ...]
    offset: Vector

    def evaluate(self, x: Vector) -> tuple[Vector, Rational]:
        return Vector([inner(row, x) for row in self.rows]) + self.offset, fmpq(0)

    def proximal(self, x: Vector, step: Rational) -> Vector:
        matrix = [
            [step * entry + (i == j) for j, entry in enumerate(row._entries)]
            for i, row in enumerate(self.rows)
        ]
        right = x - step * self.offset
        solution = fmpq_mat(matrix).solve(fmpq_mat([[entry] for entry in right._entries]))
        return Vector([solution[i, 0] for i in range(len(self.rows))])

    def text(self) -> str:
        return f"B x + b, B = {listed(self.rows)}, b = {self.offset}"

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AffineOperator:
        return cls(vectors(data["rows"]), Vector(numbers(data["offset"])))


@dataclass(frozen=True)
class GradientOperator(Formula):
    """The gradient of a function."""

    kind: ClassVar[str] = "gradient operator"
    function: Separable

    def evaluate(self, x: Vector) -> tuple[Vector, Rational]:
        return self.function.evaluate(x)[0], fmpq(0)

    def proximal(self, x: Vector, step: Rational) -> Vector:
        return self.function.proximal(x, step)

    def text(self) -> str:
        return f"the gradient of {self.function.text()}"

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> GradientOperator:
        return cls(Separable.from_json(data["function"]))


@dataclass(frozen=True)
class Pairs(Formula):
    """An operator of which only pairs are known: points and their images.

    An operator of the class through them exists, if the conditions of the class hold for each two.
    """

    kind: ClassVar[str] = "pairs"
    points: tuple[Vector, ...]
    images: tuple[Vector, ...]

    def evaluate(self, x: Vector) -> tuple[Vector, Rational]:
        if x not in self.points:
            raise TypeError(f"the operator is known at {len(self.points)} points, and {x} is none of them")
        return self.images[self.points.index(x)], fmpq(0)

    def proximal(self, x: Vector, step: Rational) -> Vector:
        for point, image in zip(self.points, self.images, strict=True):
            if point + step * image == x:
                return point
        raise TypeError(
            f"the operator is known at {len(self.points)} points, none of which is the resolvent of {x}"
        )

    def text(self) -> str:
        pairs = zip(self.points, self.images, strict=True)
        return "a map with " + ", ".join(f"{point} -> {image}" for point, image in pairs)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Pairs:
        return cls(vectors(data["points"]), vectors(data["images"]))
