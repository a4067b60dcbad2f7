"""Ranges of single quantities: listed, searched, drawn, written down and read back.

A range has two extents. What is *tried* is finite or bounded; what the statement *speaks of* may be
more, such as larger integers (``upwards``) and fractions of any denominator: a replay accepts those.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checker.range_ends import Earlier, End, Instance, value_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

SORTED = 100_000
"""Longest range of integers of both signs that is put in order, and longest grid of fractions that is listed."""


class Range(ABC):
    """What one quantity may be. ``so_far`` holds the quantities before it, which its ends may name.

    Ranges are equal only to themselves: ``typing.Annotated`` hands out one object for equal metadata, so that
    ``choice(True)`` would become another claim's ``choice(1)``.
    """

    complete: bool = True
    """Whether the listed values are all that the statement speaks of."""
    listed: bool = True
    """Whether the values that are tried are a list."""
    sampled: bool = False
    """Whether values are drawn from a generator, without a search or a simplest one."""

    def values(self, so_far: Instance) -> Sequence[Any]:
        """All values that are tried, simple ones first; none where they are not ``listed``."""
        return ()

    @abstractmethod
    def holds(self, value: Any, so_far: Instance) -> bool:
        """Whether the statement speaks of a value."""

    @abstractmethod
    def describe(self) -> str:
        """What a value must be, for a refusal."""

    def encode(self, value: Any) -> Any:
        """Write a value so that JSON keeps it exactly: 9/10 as ``"9/10"``, other numbers and names as they are."""
        return encode_number(value)

    @abstractmethod
    def decode(self, code: Any) -> Any:
        """Read what ``encode`` wrote; ValueError or TypeError where it is none."""

    def at_least(self) -> int:
        """Number of values that are tried, or less of them; 1 where that depends on earlier quantities."""
        return len(self.values({}))

    def strategy(self, so_far: Instance) -> SearchStrategy[Any]:
        """Give a hypothesis strategy of the values."""
        from hypothesis import strategies as st

        values = self.values(so_far)
        return st.sampled_from(values) if values else st.nothing()

    def draw(self, so_far: Instance, stream: np.random.Generator) -> Any:
        """Draw a value without a search; None stands for an empty list."""
        values = self.values(so_far)
        return values[int(stream.integers(len(values)))] if values else None

    def bounds(self, so_far: Instance) -> tuple[Any, Any] | None:
        """Smallest and largest number (None: there is none), for a proof; None where it is not an interval."""
        return None


@dataclass(frozen=True, eq=False)
class Interval(Range):
    """Numbers from ``low`` to ``high``; the statement speaks of larger ones too where ``upwards``."""

    low: End
    high: End
    upwards: bool = False
    downwards: bool = False
    noun: ClassVar[str] = "a number"

    def bounds(self, so_far: Instance) -> tuple[Any, Any]:
        """Least and largest value that the statement speaks of, None for none."""
        low = None if self.downwards else value_of(self.low, so_far)
        return low, None if self.upwards else value_of(self.high, so_far)

    def within(self, value: Any, so_far: Instance) -> bool:
        """Whether a number lies between the ends."""
        low, high = self.bounds(so_far)
        return bool((low is None or low <= value) and (high is None or value <= high))

    def multiples(self, denominator: int, so_far: Instance) -> range:
        """Whole numbers that give values when divided by a denominator."""
        low, high = value_of(self.low, so_far), value_of(self.high, so_far)
        return range(math.ceil(low * denominator), math.floor(high * denominator) + 1)

    def at_least(self) -> int:
        """Those with one denominator."""
        if isinstance(self.low, Earlier) or isinstance(self.high, Earlier):
            return 1
        return len(self.multiples(getattr(self, "denominator", 1), {}))

    def describe(self) -> str:
        """Write the ends."""
        ends = f"{'' if self.downwards else self.low} .. {'' if self.upwards else self.high}"
        return f"{self.noun} in {ends.strip()}"


@dataclass(frozen=True, eq=False)
class Integers(Interval):
    """Whole numbers."""

    noun = "a whole number"

    @property
    def complete(self) -> bool:  # type: ignore[override]  # follows from the ends, a constant elsewhere
        """Whether none lies beyond what is tried."""
        return not (self.upwards or self.downwards)

    def values(self, so_far: Instance) -> Sequence[int]:
        """Those nearest to zero first, in ranges that are not too long to be sorted."""
        every = self.multiples(1, so_far)
        if every.start >= 0 or len(every) > SORTED:
            return every
        return sorted(every, key=lambda value: (abs(value), value < 0))

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Whether it is an integer between the ends."""
        return type(value) is int and self.within(value, so_far)

    def decode(self, code: Any) -> int:
        """Read an integer, and nothing that only looks like one."""
        if type(code) is not int:
            raise TypeError(f"{code!r} is no whole number")
        return code


