"""Values of the running program: those with a name in the language, and how numbers and messages are written."""

from __future__ import annotations

import builtins
import functools
import importlib
from fractions import Fraction
from numbers import Number
from types import BuiltinFunctionType
from typing import Any

from clusterproof.checker.claims.sides import WORDS
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.library import LIBRARY
from clusterproof.checker.kernel.numbers import LARGEST
from clusterproof.common.calls import exposed

CACHED = type(functools.cache(lambda: None))
"""Type of functions with a cache, which are not of the language: a cache takes an int for a fraction that equals it."""
SHORT = 60
"""Largest number of characters of a value in a message."""
HEAP = 1 << 9
"""Flag that Python sets for all classes except built-in ones."""
PLAIN = Number | str | bytes | None
"""Types of values that a message may print in full."""


def named_values() -> dict[int, str]:
    """Return the names in a text of built-in functions and functions of claims, indexed by identity.

    Built-in functions that a user's file has replaced are omitted.
    """
    found = {id(each): name for name, live in WORDS.items() for each in (live, exposed(live))}
    found[id(Fraction)] = "Fraction"
    for name in LIBRARY.keys() - {"Fraction"}:
        module, _, own = name.rpartition(".")
        live = getattr(importlib.import_module(module) if module else builtins, own)
        if (
            type(live) in (type, BuiltinFunctionType)
            and not _is_made_in_python(live)
            and live.__name__ == own
        ):
            found[id(live)] = name
    return found


def _is_made_in_python(value: Any) -> bool:
    return isinstance(value, type) and bool(value.__flags__ & HEAP)


KNOWN = named_values()


def is_plain(value: Fraction) -> bool:
    """Return whether the numerator and the denominator of a fraction are plain ints."""
    return type(value.numerator) is type(value.denominator) is int


def integer(value: int) -> str:
    """Write an integer as source code; raises ``Refused`` if the kernel does not read such a long number."""
    if value.bit_length() > LARGEST:
        raise Refused(f"a number of more than {LARGEST} bits is not of the language")
    return str(value) if value.bit_length() < 10_000 else hex(value)


def shown(value: Any) -> str:
    """Return a value as a message prints it: in full if this is short, and otherwise its type."""
    if type(value).__module__ not in ("builtins", "fractions", "numpy") or not isinstance(value, PLAIN):
        return f"a {type(value).__name__}"  # the printed form of a container may be long
    try:
        text = repr(value[:SHORT] if isinstance(value, str | bytes) else value)
    except ValueError:  # an int of too many digits
        return f"a {type(value).__name__}"
    return text if len(text) <= SHORT else f"{text[: SHORT - 3]}..."
