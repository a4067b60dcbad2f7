"""Ranges of single quantities: the kernel's definitions, and functions that list, draw and encode values."""

from __future__ import annotations

import inspect
import math
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from clusterproof.checker.claims.places import called
from clusterproof.checker.claims.rounding import as_float, has_numpy_integers
from clusterproof.checker.kernel import numbers
from clusterproof.checker.kernel import ranges as kernel_ranges
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.common import InvalidArgument
from clusterproof.common.tasks import task_from
from clusterproof.common.validation import brief, check_count, check_text

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
Exact = TypeVar("Exact", int, Fraction)
EndLike: TypeAlias = int | Fraction | Callable[..., Any]
"""An end of a range, as the user writes it: a number, or a function of earlier quantities, named by its parameters."""

LISTED = 100_000
"""Largest number of values in a grid that the module lists completely."""
FINEST = 1000
"""Largest denominator of a drawn fraction that does not lie on the grid."""
LARGEST_REAL = sys.float_info.max / 4
"""Largest float that the search tries; at this limit, differences between two floats are still finite."""
LARGEST = 10**4000
"""Largest number that the search tries; Python refuses to convert integers with more than 4300 digits to text."""
MOST_PARTS = 1000
"""Largest number of parts of a tuple that is an option of a choice."""
WIDE = 2**62
"""Largest number of integers in a range from which this module draws with NumPy, which is limited to 2^63."""


class End(kernel_ranges.End):
    """An end of a range that a user's function computes from the earlier quantities named by its parameters."""

    def value(self, so_far: Instance, box: Sequence[Any] = ()) -> Any:
        """Return the value of the end; errors of the user's function get a note with the file and the line.

        Raises
        ------
        InvalidArgument
            If the function divides by zero.
        """
        given = {name: so_far[name] for name in self.names}
        try:
            return without_numpy(called(self.function, **given))
        except ZeroDivisionError as error:
            at = ", ".join(f"{name} = {brief(value)}" for name, value in given.items())
            rule = "must have a value wherever the earlier quantities are in their ranges"
            remedy = f"change the end, or the range of {' and '.join(given)}" if given else "change the end"
            value = f"a division by zero{' at ' if at else ''}{at}"
            raised = InvalidArgument("an end of a range", value, rule, remedy)
            for note in getattr(error, "__notes__", ()):
                raised.add_note(note)
            raise raised from error


def end_of(end: EndLike) -> Any:
    """Convert the end of a range as the user writes it: a number, None, or a function of earlier quantities."""
    if not callable(end):
        return without_numpy(end)
    try:
        kinds = {each.kind for each in inspect.signature(end).parameters.values()}
    except ValueError:  # some functions of Python have no signature
        kinds = {inspect.Parameter.POSITIONAL_ONLY}
    if inspect.Parameter.POSITIONAL_ONLY in kinds:
        own, remedy = getattr(end, "__name__", end), "write lambda n: ..., with the names of the quantities"
        raise InvalidArgument(
            "an end of a range", own, "must be a number or a function of quantities", remedy
        )
    return End(parameters_of(end), end)


def without_numpy(value: Any) -> Any:
    """Convert NumPy numbers to Python numbers."""
    if isinstance(value, np.generic):
        return value.item()
    return Fraction(int(value.numerator), int(value.denominator)) if type(value) is Fraction else value


