"""Interval arithmetic for real numbers. A comparison returns a result only if the intervals determine it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import numpy as np

MOST_BITS = 8192
"""A fraction with more bits than this is replaced by an interval."""
ALL_DIGITS = 15
"""A decimal with at least this many digits represents all numbers within one unit of its last digit."""


class Undecided(BaseException):
    """Raised if the current precision does not decide a comparison.

    The class is not an ``Exception``, so that a user's code cannot catch it by accident.
    """


class NoValue(BaseException):
    """Raised for a number or function without an exact or interval value.

    The class is not an ``Exception``, so that a user's code cannot catch it by accident.
    """


class Interval:
    """A real number, represented by an interval of ``flint.arb`` that contains it.

    Integers and fractions are not converted to intervals. An interval is not a float: code that reads the digits of a
    float raises an exception if it receives an interval.
    """

    __slots__ = ("ball",)
    __hash__ = None  # type: ignore[assignment]  # equal numbers may have other intervals

    def __init__(self, ball: Any) -> None:
        self.ball = ball

    def __pow__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return power(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else math.floor(self / other)

    def __rfloordiv__(self, other: Any) -> Any:
        return math.floor(other / self)

    def __mod__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self - other * (self // other)

    def __rmod__(self, other: Any) -> Any:
        return other - self * (other // self)

    def __neg__(self) -> Interval:
        return Interval(-self.ball)

    def __pos__(self) -> Interval:
        return self

    def __abs__(self) -> Interval:
        return Interval(abs(self.ball))

    def __bool__(self) -> bool:
        return bool(operator.ne(self, 0))

    def __floor__(self) -> int:
        return self._whole(self.ball.floor())

    def __ceil__(self) -> int:
        return self._whole(self.ball.ceil())

    def __trunc__(self) -> int:
        if self.ball >= 0:
            return math.floor(self)
        return math.ceil(self) if self.ball < 0 else self._whole(self.ball - self.ball)

    def __round__(self, digits: int | None = None) -> Any:
        scale = Fraction(10) ** (digits or 0)
        nearest = math.floor(Interval(self.ball * ball_of(scale) + ball_of(Fraction(1, 2))))
        return nearest if digits is None else nearest / scale

    def _whole(self, found: Any) -> int:
        number = found.unique_fmpz()
        if number is None:
            raise Undecided("the whole part of a number")
        return int(number)

    def __float__(self) -> float:
        raise NoValue("the conversion of a number to digits")

    def __format__(self, _words: str) -> str:
        raise NoValue("a text of a number's digits")

    def __str__(self) -> str:
        raise NoValue("a text of a number's digits")

    def __repr__(self) -> str:
        return f"Interval({self.ball})"


def _add_operator(name: str, function: Callable[[Any, Any], Any]) -> None:
    def apply(self: Interval, other: Any) -> Any:
        return (
            NotImplemented if isinstance(other, np.ndarray) else Interval(function(self.ball, ball_of(other)))
        )

    def reflected(self: Interval, other: Any) -> Any:
        return Interval(function(ball_of(other), self.ball))

    setattr(Interval, f"__{name}__", apply)
    setattr(Interval, f"__r{name}__", reflected)


def _add_comparison(
    name: str, if_less: bool, if_greater: bool, sure: Callable[[Any, Any], bool | None]
) -> None:
    """Add a comparison to ``Interval``.

    ``if_less`` and ``if_greater`` are the results if the first number is certainly smaller or larger. Otherwise
    ``sure`` returns the result, or None if the comparison is undecided.
    """

    def compare(self: Interval, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if other is None or isinstance(other, str | tuple | list):
            return NotImplemented
        left, right = self.ball, ball_of(other)
        if left < right:
            return if_less
        if left > right:
            return if_greater
        found = sure(left, right)
        if found is None:
            raise Undecided("a comparison")
        return found

    setattr(Interval, name, compare)


for _name in ("add", "sub", "mul", "truediv"):
    _add_operator(_name, getattr(operator, _name))
_add_comparison("__lt__", True, False, lambda a, b: False if a >= b else None)
_add_comparison("__le__", True, False, lambda a, b: True if a <= b else None)
_add_comparison("__gt__", False, True, lambda a, b: False if a <= b else None)
_add_comparison("__ge__", False, True, lambda a, b: True if a >= b else None)
_add_comparison("__eq__", False, False, lambda a, b: None)
_add_comparison("__ne__", True, True, lambda a, b: None)


# ---- other numbers


def ball_of(value: Any) -> Any:
    """Convert a number to an interval.

    Raises
    ------
    NoValue
        If the value is not a number, or is a finite float, that is, a rounded result of other code.
    """
    if type(value) is Interval:
        return value.ball
    if type(value) is Fraction:
        return flint.arb(flint.fmpq(int(value.numerator), int(value.denominator)))
    if isinstance(value, int | np.integer | np.bool_):
        return flint.arb(int(value))
    if isinstance(value, float) and math.isinf(value):
        return flint.arb.pos_inf() if value > 0 else flint.arb.neg_inf()
    raise NoValue(
        "a float that was computed elsewhere" if isinstance(value, float) else f"a {type(value).__name__}"
    )


def shortened(value: Any) -> Any:
    """Replace a fraction with too many bits by an interval; return all other numbers unchanged."""
    if type(value) is Fraction and value.numerator.bit_length() + value.denominator.bit_length() > MOST_BITS:
        return Interval(ball_of(value))
    return value


def decimal(text: str) -> Any:
    """Convert a decimal to a fraction or, if it has many digits, to the interval of all numbers that round to it."""
    value = Fraction(text)
    digits = text.lower().partition("e")[0].replace(".", "").lstrip("-0")
    if len(digits.rstrip("0")) < ALL_DIGITS:
        return value
    last = Fraction(10) ** (math.floor(math.log10(abs(value))) - len(digits) + 1)
    return Interval(ball_of(value - last).union(ball_of(value + last)))


def power(base: Any, exponent: Any) -> Any:
    """Return a power, as a fraction if the base is a fraction and the result has few bits."""
    if type(exponent) is Fraction and exponent.denominator == 1:
        exponent = int(exponent)
    if isinstance(exponent, int):
        if type(base) is Interval:
            return Interval(base.ball ** flint.fmpz(exponent))
        bits = Fraction(base).numerator.bit_length() + Fraction(base).denominator.bit_length()
        if bits * abs(exponent) <= MOST_BITS or (exponent >= 0 and isinstance(base, int)):
            return base**exponent if exponent >= 0 else Fraction(base) ** exponent
        return Interval(ball_of(base) ** flint.fmpz(exponent))
    if exponent == Fraction(1, 2):
        return root(base)
    return Interval(ball_of(base) ** ball_of(exponent))


def root(value: Any) -> Any:
    """Return the square root, as a fraction if it is rational."""
    if type(value) is not Interval:
        ball_of(value)
        exact = Fraction(value)
        if exact < 0:
            raise ValueError("math domain error")
        top, bottom = math.isqrt(exact.numerator), math.isqrt(exact.denominator)
        if top * top == exact.numerator and bottom * bottom == exact.denominator:
            return Fraction(top, bottom)
    return Interval(ball_of(value).sqrt())


def larger(first: Any, second: Any) -> Any:
    """Return the larger number; if the comparison is undecided, return an interval that contains it."""
    return _extreme(first, second, operator.ge, "max")


def smaller(first: Any, second: Any) -> Any:
    """Return the smaller number; if the comparison is undecided, return an interval that contains it."""
    return _extreme(first, second, operator.le, "min")


def _extreme(first: Any, second: Any, rule: Callable[[Any, Any], bool], name: str) -> Any:
    try:
        return first if rule(first, second) else second
    except Undecided:
        return Interval(getattr(ball_of(first), name)(ball_of(second)))
