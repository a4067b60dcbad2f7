"""The expressions that a claim computes from functions of a class, as the source writes them, with the kernel's values.

The kernel's values distinguish points and give the conditions. A theorem states the expressions beside these values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from clusterproof.checker.kernel import numbers
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.functions import Distance, Problem
from clusterproof.checker.kernel.interpolation import FunctionClass, OperatorClass, SetClass
from clusterproof.checker.kernel.numbers import Abstract, compare
from clusterproof.checker.kernel.quotients import Fact, Quotient
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.kernel.vocabulary import Least
from clusterproof.checker.kernel.worlds import Form, Point

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": numbers.add,
    "-": numbers.subtract,
    "*": numbers.product,
    "/": numbers.divide,
    "inner": numbers.inner,
}


@dataclass(frozen=True, eq=False)
class Traced(Abstract):
    """A number or vector, with the kernel's value.

    Attributes
    ----------
    operator
        One of + - * / ^ inner number; quantity and point (with their names); gradient and height (with index and
        point); prox (with index, point and step); and the mean of a split vector.
    parts
        The operands.
    value
        The kernel's value: a number, quotient, point or form.
    """

    operator: str
    parts: tuple[Any, ...]
    value: Any

    @property
    def is_vector(self) -> bool:
        """Whether the traced value is a point or direction."""
        return type(self.value) is Point

    @property
    def is_scalar(self) -> bool:
        """Whether the traced value is independent of the functions."""
        return type(self.value) not in (Point, Form)

    def _joined(self, operator: str, left: Any, right: Any) -> Traced:
        left, right = lifted(left), lifted(right)
        return Traced(operator, (left, right), OPERATIONS[operator](left.value, right.value))

    def __add__(self, other: Any) -> Traced:
        return self if is_number(other, 0) else self._joined("+", self, other)

    def __radd__(self, other: Any) -> Traced:
        return self if is_number(other, 0) else self._joined("+", other, self)

    def __sub__(self, other: Any) -> Traced:
        return self if is_number(other, 0) else self._joined("-", self, other)

    def __rsub__(self, other: Any) -> Traced:
        return -self if is_number(other, 0) else self._joined("-", other, self)

    def __mul__(self, other: Any) -> Traced:
        return self if is_number(other, 1) else self._joined("*", self, other)

    def __rmul__(self, other: Any) -> Traced:
        return self if is_number(other, 1) else self._joined("*", other, self)

    def __truediv__(self, other: Any) -> Traced:
        return self if is_number(other, 1) else self._joined("/", self, other)

    def __rtruediv__(self, other: Any) -> Traced:
        return self._joined("/", other, self)

    def __neg__(self) -> Traced:
        return self._joined("*", -1, self)

    def __pow__(self, n: int) -> Traced:
        if n < 0:
            return 1 / self**-n
        return self if n == 1 else Traced("^", (self, n), numbers.power(self.value, n))

    def __matmul__(self, other: Any) -> Traced:
        return self._joined("inner", self, other)

    def __le__(self, other: Any) -> Any:
        return compared("<=", self, other)

    def __ge__(self, other: Any) -> Any:
        return compared(">=", self, other)

    def __lt__(self, other: Any) -> Any:
        return compared("<", self, other)

    def __gt__(self, other: Any) -> Any:
        return compared(">", self, other)

    def is_zero(self) -> Any:
        """Return the fact that the traced value is 0."""
        return compared("==", self, 0)

    def exact(self) -> Any:
        """Return the kernel's value; it must be a number."""
        return numbers.number(self.value)

    def differs(self) -> bool:
        """Return whether the traced value is a number other than 0."""
        return bool(compare("!=", self.value, 0))

    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, other: object) -> bool:
        return bool(compare("==", self.value, lifted(other).value))

    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False)
class Comparison(Abstract):
    """A comparison of traced values, as the source writes it, with the kernel's fact."""

    sign: str
    left: Traced
    right: Traced
    fact: Fact

    def __bool__(self) -> bool:
        branched = _BRANCHED.get()
        if branched is not None:
            branched[id(self.fact)] = self
        return bool(self.fact)


