"""A claim's function on symbols: the points at which it asks for gradients and values, path by path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from clusterproof.theory.classes.definitions import Definition, FunctionClass, OperatorClass
from clusterproof.theory.classes.function import Oracle, World
from clusterproof.theory.classes.traced_numbers import REFUSED, NotTraced, TracedNumber, TracedPoint, refuse

FORKS = 6
"""Comparisons that may fork on one path."""


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
        token = REFUSED.set(refused)
        try:
            lines = evaluate(trace)
        finally:
            REFUSED.reset(token)
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
