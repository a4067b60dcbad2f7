"""Ends of a range: a number, or a linear function of a quantity that comes earlier in the signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

Instance: TypeAlias = Mapping[str, Any]
"""Quantities of an instance by name."""


@dataclass(frozen=True)
class Earlier:
    """The value of a quantity that comes earlier in the signature, times a factor, plus an offset.

    Attributes
    ----------
    name
        Name of the quantity.
    factor, offset
        Rational coefficients.
    """

    name: str
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)

    def __add__(self, number: int | Fraction) -> Earlier:
        return Earlier(self.name, self.factor, self.offset + number)

    def __sub__(self, number: int | Fraction) -> Earlier:
        return self + -number

    def __mul__(self, number: int | Fraction) -> Earlier:
        return Earlier(self.name, self.factor * number, self.offset * number)

    __rmul__ = __mul__

    def __truediv__(self, number: int | Fraction) -> Earlier:
        return self * (1 / Fraction(number))

    def __str__(self) -> str:
        factor = "" if self.factor == 1 else f"{self.factor} "
        sign = "-" if self.offset < 0 else "+"
        return f"{factor}{self.name}" + (f" {sign} {abs(self.offset)}" if self.offset else "")


End: TypeAlias = int | Fraction | Earlier
"""Lower or upper end of a range."""


def earlier(name: str) -> Earlier:
    """Refer to a quantity that comes earlier in the signature, for use as an end of a later quantity's range.

    Examples
    --------
    ``own: Annotated[int, integers(1, earlier("clients") - 1)]``: fewer than all clients.
    """
    return Earlier(name)


def value_of(end: End, so_far: Instance) -> Any:
    """Evaluate an end, given the values of the earlier quantities, which may be symbols."""
    if isinstance(end, Earlier):
        return end.factor * so_far[end.name] + end.offset
    return end
