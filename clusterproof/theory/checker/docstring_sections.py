"""Theorem cards: a claim's own sections, and those that it shares with its family."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

ORDER = ("Hypotheses", "Statement", "Proof", "Symbols", "Source", "Checked")
"""First words of the sections, such as "Proof that it says nothing"."""


def card_of(function: Callable[..., Any], shared: Mapping[str, str]) -> str:
    """Make the card from a function's docstring: its title, and its sections before the shared ones.

    Parameters
    ----------
    function
        The statement; its docstring's first line is the title.
    shared
        Sections of the family, which a section of the same name replaces.
    """
    title, _, text = inspect.cleandoc(function.__doc__ or "").partition("\n")
    own = {
        name: body.strip("\n")
        for name, body in re.findall(r"^(\S.*)\n((?:[ \t]+.*\n?|\n)+)", text.strip("\n") + "\n", flags=re.M)
    }
    common = {name: textwrap.indent(inspect.cleandoc(body), "    ") for name, body in shared.items()}
    sections = own | {name: body for name, body in common.items() if name not in own}
    names = sorted(sections, key=_place)
    return "\n\n".join([title, *(f"{name}\n{sections[name].rstrip()}" for name in names)])


def _place(name: str) -> int:
    first = name.split()[0]
    return ORDER.index(first) if first in ORDER else len(ORDER)
