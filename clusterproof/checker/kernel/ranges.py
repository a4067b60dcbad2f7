"""Ranges: the possible values of one quantity, which can be read from evidence, listed, or replaced by symbols."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.interpolation import Class, required
from clusterproof.checker.kernel.listed import Listed
from clusterproof.checker.kernel.numbers import LONGEST_GIVEN, compare, number, read, short, whole, write
from clusterproof.checker.kernel.positivity import Ends, sign_of
from clusterproof.checker.kernel.quotients import Fact, Quotient
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.kernel.worlds import ANY

Instance = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class End:
    """An end of a range that depends on earlier quantities: a function whose parameters are named after them."""

    names: tuple[str, ...]
    function: Callable[..., Any]

    def value(self, so_far: Instance, box: Sequence[Ends] = ()) -> Any:
        """Return the value of the end; its divisors must have one strict sign on the box of the earlier symbols."""
        with evaluating() as evaluation:
            spend(10 + len(self.names))
            try:
                value = self.function(*(so_far[name] for name in self.names))
            except Outside as outside:
                raise Refused(f"an end of a range has no hypotheses: {outside}") from None
        if evaluation.now != Context(divisors=evaluation.now.divisors):
            raise Refused("an end of a range has no hypotheses")
        for divisor in evaluation.now.divisors:
            width = divisor.what.width
            if not sign_of(divisor.what.top, [*box, *[(None, None)] * (width - len(box))]):
                raise Refused("an end of a range divides by what may be zero")
        return value


def value_of(end: Any, so_far: Instance, box: Sequence[Ends] = ()) -> Any:
    """Return the value of an end, or None if there is no end."""
    return end.value(so_far, box) if isinstance(end, End) else end


class Range(ABC):
    """The possible values of one quantity. ``so_far`` contains the values of the earlier quantities.

    The search uses subclasses of these ranges, which can draw random values.
    """

    @property
    def parts(self) -> tuple[Any, ...]:
        """The ends of the range, and other numbers that may depend on earlier quantities."""
        return ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the earlier quantities that the ends use."""
        ends = [each for each in self.parts if isinstance(each, End)]
        return tuple(dict.fromkeys(name for end in ends for name in end.names))

    @abstractmethod
    def describe(self, so_far: Instance) -> str:
        """Describe the values of the range, for error messages."""

    @abstractmethod
    def read(self, code: Any, so_far: Instance) -> Any:
        """Read a value from evidence; reject it if it does not belong to the range."""

    def every(self, so_far: Instance) -> Iterable[Any]:
        """List the values of the range."""
        raise Refused("the values are no finite list")


class Plain(Range):
    """A range of numbers, strings or tuples."""

    @abstractmethod
    def decode(self, code: Any) -> Any:
        """Decode a value from JSON; raise ``Refused`` if it has the wrong type."""

    @abstractmethod
    def holds(self, value: Any, so_far: Instance) -> bool:
        """Return whether a value belongs to the range."""

    def read(self, code: Any, so_far: Instance) -> Any:
        """Read a value from evidence; reject it if it does not belong to the range."""
        value = self.decode(code)
        if not self.holds(value, so_far):
            raise Refused(f"{code} must be {self.describe(so_far)}")
        return value


@dataclass(frozen=True, eq=False)
class Interval(Plain):
    """All integers or fractions from ``low`` to ``high``.

    Attributes
    ----------
    low, high
        An int, a Fraction or an ``End``, or None if there is no end.
    integers
        Whether the range contains only integers; otherwise it contains all fractions.
    """

    low: Any
    high: Any
    integers: bool

    @property
    def parts(self) -> tuple[Any, ...]:
        """The ends of the range."""
        return self.low, self.high

    @property
    def noun(self) -> str:
        """The noun for one value in a description of the range."""
        return "an integer" if self.integers else "a fraction"

    def ends(self, so_far: Instance, box: Sequence[Ends] = ()) -> Ends:
        """Return the smallest and the largest value, or None for an unbounded side."""
        low, high = (value_of(end, so_far, box) for end in (self.low, self.high))
        return short(low, LONGEST_GIVEN), short(high, LONGEST_GIVEN)

    def decode(self, code: Any) -> Any:
        """Read an int or a fraction."""
        return whole(read(code)) if self.integers else Fraction(read(code))

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Return whether the value is a number of the right type between the two ends."""
        low, high = self.ends(so_far)
        return type(value) is (int if self.integers else Fraction) and (
            (low is None or compare("<=", low, value)) and (high is None or compare("<=", value, high))
        )

    def describe(self, so_far: Instance) -> str:
        """Describe the range by its ends."""
        low, high = ("" if end is None else f" {end}" for end in self.ends(so_far))
        return f"{self.noun} in{low} ..{high}"

    def every(self, so_far: Instance) -> Iterable[Any]:
        """List the values of the range."""
        low, high = self.ends(so_far)
        if not self.integers or low is None or high is None:
            return super().every(so_far)
        return range(-(-low // 1), high // 1 + 1)


@dataclass(frozen=True, eq=False)
class Choice(Plain):
    """A finite range of numbers, strings, booleans or None."""

    options: tuple[Any, ...]

    def decode(self, code: Any) -> Any:
        """Return the option that the code describes."""
        spend(len(self.options))
        found = [each for each in self.options if type(write(each)) is type(code) and write(each) == code]
        if len(found) != 1:
            raise Refused(f"{code!r} is none of the choices")
        return found[0]

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Return whether the value is one of the options."""
        spend(len(self.options))
        return any(type(value) is type(option) and value == option for option in self.options)

    def describe(self, so_far: Instance) -> str:
        """Describe the range by its options."""
        return f"one of {', '.join(str(option) for option in self.options)}"

    def every(self, so_far: Instance) -> Sequence[Any]:
        """List the options."""
        return self.options


