"""Exact or interval replacements for built-in functions and for the module ``math``."""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from clusterproof.checker.real_numbers.interval import (
    Interval,
    NoValue,
    ball_of,
    decimal,
    larger,
    power,
    root,
    smaller,
)
from clusterproof.checker.real_numbers.operators import COMPARISONS, OPERATIONS, divide, plain

# ---- elementary functions

VALUES = {
    "exp": (0, 1), "expm1": (0, 0), "log": (1, 0), "log1p": (0, 0), "sin": (0, 0), "cos": (0, 1), "tan": (0, 0),
    "asin": (0, 0), "acos": (1, 0), "atan": (0, 0), "sinh": (0, 0), "cosh": (0, 1), "tanh": (0, 0), "asinh": (0, 0),
    "acosh": (1, 0), "atanh": (0, 0), "erf": (0, 0), "erfc": (0, 1), "gamma": (1, 1), "lgamma": (1, 0),
}  # fmt: skip
"""A number at which each function has a rational value, and this value, indexed by the function's name."""


def _elementary(name: str, place: int, value: int) -> Callable[[Any], Any]:
    def function(number: Any) -> Any:
        if type(number) is not Interval and plain(number) == place:
            return value
        return Interval(getattr(ball_of(number), name)())

    return function


ELEMENTARY: dict[str, Callable[[Any], Any]] = {
    name: _elementary(name, place, value) for name, (place, value) in VALUES.items()
}


def pi() -> Interval:
    """Return the number pi."""
    return Interval(flint.arb.pi())


def logarithm(number: Any, base: Any = None) -> Any:
    """Return the logarithm to a base, or the natural logarithm if the base is None."""
    of_number = ELEMENTARY["log"](number)
    return of_number if base is None else of_number / ELEMENTARY["log"](base)


def _cube_root(number: Any) -> Any:
    if type(number) is not Interval and plain(number) == 0:
        return 0
    if COMPARISONS["<"](number, 0):
        return -_cube_root(-number)
    return Interval(ball_of(number).root(3))


ELEMENTARY |= {
    "sqrt": root,
    "log2": lambda x: logarithm(x, 2),
    "log10": lambda x: logarithm(x, 10),
    "exp2": lambda x: power(2, plain(x)),
    "cbrt": _cube_root,
    "fabs": lambda x: abs(plain(x)),
    "degrees": lambda x: plain(x) * 180 / pi(),
    "radians": lambda x: plain(x) * pi() / 180,
}


def hypot(*numbers: Any) -> Any:
    """Return the square root of the sum of the squares."""
    return root(add_up(plain(each) * plain(each) for each in numbers))


def arctan2(y: Any, x: Any) -> Any:
    """Return the angle of the point (x, y)."""
    return Interval(flint.arb.atan2(ball_of(y), ball_of(x)))


def is_close(a: Any, b: Any, rel_tol: Any = Fraction(1, 10**9), abs_tol: Any = 0) -> bool:
    """Return the result of ``math.isclose``, computed by its definition."""
    return bool(abs(plain(a) - plain(b)) <= larger(rel_tol * larger(abs(plain(a)), abs(plain(b))), abs_tol))


# ---- Python's own functions


def add_up(values: Iterable[Any], start: Any = 0) -> Any:
    """Return the sum of the values."""
    return functools.reduce(OPERATIONS["__add"], values, start)


def multiply_up(values: Iterable[Any], *, start: Any = 1) -> Any:
    """Return the product of the values."""
    return functools.reduce(OPERATIONS["__multiply"], values, start)


def _extreme(choose: Callable[[Any, Any], Any], python: Callable[..., Any]) -> Callable[..., Any]:
    def find(*values: Any, **named: Any) -> Any:
        if named:
            return python(*values, **named)
        several = list(values[0] if len(values) == 1 else values)
        if not several:
            raise ValueError("empty sequence")
        if any(isinstance(each, str | tuple | list) for each in several):
            return python(several)
        return functools.reduce(choose, map(plain, several))

    return find


largest, least = _extreme(larger, max), _extreme(smaller, min)


class _Kind(type):
    """Metaclass of replacements for types of numbers.

    Floats are replaced by fractions and intervals, so the result of ``isinstance`` would be wrong; it raises an error.
    """

    def __instancecheck__(cls, value: Any) -> bool:
        if type(value) in (Fraction, Interval):
            raise NoValue("a test of the type of a number")
        return isinstance(value, cls.python)  # type: ignore[attr-defined]  # each class has it


class Float(metaclass=_Kind):
    """Replacement for ``float`` that does not round."""

    python = float

    def __new__(cls, value: Any = 0) -> Any:
        """Return a number unchanged, or convert a string to a number."""
        if isinstance(value, str):
            number = float(value)
            return number if math.isinf(number) else decimal(value.strip().replace("_", ""))
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.item()
        ball_of(plain(value))
        return plain(value)


