"""Keys of dictionaries. They must be short, because the number of counted steps does not depend on their length.

Arbitrarily many long numbers, or long tuples, can have the same hash, and a dictionary of such keys would be slower
than its counted steps. Two keys of this module have the same hash only by chance. Keys with different hashes may still
be chosen such that Python looks at each entry of a large dictionary for one key. So each use of a key counts steps in
proportion to the size of the dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, spend
from clusterproof.checker.kernel.numbers import number

LONGEST_KEY, MOST_ENTRIES, MOST_BITS = 1000, 16, 60
"""Largest numbers of characters, of entries of tuples, and of bits of the numbers in a key of a dictionary."""
SEARCHED = 8
"""In one step, Python looks at 2 to this power entries of a dictionary."""


def key_length(value: Any) -> int:
    """Return the number of characters of a string, or the total number of entries and characters in a nested tuple."""
    if type(value) is not tuple:
        return len(value) if type(value) is str else 1
    return 1 + sum(map(key_length, value))


def key(value: Any, size: int) -> Any:
    """Require a valid key of a dictionary: a short number, a string, None, or a short tuple of such keys.

    Parameters
    ----------
    value
        The key.
    size
        Number of entries of the dictionary.

    Raises
    ------
    Refused
        If the value has another type, or is too long.
    """
    spend(size >> SEARCHED)
    return _key(value, [LONGEST_KEY, MOST_ENTRIES, MOST_BITS])


def keys_of(parts: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a dictionary of the given keys and values."""
    found: dict[Any, Any] = {}
    for name, value in parts:
        found[key(name, len(found))] = value
    return found


def spend_merging(left: Mapping[Any, Any], right: Mapping[Any, Any]) -> None:
    """Count the steps in which the entries of one dictionary are added to another."""
    spend(sum(map(key_length, right)) + len(right) * ((len(left) + len(right)) >> SEARCHED))


def _key(value: Any, left: list[int]) -> Any:
    """Return the key, and subtract its characters, entries and bits from the numbers that are left."""
    if type(value) is tuple:
        _subtract(len(value), 1, left)
        spend(len(value))
        return tuple(_key(entry, left) for entry in value)
    if type(value) is str:
        _subtract(len(value), 0, left)
    if type(value) in (str, bool, type(None)):
        return value
    exact = number(value)
    below = 0 if type(exact) is int else exact.denominator.bit_length()
    spend(1 if type(exact) is int else 4)
    _subtract(exact.numerator.bit_length() + below, 2, left)
    return exact


def _subtract(size: int, place: int, left: list[int]) -> None:
    left[place] -= size
    if left[place] < 0:
        raise Refused(
            f"a key of a dictionary has at most {LONGEST_KEY} characters, {MOST_ENTRIES} entries in tuples, and "
            f"{MOST_BITS} bits in numbers"
        )
