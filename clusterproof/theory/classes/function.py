"""Functions, sets and operators of a class, as a claim's function sees them: traced, or evaluated in fractions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

from clusterproof.theory.classes.definitions import Definition, FunctionClass, OperatorClass, SetClass

Point: TypeAlias = Any
"""A vector: +, -, times or over an int or Fraction, ``x @ y``."""
Number: TypeAlias = Any
"""A value or an inner product: +, -, times or over an int or Fraction, comparisons."""


class Quantity:
    """A point or number that depends on a function of a class."""

    __slots__ = ()


class Oracle(ABC):
    """One function, set or operator, which keeps what it returned: the same point gives the same answer."""

    definition: Definition

    @abstractmethod
    def evaluate(self, point: Point) -> tuple[Point, Number]:
        """Return a subgradient and the value at a point; of an operator its image, and 0."""

    @abstractmethod
    def proximal(self, point: Point, step: Fraction) -> Point:
        """Return the proximal point x - s g, with g in the subdifferential there; of an operator the resolvent."""

    @abstractmethod
    def minimise_linear(self, direction: Point) -> Point:
        """Return a point of a set at which <direction, .> is least."""


class World(ABC):
    """What a claim's function is evaluated on: oracles with one solution, and a start.

    Attributes
    ----------
    oracles
        The functions, sets and operators, one a part.
    start
        Where a method starts.
    solution
        A minimiser of the sum, or a zero of it, or a fixed point; None of functions that are not convex.
    minimum
        Least value of the sum.
    squared_distance
        |start - solution|^2.
    """

    oracles: Sequence[Oracle]
    start: Point
    solution: Point
    minimum: Number
    squared_distance: Number

    @abstractmethod
    def point(self) -> Point:
        """Return a further point, of which nothing is known."""


@dataclass(frozen=True, eq=False)
class Distance:
    """|start - solution|, of which a claim may use the square only."""

    square: Number

    def __pow__(self, power: int) -> Number:
        if type(power) is not int or power != 2:
            raise TypeError(f"f.distance ** {power}: only f.distance**2 is known, |start - minimiser|^2")
        return self.square

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError("of f.distance only f.distance**2 is known, |start - minimiser|^2: compare squares")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __abs__ = __neg__ = _refuse


class Problem:
    """A function, set or operator of a class, or a sum of them with one solution.

    Parameters
    ----------
    world
        What it is evaluated on.
    parts, index
        Its summands; of a single oracle none, and the number of the oracle.
    distance
        The number that the class gives |start - solution| at most; None if it gives none.
    mean
        Whether values and gradients are the mean of the parts, in place of their sum.
    """

    def __init__(
        self,
        world: World,
        parts: Sequence[Problem] = (),
        *,
        index: int = 0,
        distance: Fraction | None = None,
        mean: bool = False,
    ) -> None:
        self.world, self._index, self._mean = world, index, mean
        self._distance = distance
        self.parts: tuple[Any, ...] = tuple(parts) or (self,)

    @property
    def start(self) -> Point:
        """Where a method starts."""
        return self.world.start

    @property
    def distance(self) -> Any:
        """The number that the class gives; else of |start - solution| only ``distance**2``."""
        if self.world.solution is None:
            raise TypeError("f.distance: a function that is not convex has no minimiser: use f.minimum")
        return Distance(self.world.squared_distance) if self._distance is None else self._distance

    def point(self) -> Point:
        """Return a further point, of which nothing is known: a second start, or an error."""
        return self.world.point()

    @property
    def _oracle(self) -> Oracle:
        return self.world.oracles[self._index]

    def _combined(self, values: Sequence[Any]) -> Any:
        total = sum(values[1:], start=values[0])
        return total / len(values) if self._mean else total


class Function(Problem):
    """A function of a class, or the mean or sum of several.

    ``parts`` are the single functions; of a single one, itself.
    """

    @property
    def minimiser(self) -> Point:
        """A point x* of least value."""
        if self.world.solution is None:
            raise TypeError("f.minimiser: a function that is not convex needs no minimiser: use f.minimum")
        return self.world.solution

    @property
    def minimum(self) -> Number:
        """The least value, f*; of functions without a minimiser their infimum."""
        return self.world.minimum

    def gradient(self, point: Point) -> Point:
        """Return the gradient at a point; of a nonsmooth function a subgradient, the same at the same point."""
        if self.parts[0] is self:
            return self._oracle.evaluate(point)[0]
        return self._combined([part.gradient(point) for part in self.parts])

    def __call__(self, point: Point) -> Number:
        """Return the value at a point."""
        if self.parts[0] is self:
            return self._oracle.evaluate(point)[1]
        return self._combined([part(point) for part in self.parts])

    def prox(self, point: Point, step: Any) -> Point:
        """Return the minimiser of f(y) + |y - point|^2 / (2 step), of a single function.

        Raises
        ------
        TypeError
            If it is a mean or sum: take the prox of a part.
        """
        if self.parts[0] is not self:
            raise TypeError(
                "f.prox: the proximal point of a sum is not known: use that of a part, f.parts[0].prox"
            )
        return self._oracle.proximal(point, _positive(step))

    @property
    def smoothness(self) -> Any:
        """L of the class, None if it gives none."""
        return _constant(self._class.smoothness)

    @property
    def strong_convexity(self) -> Any:
        """mu of the class."""
        return _constant(self._class.strong_convexity)

    @property
    def lipschitz(self) -> Any:
        """M of the class, None if it gives none."""
        return _constant(self._class.lipschitz)

    @property
    def _class(self) -> FunctionClass:
        definitions = {self.world.oracles[part._index].definition for part in self.parts}
        if len(definitions) > 1:
            raise TypeError("f.smoothness: the parts have different constants: use those of f.parts[0]")
        (definition,) = definitions
        assert isinstance(definition, FunctionClass)
        return definition


class ConvexSet(Problem):
    """A closed convex set."""

    def project(self, point: Point) -> Point:
        """Return the nearest point of the set."""
        return self._oracle.proximal(point, Fraction(1))

    def minimise_linear(self, direction: Point) -> Point:
        """Return a point of the set at which <direction, .> is least."""
        return self._oracle.minimise_linear(direction)

    @property
    def diameter(self) -> Any:
        """D of the class, None if it gives none."""
        assert isinstance(self._oracle.definition, SetClass)
        return _constant(self._oracle.definition.diameter)


class Operator(Problem):
    """An operator of a class."""

    @property
    def solution(self) -> Point:
        """A zero; of operators that are only Lipschitz a fixed point."""
        return self.world.solution

    def __call__(self, point: Point) -> Point:
        """Return the image of a point."""
        return self._oracle.evaluate(point)[0]

    def resolvent(self, point: Point, step: Any) -> Point:
        """Return y with y + step A(y) = point."""
        return self._oracle.proximal(point, _positive(step))

    @property
    def lipschitz(self) -> Any:
        """L of the class, None if it gives none."""
        return _constant(self._class.lipschitz)

    @property
    def strong_monotonicity(self) -> Any:
        """mu of the class."""
        return _constant(self._class.strong_monotonicity)

    @property
    def cocoercivity(self) -> Any:
        """beta of the class, None if it gives none."""
        return _constant(self._class.cocoercivity)

    @property
    def _class(self) -> OperatorClass:
        assert isinstance(self._oracle.definition, OperatorClass)
        return self._oracle.definition


class Sum(Problem):
    """A sum of functions, sets and operators with one solution, which are its ``parts``."""

    @property
    def solution(self) -> Point:
        """A point at which the sum of subgradients, normals and images is zero."""
        return self.world.solution

    minimiser = solution

    @property
    def minimum(self) -> Number:
        """The least value of the sum of the functions over the sets."""
        return self.world.minimum

    def __call__(self, point: Point) -> Number:
        """Return the sum of the functions' values; of sets nothing is added, so that the point must lie in them."""
        values = [part(point) for part in self.parts if isinstance(part, Function)]
        if not values or any(isinstance(part, Operator) for part in self.parts):
            raise TypeError("f(x): a sum with operators has no values")
        return sum(values[1:], start=values[0])


