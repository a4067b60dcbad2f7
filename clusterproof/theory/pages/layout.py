"""Blocks of text and tables, at most 80 columns wide in a terminal and in a pipe."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

WIDTH, LABEL = 80, 10
"""Width of a page, and of the labels at its left, in columns."""


GLUE = re.compile(r" (?=[=<>%+-][ =]|%)|(?<=[=<>+-]) ")
"""Blanks at which no line may end: around a relation, and before a percent sign."""


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
    """Return paragraphs beside a label; empty paragraphs are left out."""
    lines: list[str] = []
    for text in filter(None, paragraphs):
        head = f"{'' if lines else label:<{LABEL}}"
        lines.append(paragraph(text, head, " " * LABEL))
    return "\n".join(lines)


def rows(cells: Sequence[Sequence[str]], right: Sequence[int] = (), indent: str = "") -> str:
    """Align rows of cells; the last column is wrapped."""
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
    """Join names as in "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def sizes(values: Sequence[int]) -> str:
    """Write sizes as "10 each" or "50, 30 and 20", or as their range if there are many."""
    if len(set(values)) == 1:
        return f"{values[0]} each"
    return joined([str(one) for one in values]) if len(values) <= 5 else f"{min(values)} to {max(values)}"


def between(low: str, high: str) -> str:
    """Write a range, or one number if both ends look the same."""
    return low if low == high else f"{low} to {high}"
