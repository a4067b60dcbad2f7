"""Layout of text and tables with at most 80 columns, in a terminal and in a pipe."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

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
