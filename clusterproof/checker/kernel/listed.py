"""Functions that are given at finitely many points with fractions as coordinates: a counterexample or a witness.

If the triplets satisfy the conditions of the class, some member of the class has these triplets. For classes of
operators with conditions that are ``only_necessary``, one of two sufficient conditions must hold instead:

* The triplets belong to a function of the class ``of_gradients``: they contain its subgradients and values.
* The triplets belong to an affine operator. Its matrix is part of the evidence, and satisfies the class's conditions.

For an arbitrary number of functions, the evidence contains two functions, and the second is the mirror image of the
first: its points and gradients have the opposite sign in each coordinate with an odd index. A split vector v is stored
as v_1 alone, because v_2 is its mirror image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, spend
from clusterproof.checker.kernel.interpolation import (
    Class,
    FunctionClass,
    OperatorClass,
    Triplet,
    slacks_of,
)
from clusterproof.checker.kernel.numbers import add, cost_of_sum, product, read, words
from clusterproof.checker.kernel.positivity import is_positive_semidefinite
from clusterproof.checker.kernel.worlds import Oracle, Point, World


class NotListed(Refused):
    """Raised if a claim requests a function at a point that is not listed."""


class Listed(World):
    """Members of classes, given by their triplets in coordinates.

    Parameters
    ----------
    groups, reach
        As in ``World``.
    code
        Dictionary with ``start``, ``solution``, ``minimum``, ``further`` and ``triplets``, which contains one list for
        each oracle. The optional key ``matrices`` contains the matrix of each oracle as a list of rows, or None if the
        oracle is not affine.

    Raises
    ------
    Refused
        If no member has these triplets, if the stored vector is not a solution, or if the start is too far from it.
    """

    def __init__(self, groups: Sequence[tuple[Any, Class]], reach: Any, code: Any) -> None:
        super().__init__(groups, reach)
        names = {"start", "solution", "minimum", "further", "triplets"}
        if type(code) is not dict or code.keys() - {"matrices"} != names:
            raise Refused(
                "a member of a class has start, solution, minimum, further and triplets, and may have matrices"
            )
        self.size = len(code["start"])
        self.start = self._read(code["start"])
        self.solution = None if code["solution"] is None else self._read(code["solution"])
        self.minimum = Fraction(read(code["minimum"]))
        self.further = [self._read(point) for point in code["further"]]
        functions = [
            [(self._read(x), self._read(g), Fraction(read(f))) for x, g, f in several]
            for several in code["triplets"]
        ]
        if self.any_number:
            self._require_mirrored(functions)
            functions = functions[:1]
        if len(functions) != len(self.definitions):
            raise Refused(f"there are {len(self.definitions)} functions")
        self.oracles = []
        matrices = code.get("matrices", [None] * len(self.definitions))
        for definition, triplets, matrix in zip(self.definitions, functions, matrices, strict=True):
            if matrix is not None:
                self._require_affine(definition, triplets, matrix)
            else:
                self._require_conditions(definition, triplets)
            if isinstance(definition, OperatorClass) and definition.only_necessary:
                triplets = [(x, g, Fraction(0)) for x, g, _ in triplets]
            if not isinstance(definition, FunctionClass) and any(f != 0 for _, _, f in triplets):
                raise Refused("sets and operators have no values")
            self.oracles.append(Tabled(definition, triplets))
        self._require_solution()

    def _require_conditions(self, definition: Class, triplets: Sequence[Triplet]) -> None:
        """Require conditions that guarantee that some member of the class has these triplets."""
        sufficient: Class = definition
        if isinstance(definition, OperatorClass) and definition.only_necessary:
            sufficient = definition.of_gradients
        slacks = slacks_of(sufficient, [*triplets], self.minimum)
        failed = [name for name, slack in slacks.items() if slack < 0]
        if failed:
            raise Refused(f"the triplets need not belong to a {definition}: condition {failed[:1]}")

    def _require_affine(self, definition: Class, triplets: Sequence[Triplet], matrix: Any) -> None:
        """Require that the affine operator with the matrix M belongs to a class, and has the given triplets.

        Each condition of the class at (d, M d) and (0, 0) is a quadratic form in d. If this form is positive
        semidefinite, the condition holds for all pairs of points, because A x - A y = M (x - y).
        """
        if not isinstance(definition, OperatorClass) or type(matrix) is not list or len(matrix) != self.size:
            raise Refused("a matrix has a row for each coordinate, and belongs to an operator")
        rows, zero = [self._read(row) for row in matrix], Point(self, {})

        def image(x: Point) -> Point:
            entries = {place: row @ x for place, row in enumerate(rows)}
            return Point(self, {place: entry for place, entry in entries.items() if entry})

        def conditions(d: Point) -> list[Fraction]:
            return definition.of_two((d, image(d), 0), (zero, zero, 0))

        units = [Point(self, {place: Fraction(1)}) for place in range(self.size)]
        alone = [conditions(unit) for unit in units]
        for c in range(len(conditions(zero))):
            form = [
                [(conditions(a + b)[c] - alone[i][c] - alone[j][c]) / 2 for j, b in enumerate(units)]
                for i, a in enumerate(units)
            ]
            if not is_positive_semidefinite(form):
                raise Refused(f"the matrix is none of a {definition}")
        for x, g, _ in triplets:
            if (image(x - triplets[0][0]) - (g - triplets[0][1])).terms:
                raise Refused("an affine operator with this matrix does not have the triplets")

    def _read(self, code: Any) -> Point:
        if type(code) is not list or len(code) != self.size:
            raise Refused("points of one dimension")
        entries = {place: Fraction(read(entry)) for place, entry in enumerate(code)}
        return Point(self, {place: entry for place, entry in entries.items() if entry})

    def _require_mirrored(self, functions: Sequence[list[Triplet]]) -> None:
        """Require exactly two functions; the second must be the mirror image of the first."""
        if len(functions) != 2 or len(functions[0]) != len(functions[1]):
            raise Refused(
                "for any number of functions, two functions with the same number of points are listed"
            )
        for (x, g, f), (y, h, e) in zip(*functions, strict=True):
            if f != e or any((u + v - 2 * self.mean(u)).terms for u, v in ((x, y), (g, h))):
                raise Refused("the second function is not the mirror image of the first")

    def _require_solution(self) -> None:
        """Require that the mean subgradient at the solution is 0, and that the mean value there is the minimum."""
        first = self.definitions[0]
        if isinstance(first, FunctionClass) and not first.convex:
            if self.solution is not None:
                raise Refused("a function that need not be convex has no solution")
            return
        if self.solution is None:
            raise Refused("the solution is missing")
        if any(self.mean(point).terms != point.terms for point in (self.start, self.solution)):
            raise Refused(
                "all functions share the start and the solution: their coordinates with odd indices are 0"
            )
        known = [oracle.evaluate(self.solution) for oracle in self.oracles]
        total = sum((g * w for (_, g, _), w in zip(known, self.weights, strict=True)), start=Point(self, {}))
        if isinstance(first, OperatorClass) and first.has_fixed_point:
            total = total - self.solution
        value = reduce(add, (product(f, w) for (_, _, f), w in zip(known, self.weights, strict=True)))
        if self.mean(total).terms or value != self.minimum:
            raise Refused("the solution is none")
        apart = self.start - self.solution
        if self.reach is not None and apart @ apart > self.reach**2:
            raise Refused(f"the start is more than {self.reach} from the solution")

    def inner(self, left: Point, right: Point) -> Fraction:
        """Return the inner product of the coordinates."""
        total = Fraction(0)
        for i, a in left.terms.items():
            b = right.terms.get(i, 0)
            spend((1 + words(a)) * (1 + words(b)) + cost_of_sum(total, entry := a * b))
            total += entry
        return total

    def is_zero(self, point: Point) -> bool:
        """Return whether all coordinates are 0."""
        return not point.terms

    def point(self) -> Point:
        """Return the next unused further point."""
        if not self.further:
            raise Refused("a further point is missing")
        return self.further.pop(0)


class Tabled(Oracle):
    """A member of a class that is known only at its triplets."""

    def __init__(self, definition: Class, triplets: list[Triplet]) -> None:
        super().__init__(definition)
        self.triplets = triplets

    def _first(self, holds: Callable[[Triplet], bool]) -> Triplet:
        for triplet in self.triplets:
            spend(1)
            if holds(triplet):
                return triplet
        raise NotListed("the function is not listed at a point where it is asked for")

    def at(self, point: Point) -> Triplet:
        """Return the first triplet at the point."""
        return self._first(lambda triplet: triplet[0].key == point.key)

    def implicit(self, point: Point, step: Fraction | None) -> Triplet:
        """Return the first triplet that solves x + step g = point or, if ``step`` is None, -g = point."""
        if step is None:
            return self._first(lambda triplet: (triplet[1] + point).key == ())
        return self._first(lambda triplet: (triplet[0] + triplet[1] * step - point).key == ())
