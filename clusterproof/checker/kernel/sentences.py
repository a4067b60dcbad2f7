"""Formatted strings, and *sentences*: strings that cannot be compared, because they contain symbols."""

from __future__ import annotations

from fractions import Fraction
from types import MappingProxyType
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, spend
from clusterproof.checker.kernel.numbers import Abstract, words

TOO_LONG = 10**4300
"""Smallest number with too many digits for a string. It is a constant, because Python's own limit can be changed."""


class Sentence(Abstract):
    """A string that contains a symbol. It can be passed to functions, but not compared."""


def text(*parts: Any) -> str | Sentence:
    """Return ``f"..."`` for strings, exact numbers, symbols, and tuples, lists, dictionaries or records of such values.

    Raises
    ------
    Refused
        If a number has more than 4 300 digits, or if a part has another type.
    """
    spend(1)
    for part in parts:
        _require_short(part)
    plain = all(type(part) in (str, int, Fraction) for part in parts)
    return "".join(map(str, parts)) if plain else Sentence()


def _require_short(value: Any) -> None:
    """Require that Python can convert a value to a string; this counts as many steps as the conversion."""
    spend(len(value) if type(value) is str else 20 * (1 + words(value)))
    if type(value) in (int, Fraction):
        if max(abs(value.numerator), value.denominator) >= TOO_LONG:
            raise Refused("a number in a text has more than 4 300 digits")
        return
    entries = value if type(value) in (tuple, list) else getattr(value, "_values", None)
    if isinstance(value, dict | MappingProxyType):
        entries = [*value, *value.values()]
    if entries is None and type(value) not in (str, bool, type(None)) and not isinstance(value, Abstract):
        raise Refused(f"a text of a {type(value).__name__} is not of the language")
    for entry in entries or ():
        _require_short(entry)
