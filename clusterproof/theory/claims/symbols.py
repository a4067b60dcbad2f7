"""Exact rational functions of named quantities: a statement that is evaluated on them is a formula.

Our own hundred lines, because what a claim's verdict is may not depend on an installed extra:
python-flint, which has such polynomials too, is 27 MB of compiled code that the core does without
(the tests compare with it).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

Powers = tuple[int, ...]
Terms = Mapping[Powers, Fraction]


_REFUSED: ContextVar[list[str] | None] = ContextVar("what symbols refused", default=None)
_LEFT: ContextVar[list[int] | None] = ContextVar("terms that are left", default=None)


@contextmanager
def recording_refusals() -> Iterator[list[str]]:
    """Collect what symbols refuse to do, whatever the function catches."""
    found: list[str] = []
    token = _REFUSED.set(found)
    try:
        yield found
    finally:
        _REFUSED.reset(token)


@contextmanager
def limiting_terms(most: int) -> Iterator[None]:
    """Refuse to add and multiply polynomials, with a TypeError, after a number of sums and products of terms."""
    token = _LEFT.set([most])
    try:
        yield
    finally:
        _LEFT.reset(token)


def _count(terms: int) -> None:
    if (left := _LEFT.get()) is not None:
        left[0] -= terms
        if left[0] < 0:
            _refuse("the formula is too long")


def _refuse(message: str) -> NoReturn:
    if (refused := _REFUSED.get()) is not None:
        refused.append(message)
    raise TypeError(message)


@dataclass(frozen=True)
class Polynomial:
    """Polynomial with rational coefficients; the zero polynomial has no terms.

    Attributes
    ----------
    terms
        Coefficient, not zero, for the powers of each variable.
    """

    terms: Terms

    def __add__(self, other: Polynomial) -> Polynomial:
        _count(len(self.terms) + len(other.terms))
        total = dict(self.terms)
        for powers, coefficient in other.terms.items():
            total[powers] = total.get(powers, Fraction(0)) + coefficient
        return Polynomial({powers: value for powers, value in total.items() if value})

    def __neg__(self) -> Polynomial:
        return Polynomial({powers: -value for powers, value in self.terms.items()})

    def __mul__(self, other: Polynomial) -> Polynomial:
        _count(len(self.terms) * len(other.terms) * (self.size + other.size))
        total: dict[Powers, Fraction] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                powers = tuple(p + q for p, q in zip(left, right, strict=True))
                total[powers] = total.get(powers, Fraction(0)) + a * b
        return Polynomial({powers: value for powers, value in total.items() if value})

    def __pow__(self, power: int) -> Polynomial:
        count = len(next(iter(self.terms), ()))
        result = Polynomial({(0,) * count: Fraction(1)})
        for _ in range(power):
            result = result * self
        return result

    @property
    def size(self) -> int:
        """How long its coefficients are, in words of some hundred digits, by one of them."""
        first = next(iter(self.terms.values()), Fraction(0))
        return 1 + (first.numerator.bit_length() + first.denominator.bit_length()) // 256

    def at(self, values: Sequence[Any]) -> Any:
        """Value at exact numbers, one for each variable."""
        return sum(
            coefficient
            * math.prod(value**power for value, power in zip(values, powers, strict=True) if power)
            for powers, coefficient in self.terms.items()
        )

    def degree(self, variable: int) -> int:
        """Largest power of a variable."""
        return max((powers[variable] for powers in self.terms), default=0)


@dataclass(frozen=True)
class Condition:
    """A comparison of symbols: a hypothesis that a proof does without. It is neither true nor false.

    Attributes
    ----------
    excess
        What the condition does not let be positive; None for an equation.
    strict
        Whether it does not let it be 0 either.
    of_line
        Whether it is the hypothesis of one line only.
    """

    excess: Symbol | None = None
    strict: bool = False
    of_line: bool = False

    def __bool__(self) -> NoReturn:
        _refuse("a comparison of symbols is neither true nor false: `min`, `max` and `if` have no formula")


@dataclass(frozen=True, eq=False)
class Symbol:
    """A quotient of two polynomials in the quantities of a statement."""

    top: Polynomial
    bottom: Polynomial

    def at(self, values: Sequence[Any]) -> Any:
        """Value at exact numbers, one for each quantity; ZeroDivisionError where there is none."""
        return Fraction(self.top.at(values)) / self.bottom.at(values)

    def _lift(self, other: Any) -> Symbol:
        if isinstance(other, Symbol):
            return other
        one = (0,) * len(next(iter(self.bottom.terms)))
        value = Fraction(exactly(other))
        return Symbol(Polynomial({one: value} if value else {}), Polynomial({one: Fraction(1)}))

    def __add__(self, other: Any) -> Symbol:
        if isinstance(other, np.ndarray):
            return NotImplemented  # the array adds entry by entry
        b = self._lift(other)
        if self.bottom == b.bottom:
            return Symbol(self.top + b.top, self.bottom)
        return Symbol(self.top * b.bottom + b.top * self.bottom, self.bottom * b.bottom)

    def __neg__(self) -> Symbol:
        return Symbol(-self.top, self.bottom)

    def __mul__(self, other: Any) -> Symbol:
        if isinstance(other, np.ndarray):
            return NotImplemented
        b = self._lift(other)
        return Symbol(self.top * b.top, self.bottom * b.bottom)

    def __truediv__(self, other: Any) -> Symbol:
        if isinstance(other, np.ndarray):
            return NotImplemented
        b = self._lift(other)
        if not b.top.terms:
            raise ZeroDivisionError("division by the zero polynomial")
        return Symbol(self.top * b.bottom, self.bottom * b.top)

    def __pow__(self, power: int) -> Symbol:
        if type(power) is not int:
            _refuse(f"a power in a proof must be a whole number, not {power!r}")
        if power < 0:
            return 1 / self ** (-power)
        if power == 0:
            return self._lift(1)
        return Symbol(self.top**power, self.bottom**power) if self.top.terms else self

    def __sub__(self, other: Any) -> Symbol:
        return NotImplemented if isinstance(other, np.ndarray) else self + -self._lift(other)

    def __rsub__(self, other: Any) -> Symbol:
        return self._lift(other) - self

    def __rtruediv__(self, other: Any) -> Symbol:
        return self._lift(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def __bool__(self) -> NoReturn:
        _refuse("a symbol is neither true nor false: `if` has no formula")

    def __str__(self) -> NoReturn:
        _refuse("a symbol is no text")

    def __le__(self, other: Any) -> Condition:
        return Condition(self - other)

    def __ge__(self, other: Any) -> Condition:
        return Condition(other - self)

    def __lt__(self, other: Any) -> Condition:
        return Condition(self - other, strict=True)

    def __gt__(self, other: Any) -> Condition:
        return Condition(other - self, strict=True)

    def __eq__(self, other: object) -> Any:
        self._lift(other)
        return Condition()

    __ne__ = __eq__

    __repr__ = __str__
    __hash__ = None  # type: ignore[assignment]  # as Python does beside __eq__


def exactly(number: Any) -> Any:
    """Return an integer or fraction; TypeError for what rounding may have touched."""
    if isinstance(number, bool) or not isinstance(number, int | Fraction):
        _refuse(f"a proof needs exact numbers, not {number!r}")
    return number


def symbols(names: tuple[str, ...]) -> dict[str, Symbol]:
    """Give a symbol for each name."""
    count = len(names)
    one = Polynomial({(0,) * count: Fraction(1)})
    return {
        name: Symbol(Polynomial({tuple(int(i == j) for j in range(count)): Fraction(1)}), one)
        for i, name in enumerate(names)
    }