def problem(
    world: World,
    *,
    distance: Fraction | None = None,
    groups: Sequence[int] = (1,),
    offset: int = 0,
) -> Any:
    """Return what a claim's function is given: one oracle, a mean of several, or a sum of such groups.

    Parameters
    ----------
    world
        Holds the oracles, those of one group after those of the other.
    distance
        As for ``Problem``.
    groups
        Number of oracles of each summand.
    """
    if len(groups) > 1:
        starts = [sum(groups[:number]) for number in range(len(groups))]
        parts = [
            problem(world, distance=distance, groups=(size,), offset=first)
            for size, first in zip(groups, starts, strict=True)
        ]
        kind: type[Problem] = Function if all(isinstance(part, Function) for part in parts) else Sum
        return kind(world, parts, distance=distance)
    definition = world.oracles[offset].definition
    kinds: dict[type, type[Problem]] = {FunctionClass: Function, SetClass: ConvexSet, OperatorClass: Operator}
    member = kinds[type(definition)]
    if groups[0] == 1:
        return member(world, index=offset, distance=distance)
    members = [member(world, index=offset + number, distance=distance) for number in range(groups[0])]
    return member(world, members, index=offset, distance=distance, mean=True)


def _positive(step: Any) -> Fraction:
    """Return a step of a proximal point, an int or Fraction above 0."""
    if type(step) is not int and type(step) is not Fraction:
        raise TypeError(f"step = {step!r} of a proximal point must be an int or a Fraction")
    if step <= 0:
        raise TypeError(f"step = {step} of a proximal point must be greater than 0")
    return Fraction(step)


def _constant(value: Fraction | None) -> int | Fraction | None:
    """Write an integer as an int."""
    return int(value) if value is not None and value.denominator == 1 else value