class Int(metaclass=_Kind):
    """Replacement for ``int``: the integer part of a number, if the interval determines it."""

    python = int

    def __new__(cls, value: Any = 0, *base: Any) -> Any:
        """Return the integer part."""
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.item()
        return int(value, *base) if isinstance(value, str) else math.trunc(plain(value))


class Exact(metaclass=_Kind):
    """Replacement for ``Fraction`` that accepts only rational numbers."""

    python = Fraction

    def __new__(cls, numerator: Any = 0, denominator: Any = None) -> Any:
        """Return the fraction."""
        parts = [plain(each) for each in ([numerator] if denominator is None else [numerator, denominator])]
        if any(type(each) is Interval for each in parts):
            raise NoValue("the fraction of a number that is known as an interval only")
        return Fraction(*parts)


def _power(base: Any, exponent: Any, *modulus: Any) -> Any:
    return pow(base, exponent, *modulus) if modulus else OPERATIONS["__power"](base, exponent)


def _type(value: Any) -> Any:
    if type(value) in (Fraction, Interval):
        raise NoValue("the type of a number")
    return type(value)


PYTHON: dict[Any, Any] = {
    float: Float, int: Int, Fraction: Exact, max: largest, min: least, sum: add_up, pow: _power, type: _type,
    abs: lambda x: abs(plain(x)),
    round: lambda x, digits=None: round(plain(x)) if digits is None else round(plain(x), digits),
    divmod: lambda a, b: (OPERATIONS["__divide_whole"](a, b), OPERATIONS["__remainder"](a, b)),
    print: lambda *values, **named: None,
    operator.add: OPERATIONS["__add"], operator.sub: OPERATIONS["__subtract"], operator.mul: OPERATIONS["__multiply"],
    operator.truediv: OPERATIONS["__divide"], operator.pow: OPERATIONS["__power"],
    operator.floordiv: OPERATIONS["__divide_whole"], operator.mod: OPERATIONS["__remainder"],
}  # fmt: skip
UNCHANGED = """
    all any bool callable dict enumerate filter frozenset isinstance issubclass iter len list map next object range
    reversed set slice sorted str super tuple zip property staticmethod classmethod hasattr
    ArithmeticError AssertionError AttributeError Exception IndexError KeyError LookupError NotImplementedError
    OverflowError RuntimeError StopIteration TypeError ValueError ZeroDivisionError
"""
"""Names of built-in functions that compute no numbers."""
MATH: dict[Any, Any] = {
    getattr(math, name): function for name, function in ELEMENTARY.items() if hasattr(math, name)
} | {
    math.log: logarithm, math.pow: lambda a, b: power(plain(a), plain(b)), math.hypot: hypot, math.atan2: arctan2,
    math.dist: lambda p, q: hypot(*(plain(a) - plain(b) for a, b in zip(p, q, strict=True))),
    math.fsum: add_up, math.prod: multiply_up, math.isclose: is_close,
    math.floor: lambda x: math.floor(plain(x)), math.ceil: lambda x: math.ceil(plain(x)),
    math.trunc: lambda x: math.trunc(plain(x)),
    math.copysign: lambda a, b: abs(plain(a)) if plain(b) >= 0 else -abs(plain(a)),
    math.fmod: lambda a, b: plain(a) - plain(b) * math.trunc(divide(plain(a), plain(b))),
    math.isnan: lambda x: False, math.isinf: lambda x: isinstance(x, float),
    math.isfinite: lambda x: not isinstance(x, float),
} | {each: each for each in (math.factorial, math.comb, math.perm, math.gcd, math.lcm, math.isqrt)}  # fmt: skip


def not_a_number() -> Any:
    """Raise an error, because NaN is not a real number."""
    raise NoValue("NaN, which is no number,")


CONSTANTS: dict[str, Callable[[], Any]] = {
    "pi": pi, "tau": lambda: Interval(2 * flint.arb.pi()), "e": lambda: ELEMENTARY["exp"](1),
    "inf": lambda: math.inf, "newaxis": lambda: None,
    "nan": not_a_number,
}  # fmt: skip
"""Constants of ``math`` and NumPy."""
FUNCTIONS: dict[Any, Any] = (
    {getattr(builtins, name): getattr(builtins, name) for name in UNCHANGED.split()}
    | {each: each for each in vars(itertools).values() if isinstance(each, type)}
    | {
        functools.reduce: functools.reduce,
        functools.partial: functools.partial,
        operator.itemgetter: operator.itemgetter,
    }
    | PYTHON
    | MATH
)
"""Replacements for built-in functions, indexed by function."""
