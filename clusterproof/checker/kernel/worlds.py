"""Points and numbers that depend on functions of a class, and oracles that evaluate such functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from clusterproof.checker.kernel.evaluation import Refused, running, spend
from clusterproof.checker.kernel.interpolation import Class, FunctionClass, Triplet
from clusterproof.checker.kernel.numbers import Abstract, cost_of_sum, number, words
from clusterproof.checker.kernel.quotients import Fact, Quotient, is_zero, joined

ANY = "any"
"""The count of a summand that is the mean of an arbitrary number of functions."""


@dataclass(frozen=True, eq=False)
class Linear(Abstract):
    """A linear combination: a point consists of free vectors or coordinates; a number of products, values and 1."""

    world: World
    terms: Mapping[Any, Any]

    def _lifted(self, other: Any) -> Linear:
        raise NotImplementedError

    def _plus(self, other: Any, factor: int) -> Any:
        if type(self) is Point and type(other) is int and other == 0:  # sum() starts at 0
            return self
        added = self._lifted(other).terms
        spend(1 + len(self.terms) + len(added))
        total = dict(self.terms)
        for key, value in added.items():
            old = total.get(key, 0)
            spend(words(value) + cost_of_sum(old, value))
            if not is_zero(entry := joined(old, factor * value)):
                total[key] = entry
            else:
                total.pop(key, None)
        return type(self)(self.world, total)

    def __mul__(self, factor: Any) -> Any:
        if isinstance(factor, Abstract) and type(factor) is not Quotient:
            raise Refused("a product of two quantities that depend on f: make one of them a parameter")
        exact = self.world.exact(factor)
        spend(1 + sum(1 + (1 + words(exact)) * (1 + words(v)) for v in self.terms.values()))
        return type(self)(self.world, {} if is_zero(exact) else {k: v * exact for k, v in self.terms.items()})

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, 1)

    def __neg__(self) -> Any:
        return self * -1

    def __truediv__(self, divisor: Any) -> Any:
        if isinstance(divisor, Abstract) and type(divisor) is not Quotient:
            raise Refused("division by a quantity that depends on f: make the step a parameter")
        return self * (1 / self.world.exact(divisor))

    def __rtruediv__(self, other: Any) -> NoReturn:
        raise Refused("division by a quantity that depends on f: make the step a parameter")

    def __pow__(self, n: int) -> NoReturn:
        raise Refused("a power of a quantity that depends on f: write x @ x for |x|^2")

    def __matmul__(self, other: Any) -> Any:
        raise Refused("@ is the inner product of two points")


class Point(Linear):
    """A vector."""

    def _lifted(self, other: Any) -> Point:
        if type(other) is not Point:
            raise Refused("a point plus a number")
        return other

    def __matmul__(self, other: Any) -> Any:
        return self.world.inner(self, self._lifted(other))

    @property
    def key(self) -> tuple[Any, ...]:
        """A key of the point; points with different values have different keys."""
        spend(1 + len(self.terms))
        if self.world.symbolic:
            return self.world.key_of(self)
        return tuple(sorted(self.terms.items()))

    def is_zero(self) -> Fact | bool:
        """Return whether the point is 0, as a boolean if it has coordinates, otherwise as a fact."""
        return self.world.is_zero(self)


class Form(Linear):
    """A number that depends on functions, with keys (i, j) for inner products, (k,) for values, and () for 1."""

    def _lifted(self, other: Any) -> Form:
        if type(other) is Form:
            return other
        return self.world.constant(other if type(other) is Quotient else number(other))

    def __le__(self, other: Any) -> Fact:
        return Fact(self._lifted(other) - self)

    def __ge__(self, other: Any) -> Fact:
        return Fact(self - other)

    def __lt__(self, other: Any) -> Fact:
        return Fact(self._lifted(other) - self, strict=True)

    def __gt__(self, other: Any) -> Fact:
        return Fact(self - other, strict=True)

    def is_zero(self) -> Fact:
        """Return the statement that the number is 0, as a ``Fact``."""
        return Fact(self, equation=True)

    def decide(self, *, strict: bool, equation: bool) -> bool | None:
        """Return whether the number is nonnegative (positive if ``strict``), or None if this is not determined."""
        if equation:
            raise Refused("whether numbers that depend on f are equal is not decided: state a hypothesis")
        return self.world.decide(self, strict)


def _require_point(value: Any) -> None:
    if type(value) is not Point:
        raise Refused("a function of a class takes points")


class Oracle(ABC):
    """One function, set or operator. Equal requests always return equal results."""

    def __init__(self, definition: Class) -> None:
        self.definition = definition
        self.triplets: list[Triplet] = []
        self.known: dict[Any, Triplet] = {}
        self.proximal: dict[Any, Triplet] = {}

    @abstractmethod
    def at(self, point: Point) -> Triplet:
        """Return a triplet at a point that has not been requested before."""

    @abstractmethod
    def implicit(self, point: Point, step: Any) -> Triplet:
        """Return a triplet with x + step g = point or, if ``step`` is None, with -g = point."""

    def evaluate(self, point: Any) -> Triplet:
        """Return the triplet at a point."""
        _require_point(point)
        if point.key not in self.known:
            self.known[point.key] = self.at(point)
        return self.known[point.key]

    def implicitly(self, point: Any, step: Any) -> Point:
        """Return x with x + step g = point, where g is a subgradient at x; ``evaluate(x)`` may return another one."""
        _require_point(point)
        exact = point.world.exact(step)
        if type(exact) is Quotient:
            self._require_positive(exact)
            return self.implicit(point, exact)[0]  # type: ignore[no-any-return]  # each request may return another point
        self._require_one_point(exact)
        return self._kept(point, exact)

    def minimise_linear(self, direction: Any) -> Point:
        """Return x with -g = direction, where g is a normal vector at x: a minimum exists on a bounded set only."""
        _require_point(direction)
        if getattr(self.definition, "diameter", None) is None:
            raise Refused("a set without a diameter may have no least point: write sets(diameter=...)")
        return self._kept(direction, None)

    def _kept(self, point: Point, step: Fraction | None) -> Point:
        """Return the same point for equal requests."""
        key = point.key, step
        if key not in self.proximal:
            self.proximal[key] = self.implicit(point, step)
        return self.proximal[key][0]  # type: ignore[no-any-return]  # a point

    def _require_positive(self, step: Quotient) -> None:
        """Require that a proximal step with a symbolic size is unique; a proof must show that the size is positive."""
        if not (getattr(self.definition, "convex", True) and getattr(self.definition, "monotone", True)):
            raise Refused("a proximal step that is a symbol is of something convex or monotone")
        running().use(required=step > 0)

    def _require_one_point(self, step: Fraction) -> None:
        """Require that x + step g = point has exactly one solution for every point."""
        definition = self.definition
        constants = getattr(definition, "smoothness", None), getattr(definition, "lipschitz", None)
        L = next((each for each in constants if type(each) is Fraction and each), None)
        convex = getattr(definition, "convex", True) and getattr(definition, "monotone", True)
        contraction = L is not None and step * L < 1
        if step <= 0 or not (convex or getattr(definition, "cocoercivity", None) is not None or contraction):
            raise Refused(f"a proximal step is positive, and below 1/L where nothing is convex, not {step}")


class World(ABC):
    """The members of an instance as oracles, with a common solution and a starting point.

    Attributes
    ----------
    groups
        One pair (count, class) per summand; each summand is the mean of ``count`` functions.
    any_number
        Whether the number of functions in the summand is arbitrary. If so, a single oracle represents the mean of the
        functions, as a function of one point per function. A vector (v_1, ..., v_n) is the sum of two orthogonal parts:
        its mean, which all functions share, and a remainder with mean 0. Free vectors and coordinates with even indices
        are shared; free vectors and coordinates with odd indices have mean 0.
    oracles, weights
        The oracles, and the weight of each oracle in the total.
    start, solution, minimum
        The starting point of a method; the solution, or None for functions that need not be convex; the minimum.
    reach
        Largest |start - solution|, or None if there is no limit.
    symbolic
        Whether coefficients of points may be symbols.
    """

    symbolic = False
    oracles: Sequence[Oracle]
    start: Point
    solution: Point | None
    minimum: Any

    def __init__(self, groups: Sequence[tuple[Any, Class]], reach: Any) -> None:
        self.groups, self.reach = groups, None if reach is None else self.exact(reach)
        alone = [
            d for _, d in groups if not getattr(d, "convex", True) or getattr(d, "has_fixed_point", False)
        ]
        if alone and (len(groups) > 1 or groups[0][0] != 1):
            raise Refused(f"a {alone[0]} stands alone")
        self.any_number = any(count == ANY for count, _ in groups)
        if self.any_number and (len(groups) > 1 or not isinstance(groups[0][1], FunctionClass)):
            raise Refused("any number of functions have functions of one class: leave out further summands")
        groups = [(1 if count == ANY else count, definition) for count, definition in groups]
        if self.reach is not None and type(self.reach) is not Quotient and self.reach < 0:
            raise Refused(f"nothing is within {reach} of the solution")
        spend(10 * sum(count for count, _ in groups))
        self.weights = [Fraction(1, count) for count, _ in groups for _ in range(count)]
        self.definitions = [definition for count, definition in groups for _ in range(count)]

    def exact(self, value: Any) -> Any:
        """Check the factor of a point or form. Worlds outside the kernel, which prove nothing, also accept floats."""
        return Fraction(number(value))

    def shown(self, value: Any) -> Any:
        """Return a value for the claim's function; worlds that accept floats may convert it to a float."""
        return value

    def mean(self, point: Point) -> Point:
        """Return the mean of a split vector over the functions; return every other vector unchanged."""
        if not self.any_number:
            return point
        spend(1 + len(point.terms))
        return Point(self, {place: value for place, value in point.terms.items() if place % 2 == 0})

    def parts(self, point: Point) -> list[Point]:
        """Return the mean of a split vector and the remainder, without zeros; return every other vector as one part."""
        if not self.any_number:
            return [point]
        mean = self.mean(point)
        return [part for part in (mean, point - mean) if part.terms]

    @abstractmethod
    def inner(self, left: Point, right: Point) -> Any:
        """Return an inner product; for split vectors, it is the mean of the functions' inner products."""

    @abstractmethod
    def is_zero(self, point: Point) -> Fact | bool:
        """Return whether a point is 0, or the fact that it is 0."""

    @abstractmethod
    def point(self) -> Point:
        """Return a new arbitrary point."""

    def constant(self, value: Any) -> Form:
        """Convert a constant to a number that may depend on the functions."""
        return Form(self, {} if is_zero(value) else {(): self.exact(value)})

    def key_of(self, point: Point) -> tuple[Any, ...]:
        """Raise an error, because only a trace has points with symbols."""
        raise Refused("a symbol stands where a number must be")

    def decide(self, form: Form, strict: bool) -> bool | None:
        """Raise an error, because a comparison can depend on functions only on a trace."""
        raise Refused("a comparison of another world")
