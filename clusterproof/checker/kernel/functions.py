"""The object that a claim's function receives: a member of a class, or a sum of means of several members.

A member is a function, set or operator. If the number of functions is arbitrary, the object f is their mean, and
``f.parts`` evaluates each function at its own point. A *split vector* v contains a vector v_i for each function. It is
called shared if all v_i are equal. ``u @ v`` is the mean of the inner products <u_i, v_i>, and ``f.parts.mean(v)`` is
the mean of the v_i.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, spend
from clusterproof.checker.kernel.interpolation import KINDS, Class, FunctionClass, OperatorClass, SetClass
from clusterproof.checker.kernel.numbers import Abstract, add, divide
from clusterproof.checker.kernel.worlds import ANY, Oracle, Point, World

OFFERS = {
    "function": (
        "solution",
        "minimiser",
        "minimum",
        "gradient",
        "prox",
        "smoothness",
        "strong_convexity",
        "lipschitz",
    ),
    "set": ("project", "minimise_linear", "diameter"),
    "operator": ("solution", "resolvent", "lipschitz", "strong_monotonicity", "cocoercivity"),
    "sum": ("solution", "minimiser", "minimum"),
}
NAMES = {kind: name for name, kind in KINDS.items()}
"""Name of each kind of class."""


def noun_of(kinds: Collection[type[Class]]) -> str:
    """Return the noun for a sum of members of classes; for example, a sum that contains an operator is an operator."""
    return next(NAMES[kind] for kind in (OperatorClass, FunctionClass, SetClass) if kind in kinds)


class Distance(Abstract):
    """The distance |start - solution|, which can only be squared, because only its square has a formula."""

    def __init__(self, square: Any) -> None:
        self.square = square

    def __pow__(self, n: int) -> Any:
        if n != 2:
            raise Refused("of f.distance only f.distance**2 is known")
        return self.square


class Problem:
    """A function, set or operator of a class, a mean of several such members, or a sum of such means."""

    def __init__(self, world: World, parts: tuple[Problem, ...], places: range, *, mean: bool) -> None:
        self._world, self._places, self._mean = world, places, mean
        self._parts = parts or (self,)
        kinds = {NAMES[type(world.definitions[place])] for place in places}
        self._kind = kinds.pop() if len(kinds) == 1 else "sum"
        if self._kind != "function" and len(parts) > 1:
            self._kind = "sum"
        self._offers = ("start", "distance", "point", "parts", *OFFERS[self._kind])
        if len(places) < len(world.definitions):  # the minimum of a summand is unknown
            whole = ("minimum", "minimiser", "solution")
            self._offers = tuple(name for name in self._offers if name not in whole)

    @property
    def parts(self) -> Any:
        """The summands, or the functions in a mean; for an arbitrary number of functions, a single object ``Parts``.

        The only part of a single function is the function itself.
        """
        return Parts(self._world) if self._world.any_number else self._parts

    def _shared(self, point: Any) -> Any:
        """Check that a point is shared by all functions, so that their mean can be evaluated there."""
        if type(point) is Point and self._world.mean(point).terms != point.terms:
            raise Refused(
                "f takes a point that all functions share: use f.parts, or the mean f.parts.mean(y)"
            )
        return point

    def _single(self) -> Oracle:
        if self._parts[0] is not self:
            raise Refused("this is not known of a sum: ask a part, f.parts[0]")
        return self._world.oracles[self._places[0]]

    def _combined(self, values: Sequence[Any]) -> Any:
        total = reduce(add, values)
        return divide(total, len(values)) if self._mean else total

    def _constant(self, name: str) -> Any:
        spend(len(self._places))
        first, *others = (self._world.definitions[place] for place in self._places)
        if len(self._parts) > 1 and not self._mean:
            raise Refused(f"f.{name} is not known of a sum: use f.parts[0].{name}")
        if any(other is not first and other != first for other in others):
            raise Refused(f"f.{name}: the parts have different constants")
        value = getattr(first, name)
        return int(value) if type(value) is Fraction and value.denominator == 1 else value

    @property
    def start(self) -> Point:
        """The starting point of a method."""
        return self._world.start

    @property
    def solution(self) -> Point:
        """A minimiser, a zero or a fixed point."""
        if self._world.solution is None:
            raise Refused("a function that need not be convex has no minimiser: use f.minimum")
        return self._world.solution

    minimiser = solution

    @property
    def minimum(self) -> Any:
        """The minimum or infimum of the function."""
        return self._world.minimum

    @property
    def distance(self) -> Any:
        """The upper bound on |start - solution|. If there is none, an object for this distance that can be squared."""
        if self._world.reach is not None:
            return self._world.reach
        apart = self.start - self.solution
        return Distance(apart @ apart)

    def point(self) -> Point:
        """Return a new arbitrary point, which all functions share."""
        return self._world.mean(self._world.point())

    def gradient(self, point: Any) -> Any:
        """Return the gradient, or a subgradient, which is always the same at the same point."""
        if self._parts[0] is self:
            return self._world.mean(self._single().evaluate(self._shared(point))[1])
        return self._combined([part.gradient(point) for part in self._parts])

    def __call__(self, point: Any) -> Any:
        """Return the value (for an operator, the image) at a point. A set adds 0 to a sum, even outside the set."""
        place = 1 if self._kind == "operator" else 2
        if self._parts[0] is self and self._kind in ("function", "operator"):
            found = self._single().evaluate(self._shared(point))[place]
            return self._world.shown(found) if place == 2 else found
        values = [part(point) for part in self._parts if part._kind == "function"]
        if not values or any(part._kind == "operator" for part in self._parts):
            raise Refused("a sum with operators has no values")
        return self._combined(values)

    def prox(self, point: Any, step: Any) -> Any:
        """Return the minimiser of f(y) + |y - point|^2 / (2 step); for an operator, the resolvent."""
        if self._world.any_number:
            raise Refused("f.prox is not known of any number of functions")
        return self._single().implicitly(point, step)

    resolvent = prox

    def project(self, point: Any) -> Any:
        """Return the point of a set that is nearest to the given point."""
        return self._single().implicitly(point, 1)

    def minimise_linear(self, direction: Any) -> Any:
        """Return a point of a bounded set that minimises the inner product with a direction."""
        return self._single().minimise_linear(direction)

    def __getattr__(self, name: str) -> Any:
        if name in (
            "smoothness",
            "strong_convexity",
            "lipschitz",
            "diameter",
            "strong_monotonicity",
            "cocoercivity",
        ):
            return self._constant(name)
        kind, offers = (self.__dict__.get(each, "") for each in ("_kind", "_offers"))
        raise AttributeError(f"a {kind} has no {name}; it has {', '.join(offers)}")


class Parts:
    """Functions f_1, ..., f_n for an arbitrary number n, as one function of split vectors.

    A split vector v contains a vector v_i for each function. ``u @ v`` is the mean over i of the inner products <u_i,
    v_i>.
    """

    _offers = ("gradient", "mean", "point")

    def __init__(self, world: World) -> None:
        self._world = world

    def gradient(self, point: Any) -> Any:
        """Return the split vector of the gradients (or subgradients) of f_i at y_i, for the split vector y."""
        return self._world.oracles[0].evaluate(point)[1]

    def __call__(self, point: Any) -> Any:
        """Return the mean of the values f_i(y_i), for the split vector y."""
        return self._world.shown(self._world.oracles[0].evaluate(point)[2])

    def mean(self, vector: Any) -> Point:
        """Return the mean of the vectors v_i, as a vector that all functions share."""
        if type(vector) is not Point:
            raise Refused("f.parts.mean takes a vector")
        return self._world.mean(vector)

    def point(self) -> Point:
        """Return a new split vector: an arbitrary point for each function."""
        return self._world.point()


def _mean(world: World, places: range) -> Problem:
    """Return the mean of some oracles, which may be a single oracle."""
    if len(places) == 1:
        return Problem(world, (), places, mean=False)
    parts = tuple(Problem(world, (), range(place, place + 1), mean=False) for place in places)
    return Problem(world, parts, places, mean=True)


def points_left(instance: Mapping[str, Any]) -> list[int]:
    """Return the number of unused further points for each member of a class in an instance."""
    worlds: list[Any] = [each._world for each in instance.values() if type(each) is Problem]
    return [len(world.further) for world in worlds]


def problem(world: World) -> Problem:
    """Return the object that a claim's function receives for a world."""
    several, first = [], 0
    for count in (1 if count == ANY else count for count, _ in world.groups):
        several.append(_mean(world, range(first, first + count)))
        first += count
    return several[0] if len(several) == 1 else Problem(world, tuple(several), range(first), mean=False)
