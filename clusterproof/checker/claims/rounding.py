"""Rounding tolerances for comparisons of floats; exact numbers are compared without a tolerance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

TOLERANCE = 1e-9
"""Rounding tolerance, relative to the largest number from which the two sides were computed."""
FLOOR = 1e-14
"""Minimum rounding tolerance, relative to the largest float of an instance; it also applies to small sides."""

SMALLEST = float(np.finfo(float).tiny)
"""Smallest float with full precision. Smaller numbers can lose all digits, as in 1e-12 exp(-718) = 0."""


def is_exact(value: Any) -> bool:
    """Return whether a number, or every entry of a list or array, is a Python integer, fraction or boolean.

    NumPy integers are not exact: they have 64 bits and overflow silently. NumPy booleans are not exact, because their
    sum is again a boolean. Instances of subclasses are not exact, because subclasses can redefine arithmetic.
    """
    if isinstance(value, np.ndarray):
        return value.dtype == object and all(is_exact(entry) for entry in value.flat)
    if isinstance(value, list | tuple):
        return all(is_exact(entry) for entry in value)
    if type(value) is Fraction:  # a fraction of NumPy's integers keeps these integers
        return type(value.numerator) is type(value.denominator) is int
    return type(value) in (int, bool)


def has_numpy_integers(value: Any) -> bool:
    """Return whether a number, or an entry of a list or array, is a NumPy integer or a fraction of NumPy integers."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.kind in "iu"
    if isinstance(value, np.ndarray | list | tuple):
        return any(
            has_numpy_integers(entry) for entry in (value.flat if isinstance(value, np.ndarray) else value)
        )
    return isinstance(value, np.integer) or has_numpy_parts(value)


def has_numpy_parts(value: Any) -> bool:
    """Return whether a number or an entry is a fraction of NumPy integers, which can overflow in sums."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return False
    if isinstance(value, np.ndarray | list | tuple):
        return any(
            has_numpy_parts(entry) for entry in (value.flat if isinstance(value, np.ndarray) else value)
        )
    return isinstance(value, Fraction) and any(
        isinstance(part, np.integer) for part in (value.numerator, value.denominator)
    )


def as_float(number: Any) -> float:
    """Round a number to a float; the result is infinite if an exact number is larger than any float."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def as_floats(numbers: Any) -> np.ndarray:
    """Round the entries of an array to floats, as ``as_float`` does."""
    array = np.asarray(numbers)
    try:
        return array.astype(float)
    except OverflowError:
        return np.array([as_float(each) for each in array.flat]).reshape(array.shape)


def floats_of(value: Any) -> Iterator[Any]:
    """Yield the floats and the arrays of floats in a number, array, list or tuple, or in the fields of a dataclass."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            yield value
    elif isinstance(value, float | np.floating):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from floats_of(each)
    elif is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from floats_of(getattr(value, each.name))


def unit_of(values: Iterable[Any]) -> float:
    """Return the largest finite magnitude in numbers and arrays, or 0 if there is none."""
    largest = 0.0
    for value in values:
        array = np.abs(np.asarray(value, dtype=float))
        largest = max(largest, float(np.max(array, initial=0.0, where=np.isfinite(array))))
    return largest
