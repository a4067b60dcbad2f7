"""Constants in the source code of a statement. A theorem often fails at a number that occurs in its code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from types import CodeType
from typing import Any

from clusterproof.checker.claims.ranges import Integers, Interval
from clusterproof.checker.claims.space import Space

MOST = 50
"""Largest number of constants to try."""


def numbers_in(function: Callable[..., Any]) -> list[int]:
    """Return the integers in a function and in functions of its module that it uses, in decreasing order.

    Large integers come first, because the search tries small ones anyway.
    """
    found: dict[int, None] = {}
    seen: set[int] = set()

    def read(value: Any) -> None:
        if id(value) in seen:
            return
        seen.add(id(value))
        if type(value) is int:
            found[abs(value)] = None
        elif type(value) is Fraction:
            read(value.numerator)
            read(value.denominator)
        elif isinstance(value, CodeType | tuple | list | frozenset | set):
            for each in value.co_consts if isinstance(value, CodeType) else value:
                read(each)
        elif getattr(value, "__module__", None) == function.__module__:
            code = getattr(getattr(value, "function", value), "__code__", None)
            if code is None:
                return
            read(code)
            known = getattr(value, "__globals__", {})
            for name in _names_in(code):
                read(known.get(name))

    read(function)
    return sorted(found, reverse=True)[:MOST]


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names_in(each)


def neighbours(space: Space, numbers: list[int]) -> Iterator[tuple[str, Any]]:
    """Yield each numeric quantity with each number, with the number minus 1, and with the number plus 1."""
    for number in numbers:
        for value in (number, number + 1, number - 1, -number):
            for name, allowed in space.ranges.items():
                if isinstance(allowed, Interval):
                    yield name, value if isinstance(allowed, Integers) else allowed.cast(value)