@lru_cache(maxsize=1024)
def parameters_of(end: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters that have no default."""
    parameters = inspect.signature(end).parameters.values()
    return tuple(each.name for each in parameters if each.default is each.empty)


def exactly(number: Any) -> Fraction:
    """Convert a number to a fraction; a float is read as the decimal that Python prints, so 0.1 becomes 1/10."""
    return Fraction(repr(float(number)) if isinstance(number, float) else number)


def within_largest(number: Exact) -> Exact:
    """Clip a number to the interval from ``-LARGEST`` to ``LARGEST``."""
    return min(max(number, type(number)(-LARGEST)), type(number)(LARGEST))


def draw_integer(low: int, high: int, stream: np.random.Generator) -> int | None:
    """Draw an integer of any size with low <= integer <= high; return None if there is none."""
    count = high - low + 1
    if count <= 0:
        return None
    if count <= WIDE:
        return low + int(stream.integers(count))
    surplus = stream.bytes(count.bit_length() // 8 + 9)  # 2^64 times as many: the rest is nearly uniform
    return low + int.from_bytes(surplus, "big") % count


class Range(kernel_ranges.Plain):
    """A range that can draw values.

    A range equals only itself. Otherwise ``choice(True)`` could become the equal ``choice(1)`` of another claim,
    because ``typing.Annotated`` returns one object for equal metadata.
    """

    complete: bool = True
    """Whether ``values`` lists all values of the range."""
    depends_on: Sequence[str] = ()
    """Earlier quantities on which a drawn object depends."""
    drawn: bool = False
    """Whether the values are objects that a function draws; such values cannot be simplified."""

    def values(self, so_far: Instance) -> Sequence[Any] | None:
        """Return all values to try, simple ones first, or None if the range has too many values."""
        return None

    @abstractmethod
    def draw(self, so_far: Instance, stream: np.random.Generator) -> Any:
        """Draw a value; return None if there is none."""

    def passed(self, value: Any, so_far: Instance) -> Any:
        """Convert a value to the argument with which the claim's function is called."""
        return value

    def encode(self, value: Any) -> Any:
        """Convert a value to JSON without loss: 9/10 becomes ``"9/10"``; integers and strings do not change."""
        return numbers.write(value)

    def for_kernel(self, value: Any) -> Any:
        """Convert a value for the kernel; a float becomes the decimal that Python prints."""
        if isinstance(value, tuple):
            return list(map(self.for_kernel, value))
        return numbers.write(exactly(value) if isinstance(value, float) else value)

    def key(self, value: Any) -> Any:
        """Return a key that identifies the value and can be written as JSON."""
        return self.encode(value)


@dataclass(frozen=True, eq=False)
class Interval(kernel_ranges.Interval, Range):
    """Range of numbers, which may be unbounded above or below.

    Attributes
    ----------
    tried
        The two numbers between which the search tries values first. On a bounded side, this number is the end of the
        range.
    """

    tried: tuple[Any, Any]

    def __post_init__(self) -> None:
        end: Any
        for name, end in zip(("low", "high"), self.tried, strict=True):
            if isinstance(end, End):
                continue
            if not isinstance(end, Real):
                raise InvalidArgument(
                    name,
                    end,
                    "must be a number, or a function of earlier quantities",
                    "write 0 or lambda n: n, for example",
                )
            if end in (math.inf, -math.inf) or end != end:
                remedy = "give a number, and upwards=True or downwards=True for an open side"
                raise InvalidArgument(name, end, "must be finite", remedy)
            if self.integers and end % 1 != 0:
                raise InvalidArgument(name, end, "must be an integer", "round it, or use rationals(...)")
        low, high = self.tried
        if not (isinstance(low, End) or isinstance(high, End)) and low > high:
            raise InvalidArgument(
                "low", low, f"must be at most high = {high}", "exchange the two ends, or change one of them"
            )

    @property
    def parts(self) -> tuple[Any, ...]:
        """The two ends of the range, followed by the two numbers between which the search tries values first."""
        return *super().parts, *self.tried

    def ends(self, so_far: Instance, box: Sequence[Any] = ()) -> tuple[Any, Any]:
        """Return the smallest and the largest value, or None for an unbounded side; floats are read as decimals."""
        low, high = (kernel_ranges.value_of(end, so_far, box) for end in (self.low, self.high))
        return _decimal(low), _decimal(high)

    def tried_ends(self, so_far: Instance) -> tuple[Any, Any]:
        """Return the smallest and the largest value that the search tries first."""
        low, high = (kernel_ranges.value_of(end, so_far) for end in self.tried)
        return self.cast(low, up=True), self.cast(high)

    def cast(self, number: Any, *, up: bool = False) -> Any:
        """Convert a number to the type of the range; if rounding is needed, round up or down as ``up`` states."""
        return number


@dataclass(frozen=True, eq=False)
class Integers(Interval):
    """Range of integers."""

    @property
    def complete(self) -> bool:  # type: ignore[override]  # follows from the ends, a constant elsewhere
        """Whether ``values`` lists every value of the range."""
        return self.low is not None and self.high is not None

    def cast(self, number: Any, *, up: bool = False) -> int:
        """Round to an integer."""
        return within_largest(int(math.ceil(number) if up else math.floor(number)))

    def values(self, so_far: Instance) -> Sequence[int] | None:
        """Return the values in order of their distance from zero, or None if there are too many."""
        low, high = self.tried_ends(so_far)
        if high - low >= LISTED or LARGEST in (abs(low), abs(high)):
            return None
        every = range(low, high + 1)
        return every if low >= 0 else sorted(every, key=lambda value: (abs(value), value < 0))

    def draw(self, so_far: Instance, stream: np.random.Generator) -> int | None:
        """Draw an integer; all integers have the same probability."""
        return draw_integer(*self.tried_ends(so_far), stream)


@dataclass(frozen=True, eq=False)
class Rationals(Interval):
    """Range of fractions; ``values`` lists the fractions with denominators up to ``denominator``."""

    denominator: int = 1
    complete = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("denominator", self.denominator, at_least=1, remedy="1 lists the integers")

    def cast(self, number: Any, *, up: bool = False) -> Fraction:
        """Return the number as an exact fraction."""
        return within_largest(exactly(number))

    def values(self, so_far: Instance) -> tuple[Fraction, ...] | None:
        """Return the fractions, sorted by denominator and then by distance from zero."""
        low, high = self.tried_ends(so_far)
        if (high - low) * self.denominator > LISTED or LARGEST in (abs(low), abs(high)):
            return None
        return _fractions(low, high, self.denominator)

    def draw(self, so_far: Instance, stream: np.random.Generator) -> Fraction | None:
        """Draw from the list with probability 1/2; otherwise draw a fraction with a denominator of at most 1000."""
        listed = self.values(so_far)
        if listed and stream.random() < 0.5:
            return listed[int(stream.integers(len(listed)))]
        denominator = int(stream.integers(1, FINEST, endpoint=True))
        low, high = self.tried_ends(so_far)
        numerator = draw_integer(math.ceil(low * denominator), math.floor(high * denominator), stream)
        if numerator is not None:
            return Fraction(numerator, denominator)
        # the range contains no fraction with this denominator
        return (
            low + (high - low) * Fraction(int(stream.integers(FINEST + 1)), FINEST) if low <= high else None
        )


@dataclass(frozen=True, eq=False)
class Reals(Interval):
    """Range of floats. The kernel reads each float as the decimal number that Python prints."""

    complete = False

    @property
    def noun(self) -> str:
        """The noun for one value in descriptions of the range."""
        return "a number"

    def cast(self, number: Any, *, up: bool = False) -> float:
        """Return the nearest float of size at most ``LARGEST_REAL``."""
        return max(-LARGEST_REAL, min(LARGEST_REAL, as_float(number)))

    def ends(self, so_far: Instance, box: Sequence[Any] = ()) -> tuple[Any, Any]:
        """Return the smallest and the largest value, or None for an unbounded side; floats are not changed."""
        return kernel_ranges.value_of(self.low, so_far, box), kernel_ranges.value_of(self.high, so_far, box)

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Return whether the value is a finite number between the ends."""
        low, high = self.ends(so_far)
        return (
            isinstance(value, float)
            and math.isfinite(value)
            and bool((low is None or low <= value) and (high is None or value <= high))
        )

    def encode(self, value: Any) -> float:
        """Return the number as a float, which JSON stores without loss."""
        return float(value)

    def decode(self, code: Any) -> float:
        """Read a number."""
        if type(code) not in (int, float):
            raise TypeError(f"{code!r} is no number")
        return float(code)

    def draw(self, so_far: Instance, stream: np.random.Generator) -> float:
        """Draw a float with the uniform distribution."""
        return float(stream.uniform(*self.tried_ends(so_far)))


@dataclass(frozen=True, eq=False)
class Choice(kernel_ranges.Choice, Range):
    """Range of a few listed values, simple values first."""

    def values(self, so_far: Instance) -> tuple[Any, ...]:
        """Return the values in the order in which they were given."""
        return self.options

    def draw(self, so_far: Instance, stream: np.random.Generator) -> Any:
        """Draw one of the values."""
        return self.options[int(stream.integers(len(self.options)))]


@dataclass(frozen=True, eq=False)
class Drawn(Range):
    """Range of objects that a user's function draws.

    Evidence stores the objects themselves, so a replay does not draw them again.
    """

    make: Callable[..., Any]
    to_json: Callable[[Any], Any]
    from_json: Callable[[Any], Any]
    kind: type | UnionType = field(default=object, kw_only=True)
    complete = False
    drawn = True

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters of ``make`` except the first, the random generator."""
        return parameters_of(self.make)[1:]

    @property
    def depends_on(self) -> Sequence[str]:  # type: ignore[override]  # follows from the maker, a constant elsewhere
        """Earlier quantities on which ``make`` depends."""
        return self.names

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Return whether the object has the annotated type; claims state all further properties with ``suppose``."""
        return isinstance(value, self.kind)

    def describe(self, so_far: Instance) -> str:
        """Describe which objects the range contains."""
        return f"what the constructor of {getattr(self.kind, '__name__', self.kind)} accepts"

    def encode(self, value: Any) -> Any:
        """Convert the object to JSON values."""
        return self.to_json(value)

    def decode(self, code: Any) -> Any:
        """Build the object from JSON values."""
        return self.from_json(code)

    def draw(self, so_far: Instance, stream: np.random.Generator) -> Any:
        """Draw one object."""
        return called(self.make, stream, **{name: so_far[name] for name in self.names})


def integers(low: EndLike, high: EndLike, *, upwards: bool = False, downwards: bool = False) -> Any:
    """Return the range of integers from ``low`` to ``high``.

    Parameters
    ----------
    low, high
        Numbers, or functions of earlier quantities, such as ``lambda steps: steps - 1``.
    upwards, downwards
        Whether the claim also covers all larger (or all smaller) integers. The search then tries integers up to 1000
        times as large.
    """
    tried = end_of(low), end_of(high)
    return Integers(*_ends(tried, upwards, downwards), True, tried)


def rationals(
    low: EndLike, high: EndLike, denominator: int, *, upwards: bool = False, downwards: bool = False
) -> Any:
    """Return the range of fractions from ``low`` to ``high``; the search prefers denominators up to ``denominator``.

    The other parameters are as in ``integers``.
    """
    tried = end_of(low), end_of(high)
    return Rationals(*_ends(tried, upwards, downwards), False, tried, denominator)


def reals(low: EndLike, high: EndLike, *, upwards: bool = False, downwards: bool = False) -> Any:
    """Return the range of floats from ``low`` to ``high``; prefer ``rationals`` if the two sides can be exact.

    The parameters are as in ``integers``.
    """
    tried = end_of(low), end_of(high)
    return Reals(*_ends(tried, upwards, downwards), False, tried)


def _decimal(end: Any) -> Any:
    """Convert the end of a range of exact numbers; a float is read as the decimal that Python prints."""
    return exactly(end) if isinstance(end, float) else end


def _ends(tried: tuple[Any, Any], upwards: bool, downwards: bool) -> tuple[Any, Any]:
    """Return the ends of the range, with None for an unbounded side."""
    given = [end for end in tried if isinstance(end, int | Fraction)]
    if any(end.denominator >= LARGEST or ((upwards or downwards) and _is_long(end)) for end in given):
        rule, remedy = "must not have more than 4000 digits", "choose shorter numbers"
        raise InvalidArgument("an end of a range", "a longer number", rule, remedy)
    return None if downwards else tried[0], None if upwards else tried[1]


def choice(*values: Any) -> Choice:
    """Return the range of the given values, which are numbers, strings or booleans. List simple values first.

    Raises
    ------
    InvalidArgument
        If no value is given, or a value is given twice.
    """
    parts = [part for value in values for part in _parts_of(value)]
    if unlike := [
        each for each in parts if not isinstance(each, int | float | Fraction | np.integer | str | None)
    ]:
        raise InvalidArgument(
            "values", unlike[0], "must be a number, a string or a tuple", "write choice(*values) for a list"
        )
    if any(map(_is_long, parts)):
        rule, remedy = "must not have numbers of more than 4000 digits", "choose shorter numbers"
        raise InvalidArgument("values", "a longer number", rule, remedy)
    if not values or len({(type(value), value) for value in values}) < len(values):
        raise InvalidArgument(
            "values", values, "must be one or more distinct values", "leave out repeated values"
        )
    check_text("values", *(each for each in values if isinstance(each, str)))
    if wrong := [each for each in values if has_numpy_integers(each)]:
        rule = "must not be NumPy's integers, which wrap around"
        raise InvalidArgument("values", wrong[0], rule, "write int(...)")
    return Choice(values)


def _parts_of(value: Any) -> Iterator[Any]:
    """Yield the numbers and strings of a tuple and of the tuples in it, or the value itself.

    Counting comes first: tuples that share their parts can have more parts than a computer can visit.
    """
    waiting, count = [value], 0
    while waiting:
        part = waiting.pop()
        count += 1
        if not isinstance(part, tuple):
            yield part
        elif count + len(waiting) + len(part) > MOST_PARTS:
            rule = f"must have at most {MOST_PARTS} numbers and strings, including those of its inner tuples"
            raise InvalidArgument("values", "a longer tuple", rule, "choose shorter tuples")
        else:
            waiting += reversed(part)


def _is_long(value: Any) -> bool:
    """Return whether a value is an integer or fraction that Python does not print."""
    parts = (value.numerator, value.denominator) if isinstance(value, int | Fraction) else ()
    return any(abs(part) >= LARGEST for part in parts)


def settings_of(task: Any) -> dict[str, Any]:
    """Return the settings of a task, from which it can be built again."""
    if not hasattr(task, "settings"):
        remedy = "write drawn(make, write=..., read=...) with functions that convert an object to JSON values and back"
        raise InvalidArgument("make", task, "must draw tasks if write and read are not given", remedy)
    return dict(task.settings)


def drawn(
    make: Callable[..., Any],
    *,
    write: Callable[[Any], Any] = settings_of,
    read: Callable[[Any], Any] = task_from,
) -> Drawn:
    """Return the range of all objects that ``make`` draws; without ``write`` and ``read``, the objects must be tasks.

    Parameters
    ----------
    make
        Function that draws an object. Its first parameter is a random generator; all other parameters are named after
        earlier quantities.
    write, read
        Functions that convert an object to JSON values without loss, and back.
    """
    return Drawn(make, write, read)


def example_of(strategy: SearchStrategy[T], stream: np.random.Generator) -> T:
    """Draw one example from a Hypothesis strategy; the state of the generator determines the example."""
    from hypothesis import HealthCheck, Phase, given, seed, settings

    examples: list[T] = []

    @seed(int(stream.integers(2**32)))
    @settings(
        max_examples=2,  # the first example is the simplest one, so take the second
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: T) -> None:
        examples.append(example)

    collect()
    return examples[-1]


@lru_cache(maxsize=512)
def _fractions(low: Fraction, high: Fraction, denominator: int) -> tuple[Fraction, ...]:
    return tuple(
        Fraction(p, q)
        for q in range(1, denominator + 1)
        for p in sorted(range(math.ceil(low * q), math.floor(high * q) + 1), key=lambda p: (abs(p), p < 0))
        if math.gcd(p, q) == 1
    )