@dataclass(frozen=True, eq=False)
class Tuples(Plain):
    """Tuples with a given number of entries, whose entries belong to one range."""

    entries: Plain
    length: Any

    @property
    def parts(self) -> tuple[Any, ...]:
        """The length, and the ends of the entries' range."""
        return self.length, *self.entries.parts

    def size(self, so_far: Instance) -> int:
        """Return the number of entries."""
        return whole(value_of(self.length, so_far))

    def decode(self, code: Any) -> tuple[Any, ...]:
        """Read a list of entries."""
        if type(code) is not list:
            raise Refused(f"{code!r} is no list")
        return tuple(map(self.entries.decode, code))

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Return whether the value is a tuple of the right length, and every entry belongs to its range."""
        return (
            type(value) is tuple
            and len(value) == self.size(so_far)
            and all(self.entries.holds(entry, so_far) for entry in value)
        )

    def describe(self, so_far: Instance) -> str:
        """Describe the range by its length and its entries."""
        return f"a sequence of {self.size(so_far)} entries, each {self.entries.describe(so_far)}"

    def every(self, so_far: Instance) -> Iterator[Any]:
        """List the tuples."""
        length = self.size(so_far)
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


@dataclass(frozen=True, eq=False)
class OfClass(Range):
    """All functions, sets or operators of a class, or all sums of means of such members, in every dimension.

    Attributes
    ----------
    groups
        One entry (count, kind of class, constants) per summand. The summand is the mean of ``count`` functions, or of
        an arbitrary number of functions if ``count`` is ``"any"``. Constants are numbers or ends.
    reach
        Largest |start - solution|, or None if there is no limit.
    """

    groups: tuple[tuple[Any, type[Class], tuple[tuple[str, Any], ...]], ...]
    reach: Any = None

    @property
    def parts(self) -> tuple[Any, ...]:
        """The constants, and the largest distance between start and solution."""
        return *(value for *_, constants in self.groups for _, value in constants), self.reach

    def classes(self, so_far: Instance, box: Sequence[Ends] = ()) -> list[tuple[Any, Class]]:
        """Return the count and the class of each summand, for given earlier quantities."""
        found = []
        for count, kind, constants in self.groups:
            values = {name: self.constant(name, value_of(value, so_far, box)) for name, value in constants}
            found.append((count, kind(**values)))
        return found

    def constant(self, name: str, value: Any) -> Any:
        """Check a constant of a class: it must be an exact number, a symbol, a boolean, or None."""
        if value is None or (name in ("convex", "monotone") and type(value) is bool):
            return value
        return value if type(value) is Quotient else Fraction(short(number(value), LONGEST_GIVEN))

    def describe(self, so_far: Instance) -> str:
        """Describe the range by its classes."""
        several = ((count, f"a {each}") for count, each in self.classes(so_far))
        return " + ".join(
            each if n == 1 else f"the mean of {'any number of' if n == ANY else n} functions, each {each}"
            for n, each in several
        )

    def trace(self, so_far: Instance) -> Trace:
        """Return a trace of unknown functions of the classes."""
        return Trace(self.classes(so_far), value_of(self.reach, so_far))

    def on_symbols(
        self, so_far: Instance, box: Sequence[Ends]
    ) -> tuple[Callable[[], Trace], tuple[Fact, ...]]:
        """Return a function that creates a trace with symbols, and the facts to prove about the constants."""
        groups, reach = self.classes(so_far, box), value_of(self.reach, so_far, box)
        facts = [fact for _, definition in groups for fact in required(definition)]
        facts += [reach >= 0] if type(reach) is Quotient else []
        return (lambda: Trace(groups, reach, symbolic=True)), tuple(facts)

    def read(self, code: Any, so_far: Instance) -> Any:
        """Read functions from evidence: their values and gradients at the points that the claim requests."""
        return problem(Listed(self.classes(so_far), value_of(self.reach, so_far), code))
