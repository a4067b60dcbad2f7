"""The space of a claim: what each quantity may be. Instances are read from evidence, listed, or made of symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from clusterproof.checker.kernel.evaluation import (
    Context,
    Outside,
    Refused,
    evaluating,
    spend,
)
from clusterproof.checker.kernel.functions import Problem, problem
from clusterproof.checker.kernel.interpolation import Class, required
from clusterproof.checker.kernel.listed import Listed
from clusterproof.checker.kernel.numbers import compare, number, read, whole, write
from clusterproof.checker.kernel.positivity import Ends, sign_of
from clusterproof.checker.kernel.quotients import Fact, Quotient
from clusterproof.checker.kernel.traces import Trace

Instance = Mapping[str, Any]


@dataclass(frozen=True)
class End:
    """An end of a range that depends on earlier quantities: a function of those that it names."""

    names: tuple[str, ...]
    function: Callable[..., Any]


def value_of(end: Any, so_far: Instance, box: Sequence[Ends] = ()) -> Any:
    """Return an end's value, None if there is none; what it divides by has a sign on the box of earlier symbols."""
    if type(end) is not End:
        return end
    with evaluating() as evaluation:
        try:
            value = end.function(*(so_far[name] for name in end.names))
        except Outside as outside:
            raise Refused(f"an end of a range has no hypotheses: {outside}") from None
    if evaluation.now != Context(divisors=evaluation.now.divisors):
        raise Refused("an end of a range has no hypotheses")
    for divisor in evaluation.now.divisors:
        width = divisor.what.width
        if not sign_of(divisor.what.top, [*box, *[(None, None)] * (width - len(box))]):
            raise Refused("an end of a range divides by what may be zero")
    return value


