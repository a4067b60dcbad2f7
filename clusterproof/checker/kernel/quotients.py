"""Rational functions of symbols: what a function of the language is where its quantities are not numbers.

A quotient is never reduced, and every divisor is kept in the record of the evaluation: who says something of the
quotient must show first that none of them is zero anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

from clusterproof.checker.kernel.evaluation import Refused, running, spend
from clusterproof.checker.kernel.numbers import Abstract, number
from clusterproof.checker.kernel.polynomials import BITS, Polynomial, constant, plus, raised, times


@dataclass(frozen=True, eq=False)
class Quotient(Abstract):
    """top / bottom."""

    top: Polynomial
    bottom: Polynomial
    width: int

    @classmethod
    def symbol(cls, place: int, width: int) -> Quotient:
        """Return the symbol at a place."""
        if not 0 <= place < width:
            raise Refused("no symbol has this place")
        spend(1 + width)
        return cls(Polynomial({1 << BITS * place: 1}, 1, width), constant(1, width), width)

    def lifted(self, other: Any) -> Quotient:
        """Return a number as a quotient, and a quotient as it is."""
        if type(other) is Quotient:
            return other
        return Quotient(constant(number(other), self.width), constant(1, self.width), self.width)

    def __add__(self, other: Any) -> Quotient:
        other = self.lifted(other)
        if other.bottom == self.bottom:
            return Quotient(plus(self.top, other.top), self.bottom, self.width)
        top = plus(times(self.top, other.bottom), times(other.top, self.bottom))
        return Quotient(top, times(self.bottom, other.bottom), self.width)

    __radd__ = __add__

    def __neg__(self) -> Quotient:
        return Quotient(-self.top, self.bottom, self.width)

    def __sub__(self, other: Any) -> Quotient:
        return self + -self.lifted(other)

    def __rsub__(self, other: Any) -> Quotient:
        return self.lifted(other) - self

    def __mul__(self, other: Any) -> Quotient:
        other = self.lifted(other)
        return Quotient(times(self.top, other.top), times(self.bottom, other.bottom), self.width)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Quotient:
        other = self.lifted(other)
        if not other.top:
            raise Refused("division by zero")
        running().add(divisors=(other,))
        return Quotient(times(self.top, other.bottom), times(self.bottom, other.top), self.width)

    def __rtruediv__(self, other: Any) -> Quotient:
        return self.lifted(other) / self

    def __pow__(self, n: int) -> Quotient:
        if n < 0:
            return 1 / self**-n
        if n > 1000:
            raise Refused(f"the power {n} of a symbol is too large")
        top, bottom = (raised(each, n, self.width) for each in (self.top, self.bottom))
        return Quotient(top, bottom, self.width)

    def __matmul__(self, other: Any) -> NoReturn:
        raise Refused("@ is the inner product of points, not of numbers")

    def __le__(self, other: Any) -> Fact:
        return Fact(self.lifted(other) - self)

    def __ge__(self, other: Any) -> Fact:
        return Fact(self - other)

    def __lt__(self, other: Any) -> Fact:
        return Fact(self.lifted(other) - self, strict=True)

    def __gt__(self, other: Any) -> Fact:
        return Fact(self - other, strict=True)

    def __abs__(self) -> Quotient:
        return self if self >= 0 else -self

    def is_whole(self) -> bool:
        """Return whether it is made of symbols for integers by +, - and *."""
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
        """Return the fact that it is 0."""
        return Fact(self, equation=True)


@dataclass(frozen=True, eq=False)
class Fact(Abstract):
    """That something is at least 0, more than 0 if ``strict``, or 0 if ``equation``.

    It is supposed; where both branches are followed it is decided.
    """

    slack: Any
    strict: bool = False
    equation: bool = False

    def __bool__(self) -> bool:
        if hasattr(self.slack, "decide"):
            return bool(self.slack.decide(strict=self.strict, equation=self.equation))
        if type(self.slack) is not Quotient or self.equation:
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
    """As many numbers between two ends as a symbol says: only ``iterate`` takes them, one a round."""

    low: Any
    high: Any
    length: Any