_BRANCHED: ContextVar[dict[int, Comparison] | None] = ContextVar(
    "comparisons that are branched on", default=None
)


@contextmanager
def noting_branches() -> Iterator[dict[int, Comparison]]:
    """Yield a dictionary from the identity of a kernel's fact to the comparison; each branch adds an entry."""
    found: dict[int, Comparison] = {}
    token = _BRANCHED.set(found)
    try:
        yield found
    finally:
        _BRANCHED.reset(token)


def compared(sign: str, left: Any, right: Any) -> Any:
    """Return a truth value for numbers, otherwise the comparison."""
    left, right = lifted(left), lifted(right)
    found = compare(sign, left.value, right.value)
    return Comparison(sign, left, right, found) if type(found) is Fact else found


def lifted(value: Any) -> Traced:
    """Return a number as a traced value."""
    if isinstance(value, Traced):
        return value
    exact = numbers.number(value)
    return Traced("number", (exact,), exact)


def is_number(value: Any, wanted: int) -> bool:
    """Return whether a value is written as the given number."""
    if isinstance(value, Traced):
        return value.operator == "number" and value.value == wanted
    return not isinstance(value, Abstract) and bool(value == wanted)


def plain(value: Any) -> Any:
    """Return the kernel's value; for lists and tuples, of every entry."""
    if isinstance(value, Traced):
        return value.value
    if type(value) is Comparison:
        return value.fact
    if type(value) is Least:
        return Least(tuple(map(plain, value.numbers)))
    return type(value)(map(plain, value)) if type(value) in (list, tuple) else value


Triplet = tuple[Traced, Traced, Traced]
"""A point, the gradient at the point, and the value."""


@dataclass(frozen=True)
class View:
    """The points, gradients and values that are known at one place of a claim.

    Attributes
    ----------
    trace
        The kernel's trace.
    free
        The given points: the start, the solution if there is one, and further points.
    triplets
        Triplets, by the index of the member and of its triplet.
    steps
        Index of the member and step size, for each proximal step that has been requested.
    """

    trace: Trace
    free: tuple[Traced, ...]
    triplets: Mapping[tuple[int, int], Triplet]
    steps: tuple[tuple[int, Fraction], ...] = ()

    @property
    def equation(self) -> tuple[Traced, Traced | None] | None:
        """The equation at the solution: a sum of gradients is 0 (None), or the operator maps the solution to itself."""
        if self.trace.solution is None:
            return None
        if self.trace.any_number:
            return mean_of(self.trace, self.triplets[0, 0][1]), None
        if getattr(self.trace.definitions[0], "has_fixed_point", False):
            return self.triplets[0, 0][1], self.free[1]
        total: Any = 0
        for place, weight in enumerate(self.trace.weights):
            total = total + weight * self.triplets[place, 0][1]
        return total, None


