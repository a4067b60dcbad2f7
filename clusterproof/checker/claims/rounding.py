"""What rounding may add to a comparison of floating numbers; exact numbers get nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

TOLERANCE = 1e-9
"""Of the unit: the largest magnitude among what the two sides were computed from."""
FLOOR = 1e-14
"""Of the largest magnitude among the floats of an instance: less than this is rounding, however small the sides are."""

SMALLEST = float(np.finfo(float).tiny)
"""Least float with all digits: of a smaller one, such as 1e-12 exp(-718) = 0, nothing need be left."""


def is_exact(value: Any) -> bool:
    """Whether a number, or every entry of a list or array, is one of Python's integers or fractions, or a boolean.

    NumPy's integers have 64 bits: a sum, product or power that does not fit is another number, without a word; and a
    sum of its booleans is a boolean. A subclass may compute as it likes.
    """
    if isinstance(value, np.ndarray):
        return value.dtype == object and all(is_exact(entry) for entry in value.flat)
    if isinstance(value, list | tuple):
        return all(is_exact(entry) for entry in value)
    if type(value) is Fraction:  # of NumPy's integers it keeps them
        return type(value.numerator) is type(value.denominator) is int
    return type(value) in (int, bool)


def has_numpy_integers(value: Any) -> bool:
    """Whether a number, or an entry of a list or array, is one of NumPy's integers, or a fraction of these."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.kind in "iu"
    if isinstance(value, np.ndarray | list | tuple):
        return any(
            has_numpy_integers(entry) for entry in (value.flat if isinstance(value, np.ndarray) else value)
        )
    return isinstance(value, np.integer) or has_numpy_parts(value)


def has_numpy_parts(value: Any) -> bool:
    """Whether a number is a fraction of NumPy's integers, or an array or list holds one: its sums may wrap around."""
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
    """Round a number; infinite where an exact one is larger than any float."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def as_floats(numbers: Any) -> np.ndarray:
    """Round the entries of an array likewise."""
    array = np.asarray(numbers)
    try:
        return array.astype(float)
    except OverflowError:
        return np.array([as_float(each) for each in array.flat]).reshape(array.shape)


def floats_of(value: Any) -> Iterator[Any]:
    """Yield the floats and arrays of floats in a number, an array, a sequence or the fields of a dataclass."""
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
    """Largest finite magnitude among numbers and arrays; 0 where there is none."""
    largest = 0.0
    for value in values:
        array = np.abs(np.asarray(value, dtype=float))
        largest = max(largest, float(np.max(array, initial=0.0, where=np.isfinite(array))))
    return largest
