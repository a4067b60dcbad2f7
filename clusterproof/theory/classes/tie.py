"""Compare a trace with the function itself: on a concrete world both have the same sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from clusterproof.theory.classes.definitions import FunctionClass
from clusterproof.theory.classes.function import Oracle, Point, World
from clusterproof.theory.classes.trace import Trace, TracedPath
from clusterproof.theory.classes.traced_numbers import Least, TracedNumber, TracedPoint


class Logged(World):
    """A concrete world that keeps what each call returned, in order: (point, gradient, value) or a further point."""

    def __init__(self, world: World) -> None:
        self.start, self.solution, self.minimum = world.start, world.solution, world.minimum
        self.squared_distance = world.squared_distance
        self.world = world
        self.calls: list[Any] = []
        self.at_solution: list[Any] = [
            None if world.solution is None else oracle.evaluate(world.solution) for oracle in world.oracles
        ]
        self.oracles: Sequence[Oracle] = [_LoggedOracle(self, oracle) for oracle in world.oracles]

    def point(self) -> Point:
        """Return the world's next further point."""
        self.calls.append(self.world.point())
        return self.calls[-1]


class _LoggedOracle(Oracle):
    def __init__(self, log: Logged, oracle: Oracle) -> None:
        self.log, self.oracle, self.definition = log, oracle, oracle.definition

    def evaluate(self, point: Point) -> tuple[Point, Any]:
        gradient, value = self.oracle.evaluate(point)
        self.log.calls.append((point, gradient, value))
        return gradient, value

    def proximal(self, point: Point, step: Fraction) -> Point:
        result = self.oracle.proximal(point, step)
        self.log.calls.append((result, *self.oracle.evaluate(result)))
        return result

    def minimise_linear(self, direction: Point) -> Point:
        result = self.oracle.minimise_linear(direction)
        self.log.calls.append((result, *self.oracle.evaluate(result)))
        return result


def difference(
    paths: Sequence[TracedPath], evaluate: Callable[[World], Mapping[str, Any]], world: World
) -> str:
    """Return which line has other sides on a concrete world than on its trace; empty if none has.

    Parameters
    ----------
    paths
        All paths of the function.
    evaluate
        Evaluates it; each line is (measured, bound).
    world
        Not evaluated yet.
    """
    log = Logged(world)
    lines = evaluate(log)
    for path in paths:
        numbers = _Numbers(path.trace, log)
        if not numbers.complete or any(numbers.number(gap) < 0 for gap in path.trace.forked):
            continue
        for name, sides in path.lines.items():
            if any(numbers.side(traced) != side for traced, side in zip(sides, lines[name], strict=True)):
                return name or "the claim"
        return ""
    return "the path through its comparisons"


class _Numbers:
    """The free vectors and values of a trace on a concrete world, from what each call returned there.

    Attributes
    ----------
    complete
        Whether the calls of both correspond.
    """

    def __init__(self, trace: Trace, log: Logged) -> None:
        self.vectors: dict[int, Any] = {0: log.start if log.solution is None else log.solution}
        self.values: dict[int, Any] = {-1: Fraction(1)}
        self.complete = len(trace.calls) == len(log.calls)
        if log.solution is None:
            self._learn_value(trace.minimum, log.minimum)
        else:
            self._learn_point(trace.start, log.start)
            for oracle, known in zip(trace.oracles, log.at_solution, strict=True):
                if isinstance(oracle.definition, FunctionClass):
                    self._learn_value(oracle.offset, known[1])
                self._learn_point(oracle.triplets[0].gradient, known[0])
        for traced, found in zip(trace.calls, log.calls, strict=False):
            if isinstance(traced, TracedPoint):
                self._learn_point(traced, found)
            elif isinstance(found, tuple):
                self._learn_point(traced.point, found[0])
                self._learn_point(traced.gradient, found[1])
                self._learn_value(traced.value, found[2])
            else:
                self.complete = False

    def _learn_point(self, traced: TracedPoint, found: Any) -> None:
        """Solve for the one free vector of a point that is not known; what is known is not compared."""
        unknown = [index for index in traced.entries if index not in self.vectors]
        if unknown:
            (index,) = unknown
            for other, entry in traced.entries.items():
                if other != index:
                    found = found - entry * self.vectors[other]
            self.vectors[index] = found / traced.entries[index]

    def _learn_value(self, traced: TracedNumber, found: Any) -> None:
        unknown = [index for index in traced.values if index not in self.values]
        if unknown:
            (index,) = unknown
            rest = sum(entry * self.values[k] for k, entry in traced.values.items() if k != index)
            self.values[index] = (found - rest) / traced.values[index]

    def number(self, traced: TracedNumber) -> Any:
        """Evaluate a traced number."""
        total = sum((entry * self.values[k] for k, entry in traced.values.items()), Fraction(0))
        return total + sum(
            entry * (self.vectors[i] @ self.vectors[j]) for (i, j), entry in traced.quadratic.items()
        )

    def side(self, traced: Any) -> Any:
        """Evaluate a traced side."""
        if isinstance(traced, Least):
            return min(map(self.number, traced.numbers))
        return self.number(traced) if isinstance(traced, TracedNumber) else traced
