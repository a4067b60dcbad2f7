"""A claim's function on symbols: its points, and its sides as forms in their inner products and values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from clusterproof.theory.classes.definitions import Definition, FunctionClass, OperatorClass
from clusterproof.theory.classes.function import Oracle, Quantity, World

FORKS = 6
"""Comparisons that may fork on one path."""
HERE = str(Path(__file__).parent)


_REFUSED: ContextVar[list[str] | None] = ContextVar("what a trace refused", default=None)


class NotTraced(TypeError):
    """The function does with a point or number what a trace cannot follow; the message names line and remedy."""


def refuse(what: str, remedy: str) -> NoReturn:
    """Raise ``NotTraced`` at the line of the claim's function that is running."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    message = f"line {frame.f_lineno}: {what}: {remedy}"
    if (refused := _REFUSED.get()) is not None:
        refused.append(message)  # whatever the function catches
    raise NotTraced(message)


def exact(value: Any) -> Fraction:
    """Return an int or Fraction as a Fraction, and refuse everything else."""
    if type(value) is int or type(value) is Fraction:
        return Fraction(value)
    if isinstance(value, float):
        near = Fraction(value).limit_denominator(1000)
        refuse(f"{value} is no int or Fraction", f"write Fraction({near.numerator}, {near.denominator})")
    refuse(
        f"{type(value).__name__} {value!r} is no int or Fraction", "compute with Python's ints and Fractions"
    )


def _combine(
    first: Mapping[Any, Fraction], second: Mapping[Any, Fraction], factor: Fraction
) -> dict[Any, Fraction]:
    total = dict(first)
    for key, value in second.items():
        if (entry := total.get(key, 0) + factor * value) == 0:
            del total[key]
        else:
            total[key] = Fraction(entry)
    return total


