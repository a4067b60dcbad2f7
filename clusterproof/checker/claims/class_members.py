"""Members of a class of functions, sets or operators: drawn at random as formulas, or read from stored evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.claims.coordinate_formulas import (
    ZERO,
    Box,
    Formula,
    Turning,
    Vector,
    inner,
    plus,
)
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.interpolation import Class, FunctionClass, Triplet
from clusterproof.checker.kernel.listed import Listed
from clusterproof.checker.kernel.numbers import read, write
from clusterproof.checker.kernel.worlds import ANY, Oracle, Point, World

Groups = Sequence[tuple[Any, Class]]


def mirrored(groups: Groups, functions: list[Any]) -> list[Any]:
    """Return the triplets of each function; for ``count="any"``, append the mirror image of the first function."""
    if groups[0][0] != ANY:
        return functions

    def image(vector: Sequence[Any]) -> list[Any]:
        return [write(-read(entry)) if place % 2 else entry for place, entry in enumerate(vector)]

    return [*functions, [[image(x), image(g), f] for x, g, f in functions[0]]]


@dataclass(frozen=True)
class Known:
    """A function of a class from stored evidence, which states its values and gradients at some points only."""

    code: dict[str, Any]

    def world(self, groups: Groups, reach: Fraction | None) -> World:
        """Return a new world for the function: the state of one evaluation, before the claim requests a point."""
        return _KnownWorld(groups, reach, self.code)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Functions defined by formulas; each formula has its own orthonormal basis.

    Attributes
    ----------
    groups
        Classes to which the functions belong.
    start, solution, minimum, further
        As in ``Listed``.
    formulas
        The basis and the formula of each function.
    asked
        Triplets of each function that the claim has requested, in two dictionaries. The first contains the triplets at
        given points, the second the triplets at proximal points and linear minima.
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
        """The drawn functions as JSON for the kernel: point, gradient and value at each requested point."""
        several = (self.asked.get(number, ({}, {})) for number in range(len(self.formulas)))
        matrices = [_matrix(*formula) for formula in self.formulas]
        return {
            "start": list(map(write, self.start)),
            "solution": None if self.solution is None else list(map(write, self.solution)),
            "minimum": write(self.minimum),
            "further": [list(map(write, point)) for point in self.further],
            "triplets": mirrored(
                self.groups,
                [
                    [
                        [self._written(x), self._written(g), write(f)]
                        for kind in kinds
                        for x, g, f in kind.values()
                    ]
                    for kinds in several
                ],
            ),
            **({"matrices": matrices} if any(matrices) else {}),
        }

    def _written(self, point: Point) -> list[Any]:
        return list(map(write, _coordinates(point, len(self.start))))

    def world(self, groups: Groups, reach: Fraction | None) -> World:
        """Return a new world for the functions: the state of one evaluation, before the claim requests a point."""
        return _DrawnWorld(groups, reach, self)

    def further_point(self, number: int) -> Vector:
        """Return a further point; if no drawn points are left, combine earlier points into a new one and store it."""
        while number >= len(self.further):
            half = plus((ZERO,) * len(self.start), plus(self.further[-1], self.start, -1), Fraction(1, 2))
            object.__setattr__(self, "further", (*self.further, plus(self.further[-3], half)))
        return self.further[number]

    def at_rest(self) -> Drawn:
        """Return the same functions, but set the starting point and all further points to the solution."""
        x = self.start if self.solution is None else self.solution
        return Drawn(self.groups, x, self.solution, self.minimum, (x,) * len(self.further), self.formulas)


def _matrix(basis: tuple[Vector, ...], formula: Formula) -> list[list[Any]] | None:
    """Write the matrix of an affine operator, row by row; return None for any other formula."""
    if not isinstance(formula, Turning):
        return None
    columns = [formula.turned(x) for x in zip(*basis, strict=True)]
    return [[write(inner(row, column)) for column in columns] for row in zip(*basis, strict=True)]


def _coordinates(point: Point, dimension: int) -> Vector:
    return tuple(point.terms.get(place, ZERO) for place in range(dimension))


class _TakesFloats(World):
    """A world in which a claim may compute with floats; the kernel cannot prove such a claim."""

    rounded = False
    """Whether the claim has used a float. From then on, all numbers are floats and are compared as floats."""

    def exact(self, value: Any) -> Any:
        """Convert a factor to a fraction of equal value; the factor may be a float."""
        if not isinstance(value, float | np.floating):
            return super().exact(value)
        if not np.isfinite(value):
            raise Refused(f"a point times {value}")
        self.rounded = True
        return Fraction(float(value))

    def shown(self, value: Fraction) -> Fraction | float:
        """Convert a number to a float if the claim has already used floats; otherwise return it unchanged."""
        return float(value) if self.rounded else value


class _KnownWorld(_TakesFloats, Listed):
    """The world of a counterexample, in which the checker evaluates the claim's function again."""

    def inner(self, left: Point, right: Point) -> Any:
        """Return the inner product, as a float if the claim has already used floats."""
        return self.shown(super().inner(left, right))


class _DrawnWorld(_TakesFloats):
    """The world of randomly drawn functions, which can be evaluated at every point."""

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
        """Return the point with the given coordinates."""
        return Point(self, {place: entry for place, entry in enumerate(x) if entry})

    def inner(self, left: Point, right: Point) -> Any:
        """Return the inner product of the coordinates."""
        return self.shown(sum((a * right.terms.get(place, ZERO) for place, a in left.terms.items()), ZERO))

    def is_zero(self, point: Point) -> bool:
        """Return whether all coordinates are 0."""
        return not point.terms

    def point(self) -> Point:
        """Return the next unused further point."""
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
        return tuple(inner(q, x) for q in self._basis)

    def _outwards(self, x: Vector) -> Point:
        rows = zip(*self._basis, strict=True)
        return self._world.at(tuple(inner(row, x) for row in rows))

    def at(self, point: Point) -> Triplet:
        """Compute, store and return the triplet at the point."""
        gradient, value = self._at(point)
        return self._asked[0].setdefault(point.key, (point, self._outwards(gradient), value))

    def _at(self, point: Point) -> tuple[Vector, Fraction]:
        gradient, value = self._formula.at(self._inwards(point))
        has_values = isinstance(self.definition, FunctionClass)
        return gradient, value if has_values or getattr(self.definition, "only_necessary", False) else ZERO

    def implicit(self, point: Point, step: Fraction | None) -> Triplet:
        """Return the triplet at the proximal point, or at the linear minimum if ``step`` is None."""
        if step is None:
            assert isinstance(self._formula, Box)  # only sets have linear minima
            x = self._outwards(self._formula.minimise_linear(self._inwards(point)))
            gradient = -point
        else:
            x = self._outwards(self._formula.prox(self._inwards(point), step))
            gradient = (point - x) / step
        return self._asked[1].setdefault((point.key, step), (x, gradient, self._at(x)[1]))
