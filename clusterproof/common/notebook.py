"""Representation of objects as HTML in notebooks: a heading and a small table."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape


def html_table(heading: str, facts: Mapping[str, object]) -> str:
    """Return a heading and a table of facts as escaped HTML; facts that are None are omitted."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(str(value))}</td></tr>'
        for name, value in facts.items()
        if value is not None
    )
    return f"<div><strong>{escape(heading)}</strong><table>{rows}</table></div>"
