"""The glossary: meanings of the names of facts, and sentences that present their numbers."""

from __future__ import annotations

import string
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from clusterproof.theory.bounds.numbers import short


@cache
def table(name: str) -> dict[str, str]:
    """Return a table of the glossary."""
    text = (files(__package__) / "glossary.toml").read_text(encoding="utf-8")
    found: dict[str, str] = tomllib.loads(text)[name]
    return found


def word(of: str, name: str) -> str:
    """Return the meaning of a name in one of the glossary's tables.

    Raises
    ------
    KeyError
        If the glossary does not have the name, because pages must explain every name that they print.
    """
    return table(of)[name]


class _Filler(string.Formatter):
    """A formatter that writes numbers with three digits, and allows names with any characters but braces and colons."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return kwargs[field_name], field_name

    def format_field(self, value: Any, format_spec: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return str(value)
        return format(value, format_spec) if format_spec else short(value)


def filled(sentence: str, known: Mapping[str, Any]) -> str:
    """Insert numbers into a sentence, or return an empty sentence if a number is None.

    Raises
    ------
    KeyError
        If a name is missing.
    """
    names = [name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None]
    if any(known[name] is None for name in names):
        return ""
    return _Filler().vformat(sentence, (), known)


def shown(name: str, value: Any) -> str:
    """Format a number for a table."""
    return short(value, 4) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
