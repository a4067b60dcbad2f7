"""Exact vectors: what a claim's function is given for points when it is evaluated on a concrete function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from flint import fmpq

from clusterproof.theory.classes.function import Quantity
from clusterproof.theory.squares.exact import Rational, fraction, rational


class Vector(Quantity):
    """An immutable vector of rationals: +, -, times or over an int or Fraction, ``x @ y``; hashable.

    Parameters
    ----------
    entries
        Of type int or Fraction.
    """

    __slots__ = ("_entries",)
    _entries: tuple[Rational, ...]

    def __init__(self, entries: Iterable[Any]) -> None:
        self._entries = tuple([rational(entry) for entry in entries])

    @property
    def entries(self) -> tuple[Fraction, ...]:
        """The coordinates."""
        return tuple(map(fraction, self._entries))

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self._entries)

    def __add__(self, other: Any) -> Vector:
        if type(other) is not Vector:
            return NotImplemented
        return _vector([a + b for a, b in zip(self._entries, other._entries, strict=True)])

    def __radd__(self, other: Any) -> Vector:
        return self if type(other) is int and other == 0 else NotImplemented  # the start of sum()

    def __sub__(self, other: Any) -> Vector:
        if type(other) is not Vector:
            return NotImplemented
        return _vector([a - b for a, b in zip(self._entries, other._entries, strict=True)])

    def __neg__(self) -> Vector:
        return _vector([-a for a in self._entries])

    def __mul__(self, factor: Any) -> Vector:
        scale = _scalar(factor)
        return _vector([a * scale for a in self._entries])

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Vector:
        scale = _scalar(divisor)
        return _vector([a / scale for a in self._entries])

    def __matmul__(self, other: Any) -> Fraction:
        if type(other) is not Vector:
            return NotImplemented
        return fraction(inner(self, other))

    def __eq__(self, other: object) -> bool:
        return type(other) is Vector and self._entries == other._entries

    def __hash__(self) -> int:
        return hash(self._entries)

    def __bool__(self) -> NoReturn:
        raise TypeError("a vector is neither true nor false")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a vector is no array: use +, -, * and / by numbers, and x @ y")

    def __reduce__(self) -> tuple[Any, ...]:
        return Vector, (self.entries,)

    def __repr__(self) -> str:
        return f"({', '.join(map(str, self._entries))})"


def inner(x: Vector, y: Vector) -> Rational:
    """Return <x, y>, as an ``fmpq``."""
    total = fmpq(0)
    for a, b in zip(x._entries, y._entries, strict=True):
        total += a * b
    return total


def combination(weights: Sequence[Rational], vectors: Sequence[Vector]) -> Vector:
    """Return the sum of the vectors, each times its weight."""
    columns = zip(*(vector._entries for vector in vectors), strict=True)
    return _vector(
        [sum((w * a for w, a in zip(weights, column, strict=True)), fmpq(0)) for column in columns]
    )


def zero(dimension: int) -> Vector:
    """Return the origin."""
    return _vector([fmpq(0)] * dimension)


def _vector(entries: list[Rational]) -> Vector:
    """Return the vector of entries that are ``fmpq`` already."""
    vector = Vector.__new__(Vector)
    vector._entries = tuple(entries)
    return vector


def _scalar(value: Any) -> Rational:
    """Return a number as an ``fmpq``, unless it is of another type than int, Fraction or ``fmpq``."""
    if type(value) is fmpq:
        return value
    if type(value) is int or type(value) is Fraction:
        return fmpq(value.numerator, value.denominator)
    raise TypeError(f"{value!r} is no int or Fraction, by which alone a vector is multiplied or divided")
