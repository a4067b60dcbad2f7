"""What a claim's function computes with when it is traced: points and numbers as linear forms, and what they refuse."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.classes.function import Quantity

if TYPE_CHECKING:
    from clusterproof.theory.classes.trace import Trace

HERE = str(Path(__file__).parent)


SQUARES = "compare squares, x @ x for |x|^2; other powers and roots are not traced"

REFUSED: ContextVar[list[str] | None] = ContextVar("what a trace refused", default=None)


class NotTraced(TypeError):
    """The function does with a point or number what a trace cannot follow; the message names line and remedy."""


def refuse(what: str, remedy: str) -> NoReturn:
    """Raise ``NotTraced`` at the line of the claim's function that is running."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    message = f"line {frame.f_lineno}: {what}: {remedy}"
    if (refused := REFUSED.get()) is not None:
        refused.append(message)  # whatever the function catches
    raise NotTraced(message)


def _refuse_adaptive(what: str) -> NoReturn:
    remedy = "make the step a parameter and relate it by suppose(..., equal(...))"
    refuse(f"{what} (an adaptive step)", remedy)


def exact(value: Any) -> Fraction:
    """Return an int or Fraction as a Fraction, and refuse everything else."""
    if type(value) is int or type(value) is Fraction:
        return Fraction(value)
    if isinstance(value, float):
        near = Fraction(value).limit_denominator(1000)
        refuse(f"{value} is no int or Fraction", f"write Fraction({near.numerator}, {near.denominator})")
    refuse(
        f"{type(value).__name__} {value!r} is no int or Fraction", "compute with Python's ints and Fractions"
    )


def _combine(
    first: Mapping[Any, Fraction], second: Mapping[Any, Fraction], factor: Fraction
) -> dict[Any, Fraction]:
    total = dict(first)
    for key, value in second.items():
        if (entry := total.get(key, 0) + factor * value) == 0:
            del total[key]
        else:
            total[key] = Fraction(entry)
    return total


