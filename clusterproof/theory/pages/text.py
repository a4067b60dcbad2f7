"""Names, sentences and layout of the text of a page."""

from __future__ import annotations

import re
import string
import textwrap
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


WIDTH, LABEL = 80, 10
"""Width of a page, and width of the labels at the left, in columns."""


GLUE = re.compile(r" (?=[=<>%+-][ =]|%)|(?<=[=<>+-]) ")
"""Spaces at which a line must not break: around a relation, and before a percent sign."""


def paragraph(text: str, first: str = "", indent: str = "", *, glued: bool = True) -> str:
    """Wrap a text. Its first line begins with ``first``, and all other lines begin with ``indent``."""
    return textwrap.fill(
        GLUE.sub("\N{NO-BREAK SPACE}", text) if glued else text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ).replace("\N{NO-BREAK SPACE}", " ")


def block(label: str, *paragraphs: str) -> str:
    """Lay out paragraphs to the right of a label, and omit empty paragraphs."""
    lines: list[str] = []
    for text in filter(None, paragraphs):
        head = f"{'' if lines else label:<{LABEL}}"
        lines.append(paragraph(text, head, " " * LABEL))
    return "\n".join(lines)


def rows(cells: Sequence[Sequence[str]], right: Sequence[int] = (), indent: str = "") -> str:
    """Align rows of cells as a table, and wrap the last column."""
    sizes = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = []
    for row in cells:
        parts = [
            f"{cell:>{size}}" if column in right else f"{cell:<{size}}"
            for column, (cell, size) in enumerate(zip(row, sizes, strict=True))
        ]
        head = indent + "".join(f"{part}  " for part in parts[:-1])
        last = parts[-1].rstrip() if len(row) - 1 not in right else parts[-1]
        lines.append(paragraph(last, head, " " * len(head), glued=False) if last.strip() else head)
    return "\n".join(line.rstrip() for line in lines)


def joined(names: Sequence[str]) -> str:
    """Join names, for example as "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def sizes(values: Sequence[int]) -> str:
    """Write sizes, for example as "10 each" or "50, 30 and 20", or as a range if there are many."""
    if len(set(values)) == 1:
        return f"{values[0]} each"
    return joined([str(one) for one in values]) if len(values) <= 5 else f"{min(values)} to {max(values)}"


def between(low: str, high: str) -> str:
    """Write a range, or one number if both ends have the same digits."""
    return low if low == high else f"{low} to {high}"