class Asked:
    """The points, gradients and values that a claim requests from the members of a class.

    Parameters
    ----------
    trace
        The kernel's trace.

    Attributes
    ----------
    start, solution, minimum
        As in the kernel; the solution is None if there is none.
    points
        Further points, about which nothing is known.
    """

    def __init__(self, trace: Trace) -> None:
        for definition in trace.definitions:
            if isinstance(definition, SetClass):
                raise Refused(f"a Rocq file about functions cannot yet contain a {definition}")
        if trace.reach is not None:
            raise Refused(
                "a Rocq file about functions cannot yet contain a class with a number as its distance"
            )
        self.trace, self.points = trace, list[Traced]()
        self._triplets: dict[tuple[int, int], tuple[Any, Triplet]] = {}
        self._again: dict[tuple[int, int], tuple[Any, Triplet]] = {}
        self._steps: dict[tuple[int, Fraction], None] = {}
        self.start = Traced("point", ("start",), trace.start)
        self.solution: Traced | None = None
        self.minimum: Traced = Traced("minimum", (), trace.minimum)
        if trace.solution is None:
            if trace.any_number:
                raise Refused(
                    "a Rocq file about any number of functions cannot yet contain functions that need not be convex"
                )
            return
        are_functions = all(isinstance(each, FunctionClass) for each in trace.definitions)
        name = "minimiser" if are_functions else "solution"
        self.solution = Traced("point", (name,), trace.solution)
        total: Any = 0
        for place, weight in enumerate(trace.weights):
            total = total + weight * self.at(place, self.solution)[2]
        self.minimum = lifted(total)

    def at(self, place: int, point: Traced) -> Triplet:
        """Return the triplet of a member at a point."""
        oracle = self.trace.oracles[place]
        triplet = oracle.evaluate(point.value)
        at = place, next(k for k, each in enumerate(oracle.triplets) if each is triplet)
        # The world may have forgotten earlier triplets.
        if at not in self._triplets or self._triplets[at][0] is not triplet:
            self._triplets.pop(at, None)
            self._triplets[at] = triplet, self._written(place, point, triplet)
        written = self._triplets[at][1]
        if written[0] is point:
            return written
        again = id(point), id(triplet)
        if again not in self._again:
            self._again[again] = triplet, self._written(place, point, triplet)
        return self._again[again][1]

    def prox(self, place: int, point: Traced, step: Any) -> Traced:
        """Return the result of a proximal step of a member."""
        oracle, definition = self.trace.oracles[place], self.trace.definitions[place]
        known = (
            isinstance(definition, FunctionClass) and definition.convex and definition.smoothness is not None
        )
        if not known or type(step) is Quotient:
            raise Refused(
                "a Rocq file about functions cannot yet contain f.prox of a nonsmooth function, or with a symbolic step"
            )
        reached = oracle.implicitly(point.value, step)
        at = next((place, k) for k, each in enumerate(oracle.triplets) if each[0] is reached)
        triplet, size = oracle.triplets[at[1]], Fraction(numbers.number(step))
        if at not in self._triplets or self._triplets[at][0] is not triplet:
            self._steps[place, size] = None
            found = Traced("prox", (place, point, size), reached)
            self._triplets.pop(at, None)
            self._triplets[at] = triplet, self._written(place, found, triplet)
        written = self._triplets[at][1][0]
        if written.parts[1] is not point:
            raise Refused(
                "a Rocq file about functions cannot yet contain two expressions for the point of a proximal step"
            )
        return written

    def _written(self, place: int, point: Traced, triplet: Any) -> Triplet:
        _, gradient, value = triplet
        has_values = isinstance(self.trace.definitions[place], FunctionClass)
        height = Traced("height", (place, point), value) if has_values else lifted(0)
        return point, Traced("gradient", (place, point), gradient), height

    def point(self, name: str, value: Any) -> Traced:
        """Return a further point of the kernel, with a name."""
        self.points.append(Traced("point", (name,), value))
        return self.points[-1]

    def view(self) -> View:
        """Return the points and triplets that are known now; after a round, the kernel forgets the round's requests."""
        known = {id(each) for each in self.trace.further}
        alive = {id(each) for oracle in self.trace.oracles for each in oracle.triplets}
        solution = [] if self.solution is None else [self.solution]
        points = [each for each in self.points if id(each.value) in known]
        triplets = {at: written for at, (triplet, written) in self._triplets.items() if id(triplet) in alive}
        return View(self.trace, (self.start, *solution, *points), triplets, tuple(self._steps))