class _Symbol(Quantity):
    """What a trace refuses of points and numbers alike."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        refuse("== of quantities that depend on f", "state what is equal by suppose(..., equal((a, b)))")

    def __ne__(self, other: object) -> bool:
        refuse("!= of quantities that depend on f", "state a comparison by <= or >=")

    def __float__(self) -> float:
        refuse("a float or root of a quantity that depends on f", SQUARES)

    def __pow__(self, power: Any) -> Any:
        refuse("a power of a quantity that depends on f", SQUARES)

    def __abs__(self) -> Any:
        refuse("abs of a quantity that depends on f", "write x @ x for |x|^2, or state both signs")

    def __iter__(self) -> Iterator[Any]:
        refuse("coordinates of a point", "use inner products, x @ y")

    def __getitem__(self, item: Any) -> Any:
        refuse("coordinates of a point", "use inner products, x @ y")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        refuse("an array of quantities that depend on f", "use +, -, times or over an int or Fraction")

    def __bool__(self) -> bool:
        refuse("the truth of a quantity that depends on f", "compare it by <= or >=")

    def _plus(self, other: Any, factor: int) -> Any:
        raise NotImplementedError

    def _times(self, factor: Any) -> Any:
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, 1)

    def __neg__(self) -> Any:
        return self * -1

    def __mul__(self, factor: Any) -> Any:
        return self._times(factor)

    def __rmul__(self, factor: Any) -> Any:
        return self._times(factor)

    def __truediv__(self, divisor: Any) -> Any:
        if isinstance(divisor, _Symbol):
            _refuse_adaptive("division by a quantity that depends on f")
        return self._times(1 / exact(divisor))

    def __rtruediv__(self, other: Any) -> NoReturn:
        _refuse_adaptive("division by a quantity that depends on f")


class TracedPoint(_Symbol):
    """A linear combination of free vectors."""

    __slots__ = ("entries", "trace")

    def __init__(self, trace: Trace, entries: Mapping[int, Fraction]) -> None:
        self.trace, self.entries = trace, entries

    @property
    def key(self) -> tuple[tuple[int, Fraction], ...]:
        """What tells points apart."""
        return tuple(sorted(self.entries.items()))

    def _plus(self, other: Any, factor: int) -> TracedPoint:
        if type(other) is int and other == 0:  # the start of sum()
            return self
        if not isinstance(other, TracedPoint):
            refuse(f"a point plus or minus {type(other).__name__} {other!r}", "add points to points")
        return TracedPoint(self.trace, _combine(self.entries, other.entries, Fraction(factor)))

    def _times(self, factor: Any) -> TracedPoint:
        if isinstance(factor, TracedNumber):
            _refuse_adaptive("a point times a quantity that depends on f")
        if isinstance(factor, TracedPoint):
            refuse("a product of two points", "write x @ y for their inner product")
        number = exact(factor)
        return TracedPoint(self.trace, {k: v * number for k, v in self.entries.items()} if number else {})

    def __matmul__(self, other: Any) -> TracedNumber:
        if not isinstance(other, TracedPoint):
            refuse(f"x @ {type(other).__name__} {other!r}", "take inner products of points")
        quadratic: dict[tuple[int, int], Fraction] = {}
        for i, a in self.entries.items():
            for j, b in other.entries.items():
                pair = (i, j) if i <= j else (j, i)
                quadratic[pair] = quadratic.get(pair, Fraction(0)) + a * b
        return TracedNumber(self.trace, {k: v for k, v in quadratic.items() if v}, {})


class TracedNumber(_Symbol):
    """A linear form in inner products of free vectors, function values and the constant 1."""

    __slots__ = ("quadratic", "trace", "values")

    def __init__(
        self, trace: Trace, quadratic: Mapping[tuple[int, int], Fraction], values: Mapping[int, Fraction]
    ) -> None:
        self.trace, self.quadratic, self.values = trace, quadratic, values  # the value -1 is the constant 1

    def _plus(self, other: Any, factor: int) -> TracedNumber:
        if isinstance(other, TracedPoint):
            refuse("a number plus or minus a point", "add numbers to numbers")
        if not isinstance(other, TracedNumber):
            other = self.trace.constant(exact(other))
        scale = Fraction(factor)
        return TracedNumber(
            self.trace,
            _combine(self.quadratic, other.quadratic, scale),
            _combine(self.values, other.values, scale),
        )

    def _times(self, factor: Any) -> TracedNumber:
        if isinstance(factor, TracedPoint):
            _refuse_adaptive("a point times a quantity that depends on f")
        if isinstance(factor, TracedNumber):
            refuse("a product of two quantities that depend on f", "make one of them a parameter")
        number = exact(factor)
        if not number:
            return TracedNumber(self.trace, {}, {})
        quadratic = {k: v * number for k, v in self.quadratic.items()}
        return TracedNumber(self.trace, quadratic, {k: v * number for k, v in self.values.items()})

    def __le__(self, other: Any) -> Comparison:
        return Comparison(other - self)

    def __ge__(self, other: Any) -> Comparison:
        return Comparison(self - other)

    __lt__, __gt__ = __le__, __ge__


@dataclass(frozen=True)
class Comparison:
    """That a number is at least 0: a hypothesis, or a fork if its truth is asked for."""

    gap: TracedNumber

    def __bool__(self) -> bool:
        return self.gap.trace.decide(self.gap)

    def assume(self) -> None:
        """Make it a hypothesis."""
        self.gap.trace.inequalities.append(self.gap)


@dataclass(frozen=True)
class Least:
    """The least of several numbers, of a traced function: a bound of it is a bound of one of their means."""

    numbers: tuple[TracedNumber, ...]


def least(*numbers: Any) -> Any:
    """Return the least of the numbers, such as that of the best iterate.

    Raises
    ------
    InvalidArgument
        If there is none.
    """
    if not numbers:
        raise InvalidArgument("numbers", numbers, "must be one or more", "write least(*values) of a list")
    traced = next((number.trace for number in numbers if isinstance(number, TracedNumber)), None)
    if traced is None:
        return min(numbers)
    return Least(
        tuple(each if isinstance(each, TracedNumber) else traced.constant(exact(each)) for each in numbers)
    )