@dataclass(frozen=True, eq=False)
class Rationals(Interval):
    """Fractions; those with denominators up to ``denominator`` are tried."""

    denominator: int = 1
    noun = "a fraction"
    complete = False

    def values(self, so_far: Instance) -> tuple[Fraction, ...]:
        """Small denominators first, then those nearest to zero."""
        return _fractions(
            Fraction(value_of(self.low, so_far)), Fraction(value_of(self.high, so_far)), self.denominator
        )

    def strategy(self, so_far: Instance) -> SearchStrategy[Any]:
        """Sample from the list, unless it were too long to be written."""
        from hypothesis import strategies as st

        low, high = Fraction(value_of(self.low, so_far)), Fraction(value_of(self.high, so_far))
        if len(self.multiples(self.denominator, so_far)) <= SORTED:
            return _sampled(low, high, self.denominator)
        return st.fractions(low, high, max_denominator=self.denominator)

    def draw(self, so_far: Instance, stream: np.random.Generator) -> Any:
        """Draw from the list, unless it were too long to be written: then one of the finest grid."""
        every = self.multiples(self.denominator, so_far)
        if len(every) <= SORTED:
            return super().draw(so_far, stream)
        return Fraction(every[int(stream.integers(len(every)))], self.denominator)

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Whether it is a fraction between the ends."""
        return isinstance(value, Fraction) and self.within(value, so_far)

    def decode(self, code: Any) -> Fraction:
        """Read an integer or a fraction; a floating number is none."""
        if type(code) is int or (isinstance(code, str) and re.fullmatch(r"-?\d+(/\d+)?", code)):
            return Fraction(code)
        raise TypeError(f"{code!r} is no fraction")


@dataclass(frozen=True, eq=False)
class Reals(Interval):
    """Floating numbers."""

    complete = False
    listed = False

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Whether it is a finite number between the ends."""
        return isinstance(value, float) and math.isfinite(value) and self.within(value, so_far)

    def encode(self, value: Any) -> float:
        """Write the number itself: JSON keeps every digit."""
        return float(value)

    def decode(self, code: Any) -> float:
        """Read a number."""
        if type(code) not in (int, float):
            raise TypeError(f"{code!r} is no number")
        return float(code)

    def strategy(self, so_far: Instance) -> SearchStrategy[float]:
        """Floating numbers between the ends, round ones first."""
        from hypothesis import strategies as st

        return st.floats(float(value_of(self.low, so_far)), float(value_of(self.high, so_far)))

    def draw(self, so_far: Instance, stream: np.random.Generator) -> float:
        """Draw uniformly."""
        return float(stream.uniform(float(value_of(self.low, so_far)), float(value_of(self.high, so_far))))


@dataclass(frozen=True, eq=False)
class Choice(Range):
    """One of a few values."""

    options: tuple[Any, ...]

    def values(self, so_far: Instance) -> tuple[Any, ...]:
        """In the order in which they were given."""
        return self.options

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Whether it is one of them."""
        return any(type(value) is type(one) and value == one for one in self.options)

    def describe(self) -> str:
        """List them."""
        return f"one of {', '.join(str(value) for value in self.options)}"

    def decode(self, code: Any) -> Any:
        """Find the value that is written so."""
        for value in self.options:
            if isinstance(code, bool) == isinstance(value, bool) and self.encode(value) == code:
                return value
        raise ValueError(f"{code!r} is not listed")


def integers(low: End, high: End, *, upwards: bool = False, downwards: bool = False) -> Integers:
    """Whole numbers from ``low`` to ``high``.

    Parameters
    ----------
    low, high
        Numbers, or ``earlier("name")`` for a quantity that stands before.
    upwards, downwards
        Whether the statement speaks of larger, or smaller, ones too, which are not tried.
    """
    return Integers(low, high, upwards, downwards)


def rationals(
    low: End, high: End, denominator: int, *, upwards: bool = False, downwards: bool = False
) -> Rationals:
    """Fractions from ``low`` to ``high``; those with denominators up to ``denominator`` are tried.

    Parameters are those of ``integers``.
    """
    return Rationals(low, high, upwards, downwards, denominator)


def reals(low: End, high: End, *, upwards: bool = False, downwards: bool = False) -> Reals:
    """Floating numbers from ``low`` to ``high``; prefer ``rationals`` where the sides can be exact.

    Parameters are those of ``integers``.
    """
    return Reals(low, high, upwards, downwards)


def choice(*values: Any) -> Choice:
    """One of the values, simple ones first: numbers, fractions, strings or booleans.

    Raises
    ------
    InvalidArgument
        If there is none, or one of them twice.
    """
    if not values or len({(type(value), value) for value in values}) < len(values):
        raise InvalidArgument("values", values, "must be distinct, at least one", "leave doubles out")
    return Choice(values)


def encode_number(value: Any) -> Any:
    """Write a fraction so that JSON keeps it: ``"9/10"``, or the integer that it is."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
    return value


@lru_cache(maxsize=512)
def _fractions(low: Fraction, high: Fraction, denominator: int) -> tuple[Fraction, ...]:
    return tuple(
        Fraction(p, q)
        for q in range(1, denominator + 1)
        for p in sorted(range(math.ceil(low * q), math.floor(high * q) + 1), key=lambda p: (abs(p), p < 0))
        if math.gcd(p, q) == 1
    )


@lru_cache(maxsize=512)
def _sampled(low: Fraction, high: Fraction, denominator: int) -> SearchStrategy[Fraction]:
    """Strategy of those fractions, made once: hypothesis hashes all of them to name a strategy."""
    from hypothesis import strategies as st

    values = _fractions(low, high, denominator)
    return st.sampled_from(values) if values else st.nothing()
