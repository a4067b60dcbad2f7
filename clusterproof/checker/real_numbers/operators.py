"""Functions that replace operators: numbers keep all digits, and arrays are computed entry by entry."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.real_numbers.interval import Interval, NoValue, power, shortened

NUMBERS = (int, bool, Fraction, Interval)
FUEL = 3_000_000
"""Largest number of steps of one evaluation over the real numbers: calls, rounds of loops, and operations."""

Operation = Callable[[Any, Any], Any]


class OutOfFuel(BaseException):
    """Raised if an evaluation takes more steps than ``FUEL``."""


class Fuel:
    """The number of steps that an evaluation may still take."""

    left = FUEL

    def spend(self, steps: int = 1) -> bool:
        """Count steps and return True, so that a call can precede an ``and``."""
        self.left -= steps
        if self.left < 0:
            raise OutOfFuel
        return True


fuel = Fuel()


def plain(value: Any) -> Any:
    """Convert NumPy's integers to Python's; reject floats, which are results that other code has rounded."""
    kind = type(value)
    if kind in NUMBERS:
        return value
    if kind is np.ndarray:
        if value.dtype.kind in "fc":
            raise NoValue("an array of floats that was computed elsewhere")
        return value
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if isinstance(value, float | complex | np.inexact) and value not in (np.inf, -np.inf):
        raise NoValue("a float that was computed elsewhere")
    return value


def divide(left: Any, right: Any) -> Any:
    """Return a quotient; for two integers, as a fraction."""
    return Fraction(left, right) if isinstance(left, int) and isinstance(right, int) else left / right


def _of_numbers(function: Operation) -> Operation:
    """Return an operation on two numbers that replaces long fractions by intervals."""

    def apply(left: Any, right: Any) -> Any:
        return shortened(function(plain(left), plain(right)))

    return apply


def entrywise(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return a function that applies a function of numbers to numbers, or to the entries of arrays."""
    loop = np.frompyfunc(function, count, 1)

    def apply(*values: Any) -> Any:
        given = [
            np.array(each, dtype=object) if isinstance(each, list | tuple) else plain(each) for each in values
        ]
        if not any(isinstance(each, np.ndarray) for each in given):
            return function(*given)
        fuel.spend(max(each.size for each in given if isinstance(each, np.ndarray)))
        return as_truth(loop(*given))

    return apply


def as_truth(array: Any) -> Any:
    """Convert an array of objects that are all booleans to dtype bool; return other values unchanged."""
    is_truth = isinstance(array, np.ndarray) and array.dtype == object and array.size
    return array.astype(bool) if is_truth and all(type(each) is bool for each in array.flat) else array


def _operator(function: Operation, python: Operation) -> Operation:
    """Return an operator that uses ``function`` for numbers and arrays, and Python's operator for other values."""
    of_numbers = _of_numbers(function)
    of_arrays = entrywise(of_numbers, 2)

    def apply(left: Any, right: Any) -> Any:
        fuel.spend()
        if type(left) in NUMBERS and type(right) in NUMBERS:
            return shortened(function(left, right))
        if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
            both = [np.asarray(each) for each in (left, right)]
            return python(left, right) if all(each.dtype == bool for each in both) else of_arrays(left, right)
        return python(plain(left), plain(right))

    return apply


def matmul(left: Any, right: Any) -> Any:
    """Return a matrix product."""
    first, second = (np.asarray(plain(each), dtype=object) for each in (left, right))
    fuel.spend(first.size * (second.shape[-1] if second.ndim > 1 else 1))
    found = np.matmul(first, second)
    return np.frompyfunc(shortened, 1, 1)(found) if isinstance(found, np.ndarray) else shortened(found)


OPERATIONS: dict[str, Operation] = {
    "__add": _operator(operator.add, operator.add),
    "__subtract": _operator(operator.sub, operator.sub),
    "__multiply": _operator(operator.mul, operator.mul),
    "__divide": _operator(divide, operator.truediv),
    "__divide_whole": _operator(operator.floordiv, operator.floordiv),
    "__remainder": _operator(operator.mod, operator.mod),
    "__power": _operator(power, operator.pow),
    "__inner": matmul,
}
"""Operations, indexed by the names that the kernel's grammar gives to operators."""
COMPARISONS: dict[str, Operation] = {
    sign: _operator(function, function)
    for sign, function in (
        ("<", operator.lt),
        ("<=", operator.le),
        (">", operator.gt),
        (">=", operator.ge),
        ("==", operator.eq),
        ("!=", operator.ne),
    )
}
"""Comparisons, by their signs in the kernel's grammar."""
IN_PLACE: dict[str, Operation] = {
    "__add": operator.iadd,
    "__multiply": operator.imul,
    "__subtract": operator.isub,
    "__remainder": operator.mod,
}


def in_place(name: str, left: Any, right: Any) -> Any:
    """Run an assignment such as ``left += right``; arrays and lists change in place."""
    if isinstance(left, np.ndarray):
        found = OPERATIONS[name](left, right)
        if np.shape(found) != left.shape:
            raise NoValue("an operation in place that changes the shape")
        left[...] = found
        return left
    if isinstance(left, list | set | dict) and name in IN_PLACE:
        return IN_PLACE[name](left, right)
    return OPERATIONS[name](left, right)


def index(place: Any) -> Any:
    """Return an index of an array, with its integers in NumPy's type."""
    if isinstance(place, np.ndarray) and place.dtype == object:
        return place.astype(int)
    return [index(each) for each in place] if isinstance(place, list) else place