class _Symbol(Quantity):
    """What a trace refuses of points and numbers alike."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        refuse("== of quantities that depend on f", "state what is equal by suppose(..., equal((a, b)))")

    def __ne__(self, other: object) -> bool:
        refuse("!= of quantities that depend on f", "state a comparison by <= or >=")

    def __float__(self) -> float:
        refuse("a float of a quantity that depends on f", "use +, -, times or over an int or Fraction")

    def __pow__(self, power: Any) -> Any:
        refuse(
            "a power of a quantity that depends on f", "write x @ x for |x|^2; other powers are not traced"
        )

    def __abs__(self) -> Any:
        refuse("abs of a quantity that depends on f", "write x @ x for |x|^2, or state both signs")

    def __iter__(self) -> Iterator[Any]:
        refuse("coordinates of a point", "use inner products, x @ y")

    def __getitem__(self, item: Any) -> Any:
        refuse("coordinates of a point", "use inner products, x @ y")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        refuse("an array of quantities that depend on f", "use +, -, times or over an int or Fraction")

    def __bool__(self) -> bool:
        refuse("the truth of a quantity that depends on f", "compare it by <= or >=")


class TracedPoint(_Symbol):
    """A linear combination of free vectors."""

    __slots__ = ("entries", "trace")

    def __init__(self, trace: Trace, entries: Mapping[int, Fraction]) -> None:
        self.trace, self.entries = trace, entries

    @property
    def key(self) -> tuple[tuple[int, Fraction], ...]:
        """What tells points apart."""
        return tuple(sorted(self.entries.items()))

    def _plus(self, other: Any, factor: int) -> TracedPoint:
        if type(other) is int and other == 0:  # the start of sum()
            return self
        if not isinstance(other, TracedPoint):
            refuse(f"a point plus or minus {type(other).__name__} {other!r}", "add points to points")
        return TracedPoint(self.trace, _combine(self.entries, other.entries, Fraction(factor)))

    def __add__(self, other: Any) -> TracedPoint:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> TracedPoint:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> TracedPoint:
        return (-self)._plus(other, 1)

    def __neg__(self) -> TracedPoint:
        return self * -1

    def __mul__(self, factor: Any) -> TracedPoint:
        if isinstance(factor, TracedNumber):
            refuse(
                "a point times a quantity that depends on f (an adaptive step)",
                "make the step a parameter and relate it by suppose(..., equal(...))",
            )
        if isinstance(factor, TracedPoint):
            refuse("a product of two points", "write x @ y for their inner product")
        number = exact(factor)
        return TracedPoint(self.trace, {k: v * number for k, v in self.entries.items()} if number else {})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> TracedPoint:
        if isinstance(divisor, TracedNumber):
            refuse(
                "division by a quantity that depends on f (an adaptive step)",
                "make the step a parameter and relate it by suppose(..., equal(...))",
            )
        return self * (1 / exact(divisor))

    def __matmul__(self, other: Any) -> TracedNumber:
        if not isinstance(other, TracedPoint):
            refuse(f"x @ {type(other).__name__} {other!r}", "take inner products of points")
        quadratic: dict[tuple[int, int], Fraction] = {}
        for i, a in self.entries.items():
            for j, b in other.entries.items():
                pair = (i, j) if i <= j else (j, i)
                quadratic[pair] = quadratic.get(pair, Fraction(0)) + a * b
        return TracedNumber(self.trace, {k: v for k, v in quadratic.items() if v}, {})


class TracedNumber(_Symbol):
    """A linear form in inner products of free vectors, function values and the constant 1."""

    __slots__ = ("quadratic", "trace", "values")

    def __init__(
        self, trace: Trace, quadratic: Mapping[tuple[int, int], Fraction], values: Mapping[int, Fraction]
    ) -> None:
        self.trace, self.quadratic, self.values = trace, quadratic, values  # the value -1 is the constant 1

    def _plus(self, other: Any, factor: int) -> TracedNumber:
        if isinstance(other, TracedPoint):
            refuse("a number plus or minus a point", "add numbers to numbers")
        if not isinstance(other, TracedNumber):
            other = self.trace.constant(exact(other))
        scale = Fraction(factor)
        return TracedNumber(
            self.trace,
            _combine(self.quadratic, other.quadratic, scale),
            _combine(self.values, other.values, scale),
        )

    def __add__(self, other: Any) -> TracedNumber:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> TracedNumber:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> TracedNumber:
        return (-self)._plus(other, 1)

    def __neg__(self) -> TracedNumber:
        return self * -1

    def __mul__(self, factor: Any) -> TracedNumber:
        if isinstance(factor, TracedPoint):
            refuse(
                "a point times a quantity that depends on f (an adaptive step)",
                "make the step a parameter and relate it by suppose(..., equal(...))",
            )
        if isinstance(factor, TracedNumber):
            refuse("a product of two quantities that depend on f", "make one of them a parameter")
        number = exact(factor)
        if not number:
            return TracedNumber(self.trace, {}, {})
        quadratic = {k: v * number for k, v in self.quadratic.items()}
        return TracedNumber(self.trace, quadratic, {k: v * number for k, v in self.values.items()})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> TracedNumber:
        if isinstance(divisor, TracedNumber | TracedPoint):
            refuse(
                "division by a quantity that depends on f (an adaptive step)",
                "make the step a parameter and relate it by suppose(..., equal(...))",
            )
        return self * (1 / exact(divisor))

    def __rtruediv__(self, other: Any) -> NoReturn:
        refuse(
            "division by a quantity that depends on f (an adaptive step)",
            "make the step a parameter and relate it by suppose(..., equal(...))",
        )

    def __le__(self, other: Any) -> Comparison:
        return Comparison(other - self)

    def __ge__(self, other: Any) -> Comparison:
        return Comparison(self - other)

    __lt__, __gt__ = __le__, __ge__


@dataclass(frozen=True)
class Comparison:
    """That a number is at least 0: a hypothesis, or a fork if its truth is asked for."""

    gap: TracedNumber

    def __bool__(self) -> bool:
        return self.gap.trace.decide(self.gap)

    def assume(self) -> None:
        """Make it a hypothesis."""
        self.gap.trace.inequalities.append(self.gap)


@dataclass(frozen=True)
class Least:
    """The least of several numbers, of a traced function: a bound of it is a bound of one of their means."""

    numbers: tuple[TracedNumber, ...]


def least(*numbers: Any) -> Any:
    """Return the least of the numbers, such as that of the best iterate."""
    traced = next((number.trace for number in numbers if isinstance(number, TracedNumber)), None)
    if traced is None:
        return min(numbers)
    return Least(
        tuple(each if isinstance(each, TracedNumber) else traced.constant(exact(each)) for each in numbers)
    )


@dataclass
class Triplet:
    """A point, a subgradient (or image) there, and the value."""

    point: TracedPoint
    gradient: TracedPoint
    value: TracedNumber


class TracedOracle(Oracle):
    """A function, set or operator of which only the class is known."""

    def __init__(self, trace: Trace, definition: Definition) -> None:
        self.trace, self.definition = trace, definition
        self.triplets: list[Triplet] = []
        self._known: dict[Any, Triplet] = {}
        self._proximal: dict[Any, Triplet] = {}
        self.offset = trace.value() if isinstance(definition, FunctionClass) else trace.constant(Fraction(0))

    def add(self, point: TracedPoint, gradient: TracedPoint, value: TracedNumber | None = None) -> Triplet:
        """Keep a triplet, with a value of its own if none is given."""
        if value is None:
            value = self.offset
            if isinstance(self.definition, FunctionClass):
                value = value + self.trace.value()
        triplet = Triplet(point, gradient, value)
        self.triplets.append(triplet)
        self._known.setdefault(point.key, triplet)
        return triplet

    def _called(self, triplet: Triplet) -> Triplet:
        self.trace.calls.append(triplet)
        return triplet

    def evaluate(self, point: TracedPoint) -> tuple[TracedPoint, TracedNumber]:
        """Return the subgradient and value that the point has, new ones at a new point."""
        triplet = self._known.get(point.key)
        if triplet is None:
            image = self.trace.vector()
            if isinstance(self.definition, OperatorClass) and self.definition.has_fixed_point:
                image = image + self.trace.origin
            triplet = self.add(point, image)
        self._called(triplet)
        return triplet.gradient, triplet.value

    def proximal(self, point: TracedPoint, step: Fraction) -> TracedPoint:
        """Return a new point y = x - s g, with g the subgradient there."""
        key = (point.key, step)
        if key not in self._proximal:
            gradient = self.trace.vector()
            self._proximal[key] = self.add(point - step * gradient, gradient)
        return self._called(self._proximal[key]).point

    def minimise_linear(self, direction: TracedPoint) -> TracedPoint:
        """Return a new point, at which minus the direction is a normal vector."""
        key = (direction.key, None)
        if key not in self._proximal:
            self._proximal[key] = self.add(self.trace.origin + self.trace.vector(), -direction)
        return self._called(self._proximal[key]).point


class Trace(World):
    """One path of a claim's function through its comparisons.

    Parameters
    ----------
    definitions
        Classes of the oracles.
    weights
        With which the sum that has the solution weighs them.
    distance
        What |start - solution| is at most, None for no limit.
    decisions
        Truth of the first comparisons that fork; later ones are true.
    """

    def __init__(
        self,
        definitions: Sequence[Definition],
        weights: Sequence[Fraction],
        distance: Fraction | None = None,
        decisions: Sequence[bool] = (),
    ) -> None:
        self.vectors = self.scalars = 0
        self.decisions, self.forks = list(decisions), 0
        self.inequalities: list[TracedNumber] = []
        self.forked: list[TracedNumber] = []
        self.equations: list[TracedNumber] = []
        self.coincident: list[TracedPoint] = []
        self.further: list[TracedPoint] = []
        self.calls: list[Triplet | TracedPoint] = []
        self.weights = list(weights)
        self.origin = self.vector()
        self.oracles: Sequence[TracedOracle] = [TracedOracle(self, each) for each in definitions]
        first = definitions[0]
        if isinstance(first, FunctionClass) and not first.convex:
            self.start, self.solution = self.origin, None
            self.minimum = self.oracles[0].offset
            self.squared_distance = None
            return
        self.start, self.solution = self.origin + self.vector(), self.origin
        total = TracedPoint(self, {})
        for number, (oracle, weight) in enumerate(zip(self.oracles, weights, strict=True)):
            if isinstance(oracle.definition, OperatorClass) and oracle.definition.has_fixed_point:
                gradient = self.origin
            elif number + 1 < len(self.oracles):
                gradient = self.vector()
            else:
                gradient = total * (-1 / weight)
            total = total + weight * gradient
            oracle.add(self.origin, gradient, oracle.offset)
        functions = [
            (o, w)
            for o, w in zip(self.oracles, weights, strict=True)
            if isinstance(o.definition, FunctionClass)
        ]
        self.minimum = sum((w * o.offset for o, w in functions), start=self.constant(Fraction(0)))
        separation = self.start - self.origin
        self.squared_distance = separation @ separation
        if distance is not None:
            self.inequalities.append(distance**2 - self.squared_distance)

    def vector(self) -> TracedPoint:
        """Return a new free vector."""
        self.vectors += 1
        return TracedPoint(self, {self.vectors - 1: Fraction(1)})

    def value(self) -> TracedNumber:
        """Return a new value."""
        self.scalars += 1
        return TracedNumber(self, {}, {self.scalars - 1: Fraction(1)})

    def constant(self, number: Fraction) -> TracedNumber:
        """Return a number that does not depend on f."""
        return TracedNumber(self, {}, {-1: number} if number else {})

    def point(self) -> TracedPoint:
        """Return a further free point."""
        self.further.append(self.origin + self.vector())
        self.calls.append(self.further[-1])
        return self.further[-1]

    def decide(self, gap: TracedNumber) -> bool:
        """Return whether a number is at least 0 on this path, and add that, or the opposite, to its hypotheses."""
        if not gap.quadratic and gap.values.keys() <= {-1}:
            return gap.values.get(-1, Fraction(0)) >= 0
        if self.forks == FORKS:
            refuse(f"more than {FORKS} comparisons on one path", "state fewer rounds, or use least(...)")
        if self.forks == len(self.decisions):
            self.decisions.append(True)
        holds = self.decisions[self.forks]
        self.forks += 1
        self.forked.append(gap if holds else -gap)
        self.inequalities.append(self.forked[-1])
        return holds

    def assume_equal(self, gap: TracedPoint | TracedNumber) -> None:
        """Make it a hypothesis that the difference of two points, or of two numbers, is zero."""
        if isinstance(gap, TracedPoint):
            self.coincident.append(gap)
        else:
            self.equations.append(gap)


@dataclass(frozen=True, eq=False)
class TracedPath:
    """One path of a function through its comparisons, and what the function returned on it."""

    trace: Trace
    lines: Any


def paths(make: Callable[[Sequence[bool]], Trace], evaluate: Callable[[Trace], Any]) -> Iterator[TracedPath]:
    """Yield every path of a function through its comparisons.

    Parameters
    ----------
    make
        Returns a trace with given decisions.
    evaluate
        Evaluates the function; None if the path contradicts a hypothesis.

    Raises
    ------
    NotTraced
        If the function does what is not traced.
    """
    decisions: list[bool] = []
    while True:
        trace = make(decisions)
        refused: list[str] = []
        token = _REFUSED.set(refused)
        try:
            lines = evaluate(trace)
        finally:
            _REFUSED.reset(token)
        if refused:
            raise NotTraced(refused[0])
        if lines is not None:
            yield TracedPath(trace, lines)
        decisions = trace.decisions[: trace.forks]
        while decisions and not decisions[-1]:
            decisions.pop()
        if not decisions:
            return
        decisions[-1] = False
