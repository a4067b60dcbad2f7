"""Concrete functions, sets and operators: what a claim's function is evaluated on, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any

from clusterproof.theory.classes.definitions import Definition, FunctionClass, OperatorClass, SetClass
from clusterproof.theory.classes.formulas import Envelope, Formula, Maximum, Separable, SmoothMaximum
from clusterproof.theory.classes.function import Oracle, World
from clusterproof.theory.classes.operators import AffineOperator, GradientOperator, Pairs
from clusterproof.theory.classes.sets import Box, Hull
from clusterproof.theory.classes.vectors import Vector
from clusterproof.theory.squares.exact import Rational, fraction, rational

FORMULAS: dict[str, type[Formula]] = {
    kind.kind: kind
    for kind in (
        Separable,
        Maximum,
        SmoothMaximum,
        Envelope,
        Box,
        Hull,
        AffineOperator,
        GradientOperator,
        Pairs,
    )
}
CLASSES: dict[str, type[FunctionClass | SetClass | OperatorClass]] = {
    "functions": FunctionClass,
    "sets": SetClass,
    "operators": OperatorClass,
}

Triplet = tuple[Vector, Vector, Fraction]
"""A point, the subgradient there (the normal vector, the image), the value (0 of sets and operators)."""


class ConcreteOracle(Oracle):
    """A formula, with the subgradient that is returned where there are several.

    A proximal point y = x - s g has the subgradient g, a point y of a set at which <v, .> is least the normal
    vector -v. Where two proximal points are equal, each keeps its own, as long as the claim's function passes
    the object that it was given; else a point has the subgradient that was returned there last.

    Parameters
    ----------
    definition
        The class that the formula belongs to.
    formula
        What is evaluated.
    known
        Points with the subgradients that are to be returned there.

    Attributes
    ----------
    triplets
        Everything that was evaluated, in its order, each once.
    """

    def __init__(
        self, definition: Definition, formula: Formula, known: Sequence[tuple[Vector, Vector]] = ()
    ) -> None:
        self.definition = definition
        self.formula = formula
        self.known = tuple(known)
        self.triplets: list[Triplet] = []
        self._at: dict[Vector, tuple[Vector, Fraction]] = {}
        self._of_object: dict[int, tuple[Vector, Vector]] = {}

    def fix(self, point: Vector | None) -> None:
        """Return the first known subgradient at a point whenever this object is passed, whatever came before."""
        for at, gradient in self.known:
            if point is not None and at == point:
                self._of_object.setdefault(id(point), (point, gradient))

    def evaluate(self, point: Vector) -> tuple[Vector, Fraction]:
        """Return a subgradient and the value at a point; of an operator its image, and 0."""
        if id(point) in self._of_object:
            gradient = self._of_object[id(point)][1]
            return self._recorded(point, gradient, fraction(self.formula.evaluate(point)[1]))
        if _checked(point) not in self._at:
            gradient, value = self.formula.evaluate(point)
            gradient = next((known for at, known in self.known if at == point), gradient)
            self._at[point] = self._recorded(point, gradient, fraction(value))
        return self._at[point]

    def proximal(self, point: Vector, step: Fraction) -> Vector:
        """Return the proximal point x - s g, with g in the subdifferential there; of an operator the resolvent.

        Raises
        ------
        TypeError
            If the step is not below 1/L where there may be several such points.
        """
        smoothness = self._nonmonotone_smoothness
        if smoothness is not None and step * smoothness >= 1:
            rule = f"must be below {1 / smoothness}, as what it is taken of is not convex or monotone"
            raise TypeError(f"step = {step} of a proximal point {rule}")
        s = rational(step)
        result = self.formula.proximal(_checked(point), s)
        return self._returned(result, (point - result) / s)

    def minimise_linear(self, direction: Vector) -> Vector:
        """Return a point of a set at which <direction, .> is least."""
        normal = -_checked(direction)
        known = [point for point, gradient in self.known if gradient == normal]
        result = known[0] if known else self.formula.minimise_linear(direction)
        return self._returned(result, normal)

    def fresh(self) -> ConcreteOracle:
        """Return the same oracle, of which nothing was evaluated."""
        return ConcreteOracle(self.definition, self.formula, self.known)

    def to_json(self) -> dict[str, Any]:
        """Return what ``from_json`` reads."""
        name = next(name for name, kind in CLASSES.items() if type(self.definition) is kind)
        constants = {field.name: getattr(self.definition, field.name) for field in fields(self.definition)}
        return {
            "class": {name: {key: _constant(value) for key, value in constants.items()}},
            "formula": self.formula.to_json(),
            "known": [[written(point), written(gradient)] for point, gradient in self.known],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ConcreteOracle:
        """Return the oracle that ``to_json`` wrote."""
        ((name, constants),) = data["class"].items()
        kind: Any = CLASSES[name]
        definition = kind(
            **{key: Fraction(value) if isinstance(value, str) else value for key, value in constants.items()}
        )
        formula = FORMULAS[data["formula"]["kind"]].from_json(data["formula"])
        return cls(definition, formula, [(read(point), read(gradient)) for point, gradient in data["known"]])

    def _returned(self, point: Vector, gradient: Vector) -> Vector:
        """Keep the subgradient at a point that is returned."""
        point = 1 * point  # an object of its own, which the claim's function may pass on
        self._of_object[id(point)] = point, gradient
        self._at[point] = self._recorded(point, gradient, fraction(self.formula.evaluate(point)[1]))
        return point

    def _recorded(self, point: Vector, gradient: Vector, value: Fraction) -> tuple[Vector, Fraction]:
        """Add a triplet, unless it was added before."""
        if (point, gradient, value) not in self.triplets:
            self.triplets.append((point, gradient, value))
        return gradient, value

    @property
    def _nonmonotone_smoothness(self) -> Fraction | None:
        """L, if the function is not convex or the operator only Lipschitz."""
        if isinstance(self.definition, FunctionClass):
            return None if self.definition.convex else self.definition.smoothness
        if isinstance(self.definition, OperatorClass) and self.definition.has_fixed_point:
            return self.definition.lipschitz
        return None


class ConcreteWorld(World):
    """Concrete functions, sets and operators with one solution, and a start.

    Parameters
    ----------
    oracles
        The functions, sets and operators, in the order of the classes.
    start
        Where a method starts.
    solution
        A minimiser of the sum, a zero or fixed point; None of functions that are not convex.
    minimum
        Least value of the sum of the functions over the sets; infimum if they are not convex; 0 if there are none.
    further
        The first further points that ``point`` returns.
    """

    def __init__(
        self,
        oracles: Sequence[ConcreteOracle],
        start: Vector,
        solution: Vector | None,
        minimum: Fraction,
        further: Sequence[Vector] = (),
    ) -> None:
        self.oracles: Sequence[ConcreteOracle] = tuple(oracles)
        self.start, self.solution, self.minimum = start, solution, minimum
        self.further = tuple(further)
        self.dimension = start.dimension
        self.squared_distance = None if solution is None else (start - solution) @ (start - solution)
        self._points = 0
        for oracle in self.oracles:
            oracle.fix(solution)

    def point(self) -> Vector:
        """Return the next of the further points; after those that are listed, small fractions."""
        number, self._points = self._points, self._points + 1
        if number < len(self.further):
            return self.further[number]
        return Vector(
            [Fraction((2 * number + 3 * i + 1) % 7 - 3, (number + i) % 4 + 1) for i in range(self.dimension)]
        )

    def fresh(self) -> ConcreteWorld:
        """Return the same world, of which nothing was evaluated: a claim's function is given a fresh one each time."""
        oracles = [oracle.fresh() for oracle in self.oracles]
        return ConcreteWorld(oracles, self.start, self.solution, self.minimum, self.further)

    def to_json(self) -> dict[str, Any]:
        """Return what ``from_json`` reads and a reader can check; what was evaluated does not change it."""
        texts = [oracle.formula.text() for oracle in self.oracles]
        return {
            "dimension": self.dimension,
            "start": written(self.start),
            "minimiser": None if self.solution is None else written(self.solution),
            "minimum": str(self.minimum),
            "definition": {
                "oracles": [oracle.to_json() for oracle in self.oracles],
                "further": [written(point) for point in self.further],
            },
            "formula": texts[0]
            if len(texts) == 1
            else "; ".join(f"part {number}: {text}" for number, text in enumerate(texts, 1)),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ConcreteWorld:
        """Return the world that ``to_json`` wrote."""
        return cls(
            [ConcreteOracle.from_json(oracle) for oracle in data["definition"]["oracles"]],
            read(data["start"]),
            None if data["minimiser"] is None else read(data["minimiser"]),
            Fraction(data["minimum"]),
            [read(point) for point in data["definition"]["further"]],
        )

    def evaluated(self) -> dict[str, Any]:
        """Return every point that was evaluated: {"points": [...]}; of several oracles {"parts": [{"points"}, ...]}."""
        parts = [
            {
                "points": [
                    {"at": written(point), "gradient": written(gradient), "value": str(value)}
                    for point, gradient, value in oracle.triplets
                ]
            }
            for oracle in self.oracles
        ]
        return parts[0] if len(parts) == 1 else {"parts": parts}


def written(vector: Vector) -> list[str]:
    """Write a vector as texts of fractions."""
    return [str(entry) for entry in vector.entries]


def read(texts: Sequence[str]) -> Vector:
    """Read what ``written`` wrote."""
    return Vector([Fraction(text) for text in texts])


def _checked(point: Any) -> Vector:
    if type(point) is not Vector:
        raise TypeError(f"{point!r} is no point")
    return point


def _constant(value: Rational) -> str | bool | None:
    return value if value is None or isinstance(value, bool) else str(value)
