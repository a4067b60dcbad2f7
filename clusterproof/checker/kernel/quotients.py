"""Rational functions of symbols. A function of the language returns one if it is called with symbols.

A quotient is never reduced. An evaluation records every divisor, and a proof must first show that no divisor can be
zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from clusterproof.checker.kernel.evaluation import Refused, running, spend
from clusterproof.checker.kernel.numbers import Abstract, number
from clusterproof.checker.kernel.polynomials import BITS, Polynomial, constant, divided, plus, raised, times


def _of_symbols(operation: Callable[[Quotient, Quotient], Any]) -> Callable[..., Any]:
    """Wrap an operation on quotients, so that the right operand may also be a number."""

    def apply(self: Quotient, other: Any) -> Any:
        return NotImplemented if hasattr(other, "terms") else operation(self, self.lifted(other))

    return apply


@dataclass(frozen=True, eq=False)
class Quotient(Abstract):
    """The quotient top / bottom of two polynomials."""

    top: Polynomial
    bottom: Polynomial
    width: int

    @classmethod
    def symbol(cls, place: int, width: int) -> Quotient:
        """Return the symbol with the given index."""
        if not 0 <= place < width:
            raise Refused("no symbol has this place")
        spend(1 + width)
        return cls(Polynomial({1 << BITS * place: 1}, 1, width), constant(1, width), width)

    def lifted(self, other: Any) -> Quotient:
        """Convert a number to a quotient; return a quotient unchanged."""
        if type(other) is Quotient:
            return other
        return Quotient(constant(number(other), self.width), constant(1, self.width), self.width)

    @_of_symbols
    def __add__(self, other: Quotient) -> Quotient:
        spend(len(self.bottom) >> 3)
        if other.bottom == self.bottom:
            return Quotient(plus(self.top, other.top), self.bottom, self.width)
        top = plus(times(self.top, other.bottom), times(other.top, self.bottom))
        return Quotient(top, times(self.bottom, other.bottom), self.width)

    __radd__ = __add__

    def __neg__(self) -> Quotient:
        return Quotient(-self.top, self.bottom, self.width)

    @_of_symbols
    def __sub__(self, other: Quotient) -> Quotient:
        difference: Quotient = self + -other
        return difference

    def __rsub__(self, other: Any) -> Quotient:
        difference: Quotient = self.lifted(other) - self
        return difference

    @_of_symbols
    def __mul__(self, other: Quotient) -> Quotient:
        return Quotient(times(self.top, other.top), times(self.bottom, other.bottom), self.width)

    __rmul__ = __mul__

    @_of_symbols
    def __truediv__(self, other: Quotient) -> Quotient:
        if not other.top:
            raise Refused("division by zero")
        running().use(divisor=other)
        return Quotient(times(self.top, other.bottom), times(self.bottom, other.top), self.width)

    def __rtruediv__(self, other: Any) -> Quotient:
        ratio: Quotient = self.lifted(other) / self
        return ratio

    def __pow__(self, n: int) -> Quotient:
        if n < 0:
            return (self**-n).__rtruediv__(1)
        if n > 1000:
            raise Refused(f"the power {n} of a symbol is too large")
        top, bottom = (raised(each, n, self.width) for each in (self.top, self.bottom))
        return Quotient(top, bottom, self.width)

    def __matmul__(self, other: Any) -> NoReturn:
        raise Refused("@ is the inner product of points, not of numbers")

    @_of_symbols
    def __le__(self, other: Quotient) -> Fact:
        return Fact(other - self)

    @_of_symbols
    def __ge__(self, other: Quotient) -> Fact:
        return Fact(self - other)

    @_of_symbols
    def __lt__(self, other: Quotient) -> Fact:
        return Fact(other - self, strict=True)

    @_of_symbols
    def __gt__(self, other: Quotient) -> Fact:
        return Fact(self - other, strict=True)

    def __abs__(self) -> Quotient:
        return self if self >= 0 else -self

    def is_whole(self) -> bool:
        """Return whether the quotient is a combination of integer symbols by +, - and *."""
        whole = self.bottom == constant(1, self.width) and self.top.denominator == 1
        return whole and self.top.places <= running().now.integers

    def __floordiv__(self, divisor: Any) -> Quotient:
        if type(divisor) is not int or divisor < 1 or not self.is_whole():
            raise Refused("// of a symbol is of integers, by a positive number")
        record = running()
        found: Quotient = record.fresh()
        facts = found * divisor <= self, self <= found * divisor + (divisor - 1)
        record.add(facts=facts)
        record.now = replace(record.now, integers=record.now.integers | {next(iter(found.top)).index(1)})
        return found

    def is_zero(self) -> Fact:
        """Return the statement that the quotient is 0, as a ``Fact``."""
        return Fact(self, equation=True)


def joined(left: Any, right: Any) -> Any:
    """Add two coefficients; use only one denominator if it is a multiple of the other denominator."""
    if type(left) is Quotient and type(right) is Quotient and left.bottom != right.bottom:
        if (ratio := divided(right.bottom, left.bottom)) is not None:
            return Quotient(plus(times(left.top, ratio), right.top), right.bottom, left.width)
        if (ratio := divided(left.bottom, right.bottom)) is not None:
            return Quotient(plus(left.top, times(right.top, ratio)), left.bottom, left.width)
    return left + right


def is_zero(coefficient: Any) -> bool:
    """Return whether a coefficient (a number or a quotient) is 0 for all values of the symbols."""
    return not (coefficient.top if type(coefficient) is Quotient else coefficient)


@dataclass(frozen=True, eq=False)
class Fact(Abstract):
    """The statement that a number is >= 0, or > 0 if ``strict``, or = 0 if ``equation``.

    A fact is a hypothesis, or a branch condition on one path.
    """

    slack: Any
    strict: bool = False
    equation: bool = False

    def __bool__(self) -> bool:
        if hasattr(self.slack, "decide"):
            decided: bool | None = self.slack.decide(strict=self.strict, equation=self.equation)
            if decided is not None:
                return decided
        elif type(self.slack) is not Quotient or self.equation:
            raise Refused("whether symbols are equal is not branched on")
        record = running()
        known = [decided is self for asked, decided in record.now.path if asked is self]
        if known:
            return known[0]
        holds = record.decide()
        record.add(path=((self, self if holds else Fact(-self.slack, strict=not self.strict)),))
        return holds


@dataclass(frozen=True, eq=False)
class Many(Abstract):
    """A tuple of numbers between two ends whose length is a symbol; ``iterate`` uses one number per round."""

    low: Any
    high: Any
    length: Any
