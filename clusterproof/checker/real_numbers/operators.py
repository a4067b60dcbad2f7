"""Functions that replace operators: they do not round numbers, and apply to arrays entry by entry."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.real_numbers.interval import Interval, NoValue, power, shortened

NUMBERS = (int, bool, Fraction, Interval)
FUEL = 3_000_000
"""Largest number of steps of one evaluation with real numbers: calls, iterations of loops, and operations."""

Operation = Callable[[Any, Any], Any]


class OutOfFuel(BaseException):
    """Raised if an evaluation needs more than ``FUEL`` steps."""


class Fuel:
    """Counter of the steps that an evaluation may still take."""

    left = FUEL

    def spend(self, steps: int = 1) -> bool:
        """Count steps, and return True, so that ``spend() and ...`` evaluates the second operand."""
        self.left -= steps
        if self.left < 0:
            raise OutOfFuel
        return True


fuel = Fuel()


def plain(value: Any) -> Any:
    """Convert NumPy integers to Python integers; reject floats, which are rounded results of other code."""
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
    """Divide two numbers; the quotient of two integers is a fraction."""
    return Fraction(left, right) if isinstance(left, int) and isinstance(right, int) else left / right


def _of_numbers(function: Operation) -> Operation:
    """Wrap an operation on two numbers, so that it replaces fractions with too many bits by intervals."""

    def apply(left: Any, right: Any) -> Any:
        return shortened(function(plain(left), plain(right)))

    return apply


def entrywise(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Convert a function of numbers to a function that also applies to arrays, entry by entry."""
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
    """Convert an object array of booleans to dtype bool; return all other values unchanged."""
    is_truth = isinstance(array, np.ndarray) and array.dtype == object and array.size
    return array.astype(bool) if is_truth and all(type(each) is bool for each in array.flat) else array


def _operator(function: Operation, python: Operation) -> Operation:
    """Return an operator that uses ``function`` for numbers and arrays, and Python's operator for all other values."""
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
"""Operations, indexed by the operators' names in the kernel's grammar."""
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
"""Comparisons, indexed by their signs in the kernel's grammar."""
IN_PLACE: dict[str, Operation] = {
    "__add": operator.iadd,
    "__multiply": operator.imul,
    "__subtract": operator.isub,
    "__remainder": operator.mod,
}


def in_place(name: str, left: Any, right: Any) -> Any:
    """Execute an assignment such as ``left += right``; arrays and lists change in place."""
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
    """Convert the integers of an array index to NumPy integers."""
    if isinstance(place, np.ndarray) and place.dtype == object:
        return place.astype(int)
    return [index(each) for each in place] if isinstance(place, list) else place