@dataclass(frozen=True)
class Interval:
    """Numbers from ``low`` to ``high``, None where there is no end: all of them, whatever is searched.

    Attributes
    ----------
    low, high
        An int, a Fraction, an ``End`` or None.
    integers
        Whether only ints are meant; else every fraction.
    """

    low: Any
    high: Any
    integers: bool

    def ends(self, so_far: Instance, box: Sequence[Ends] = ()) -> Ends:
        """Return the least and largest value."""
        return value_of(self.low, so_far, box), value_of(self.high, so_far, box)

    def read(self, code: Any, so_far: Instance) -> Any:
        """Read a number, and refuse one that is none of the range."""
        value = whole(read(code)) if self.integers else Fraction(read(code))
        low, high = self.ends(so_far)
        if not ((low is None or compare("<=", low, value)) and (high is None or compare("<=", value, high))):
            raise Refused(f"{code} is not from {low} to {high}")
        return value

    def every(self, so_far: Instance) -> Sequence[Any]:
        """List the values."""
        low, high = self.ends(so_far)
        if not self.integers or low is None or high is None:
            raise Refused("the numbers are no finite list")
        return range(-(-low // 1), high // 1 + 1)


@dataclass(frozen=True)
class Choice:
    """One of a few numbers, texts, truth values or None."""

    options: tuple[Any, ...]

    def read(self, code: Any, so_far: Instance) -> Any:
        """Read the option that is written so."""
        found = [each for each in self.options if type(write(each)) is type(code) and write(each) == code]
        if len(found) != 1:
            raise Refused(f"{code!r} is none of the choices")
        return found[0]

    def every(self, so_far: Instance) -> Sequence[Any]:
        """List the options."""
        return self.options


@dataclass(frozen=True)
class Tuples:
    """Tuples of a fixed number of values of one range."""

    entries: Interval | Choice
    length: Any

    def read(self, code: Any, so_far: Instance) -> Any:
        """Read a list of entries."""
        if type(code) is not list or len(code) != whole(value_of(self.length, so_far)):
            raise Refused("a sequence of another length")
        return tuple(self.entries.read(entry, so_far) for entry in code)

    def every(self, so_far: Instance) -> Iterator[Any]:
        """List the tuples."""
        length = whole(value_of(self.length, so_far))
        if length < 0:
            raise Refused(f"a length of {length}")
        return self._extended((), length, so_far)

    def _extended(self, start: tuple[Any, ...], length: int, so_far: Instance) -> Iterator[Any]:
        spend(1 + len(start))
        if len(start) == length:
            yield start
            return
        for value in self.entries.every(so_far):
            yield from self._extended((*start, value), length, so_far)


@dataclass(frozen=True)
class OfClass:
    """Every function, set or operator of a class, or a sum of means of several, in every dimension.

    Attributes
    ----------
    groups
        The sum of means of ``count`` functions each: (count, kind of class, its constants by name, numbers or ends).
    reach
        What |start - solution| is at most; None for no limit.
    """

    groups: tuple[tuple[int, type[Class], tuple[tuple[str, Any], ...]], ...]
    reach: Any = None

    def _groups(self, so_far: Instance, box: Sequence[Ends] = ()) -> list[tuple[int, Class]]:
        return [
            (
                count,
                kind(**{name: _constant(name, value_of(value, so_far, box)) for name, value in constants}),
            )
            for count, kind, constants in self.groups
        ]

    def trace(self, so_far: Instance, decisions: Sequence[bool]) -> Trace:
        """Return a world of which only the class is known."""
        return Trace(self._groups(so_far), value_of(self.reach, so_far), decisions)

    def on_symbols(
        self, so_far: Instance, box: Sequence[Ends]
    ) -> tuple[Callable[[], Trace], tuple[Fact, ...]]:
        """Return what makes a trace with symbols, within an evaluation, and what must be shown of its constants."""
        groups, reach = self._groups(so_far, box), value_of(self.reach, so_far, box)
        facts = [fact for _, definition in groups for fact in required(definition)]
        facts += [reach >= 0] if type(reach) is Quotient else []
        return (lambda: Trace(groups, reach, None)), tuple(facts)

    def read(self, code: Any, so_far: Instance) -> Problem:
        """Read functions by their values and gradients at the points where they are asked for."""
        return problem(Listed(self._groups(so_far), value_of(self.reach, so_far), code))

    def every(self, so_far: Instance) -> Sequence[Any]:
        """Refuse: a class is no list."""
        raise Refused("a class is no finite list")


def _constant(name: str, value: Any) -> Any:
    if value is None or (name in ("convex", "monotone", "has_fixed_point") and type(value) is bool):
        return value
    return value if type(value) is Quotient else Fraction(number(value))


Range = Interval | Choice | Tuples | OfClass


@dataclass(frozen=True)
class Space:
    """Quantities in order, by name."""

    ranges: Mapping[str, Range]

    @property
    def function(self) -> str | None:
        """Name of the quantity that is of a class."""
        names = [name for name, allowed in self.ranges.items() if type(allowed) is OfClass]
        if len(names) > 1:
            raise Refused("one quantity may be of a class")
        return names[0] if names else None

    def read(self, written: Any) -> dict[str, Any]:
        """Read an instance of evidence.

        Raises
        ------
        Refused
            If it is none of the space.
        """
        if type(written) is not dict or written.keys() != self.ranges.keys():
            raise Refused(f"an instance has the quantities {', '.join(self.ranges)}")
        instance: dict[str, Any] = {}
        for name, allowed in self.ranges.items():
            instance[name] = allowed.read(written[name], instance)
        return instance

    def every(self, left_out: str | None = None) -> Iterator[dict[str, Any]]:
        """List all instances, without one of the quantities if it is named.

        Raises
        ------
        Refused
            If they are no finite list.
        """

        def extended(instance: dict[str, Any], names: list[str]) -> Iterator[dict[str, Any]]:
            spend(1)
            if not names:
                yield instance
                return
            for value in self.ranges[names[0]].every(instance):
                yield from extended({**instance, names[0]: value}, names[1:])

        return extended({}, [name for name in self.ranges if name != left_out])
