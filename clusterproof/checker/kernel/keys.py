"""Keys of dictionaries. They must be short, because the number of counted steps does not depend on their length."""

from __future__ import annotations

from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, spend
from clusterproof.checker.kernel.numbers import number

LONGEST_KEY = 1000
"""Largest total number of characters and entries in a key of a dictionary."""


def key_length(value: Any) -> int:
    """Return the number of characters of a string, or the total number of entries and characters in a nested tuple."""
    if type(value) is not tuple:
        return len(value) if type(value) is str else 1
    spend(len(value))
    total = 1
    for entry in value:
        total += key_length(entry)
        if total > LONGEST_KEY:
            break
    return total


def key(value: Any) -> Any:
    """Require a valid key of a dictionary: a short number, a string, None, or a tuple of such keys.

    Arbitrarily many long numbers can have the same hash, and a dictionary of such numbers would be slower than its
    counted steps. The comparison of two long, equal keys would also be slower than its counted steps.
    """
    if type(value) in (str, tuple) and key_length(value) > LONGEST_KEY:
        raise Refused(f"a key of a dictionary has at most {LONGEST_KEY} characters and entries")
    if type(value) is tuple:
        spend(len(value))
        return tuple(map(key, value))
    if type(value) in (str, bool, type(None)):
        return value
    exact = number(value)
    most = 60 if type(exact) is int else 32
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > most:
        raise Refused("a key of a dictionary has at most 60 bits, and a part of a fraction at most 32")
    return exact