class Followed:
    """The object that a claim's function receives; it answers as the kernel's problem does, and stores requests."""

    def __init__(self, problem: Problem, asked: Asked) -> None:
        self._problem, self._asked = problem, asked
        self._offers = problem._offers
        self._parts = (
            (self,)
            if problem._parts[0] is problem
            else tuple(Followed(each, asked) for each in problem._parts)
        )

    def _combined(self, values: list[Traced]) -> Traced:
        total = values[0]
        for value in values[1:]:
            total = total + value
        return total / len(values) if self._problem._mean else total

    @property
    def parts(self) -> Any:
        """The summands; any number of functions are one object."""
        return FollowedParts(self._asked) if self._asked.trace.any_number else self._parts

    @property
    def start(self) -> Traced:
        """The point at which a method starts."""
        return self._asked.start

    @property
    def solution(self) -> Traced:
        """A minimiser, a zero or a fixed point."""
        if self._asked.solution is None:
            raise Refused("a function that may be nonconvex has no minimiser: use f.minimum")
        return self._asked.solution

    minimiser = solution

    @property
    def minimum(self) -> Traced:
        """The least value."""
        return self._asked.minimum

    @property
    def distance(self) -> Any:
        """The distance between start and solution; only the square can be used."""
        apart = self.start - self.solution
        return Distance(apart @ apart)

    def point(self) -> Traced:
        """Return a further point; with any number of functions, all functions share it."""
        trace = self._asked.trace
        if trace.any_number:
            return mean_of(trace, self._asked.point("point", trace.point()))
        return self._asked.point("point", self._problem.point())

    def gradient(self, point: Any) -> Traced:
        """Return the gradient."""
        if self._parts[0] is self:
            self._problem._shared(plain(point))
            found = self._asked.at(self._problem._places[0], point)[1]
            return mean_of(self._asked.trace, found) if self._asked.trace.any_number else found
        return self._combined([part.gradient(point) for part in self._parts])

    def __call__(self, point: Any) -> Traced:
        """Return the value."""
        kinds = {type(each._problem._single().definition) for each in self._parts}
        if self._parts[0] is self:
            of_operator = kinds == {OperatorClass}
            self._problem._shared(plain(point))
            return self._asked.at(self._problem._places[0], point)[1 if of_operator else 2]
        if kinds != {FunctionClass}:
            raise Refused("a sum that contains operators has no values")
        return self._combined([part(point) for part in self._parts])

    def prox(self, point: Any, step: Any) -> Traced:
        """Return the minimiser of f(y) + |y - point|^2 / (2 step)."""
        if self._parts[0] is not self or self._asked.trace.any_number:
            raise Refused("a Rocq file about functions cannot yet contain f.prox of several functions")
        return self._asked.prox(self._problem._places[0], point, plain(step))

    def __getattr__(self, name: str) -> Any:
        constants = ("smoothness", "strong_convexity", "lipschitz", "strong_monotonicity", "cocoercivity")
        if name in constants:
            return getattr(self._problem, name)
        if name in self._offers:
            raise Refused(f"a Rocq file about functions cannot yet contain f.{name}")
        raise AttributeError(name)


def mean_of(trace: Trace, vector: Any) -> Traced:
    """Return the mean of a split vector."""
    return Traced("mean", (vector,), trace.mean(vector.value))


class FollowedParts:
    """The object ``f.parts`` of a claim; it answers as the kernel's object does, and stores requests."""

    _offers = ("gradient", "mean", "point")

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def gradient(self, point: Any) -> Traced:
        """Return the functions' gradients at their points."""
        return self._asked.at(0, point)[1]

    def __call__(self, point: Any) -> Traced:
        """Return the mean of the functions' values."""
        return self._asked.at(0, point)[2]

    def mean(self, vector: Any) -> Traced:
        """Return the mean of a split vector."""
        return mean_of(self._asked.trace, vector)

    def point(self) -> Traced:
        """Return a further point for each function."""
        return self._asked.point("point", self._asked.trace.point())


def operands(value: Traced) -> Iterator[Traced]:
    """Yield the operands of a value."""
    return (each for each in value.parts if isinstance(each, Traced))


def in_order(roots: list[Traced]) -> list[Traced]:
    """Return every value that occurs in the roots, operands first, each once."""
    seen: dict[int, Traced] = {}
    for root in roots:
        waiting = [(root, False)]
        while waiting:
            each, ready = waiting.pop()
            if id(each) in seen:
                continue
            if ready:
                seen[id(each)] = each
            else:
                waiting += [(each, True), *((part, False) for part in reversed(list(operands(each))))]
    return list(seen.values())


def quantities(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return numbers and symbols as quantities with their names, and other values unchanged."""
    return {
        name: Traced("quantity", (name,), value) if type(value) in (int, Fraction, Quotient) else value
        for name, value in values.items()
    }
