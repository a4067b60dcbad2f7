"""Options of the command line: parameters that several classes share, described by their docstrings."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any

DIFFERENT = {
    "models": "Number of the algorithm's models, its `clusters`.",
    "empty_cluster": 'cfl-mgd: "coast" or "freeze"; gradient-loss: "never", "when-empty" or "always".',
}
"""Descriptions of parameters that mean something else in each algorithm, by flag."""


@dataclass(frozen=True)
class Option:
    """A parameter of a section, such as the algorithm, under at least one of its names.

    Attributes
    ----------
    section, key
        The section, and the parameter's name in Python.
    flag
        Its name among all options: the key, but ``models`` for an algorithm's ``clusters``.
    annotation
        Type of the value.
    help
        Its description in the docstrings.
    owners
        The names under which the section has it; empty if it always has it.
    """

    section: str
    key: str
    flag: str
    annotation: Any
    help: str
    owners: tuple[str, ...]


def merge_options(options: Iterable[Option]) -> tuple[Option, ...]:
    """Join options of one flag: the union of their types, all owners, and the usual description."""
    by_flag: dict[str, list[Option]] = {}
    for option in options:
        by_flag.setdefault(option.flag, []).append(option)
    merged = []
    for same in by_flag.values():
        texts = Counter(option.help for option in same if option.help)
        usual = max(texts, key=lambda text: (texts[text], -len(text)), default="")
        text = DIFFERENT.get(same[0].flag, usual)
        kinds = dict.fromkeys(option.annotation for option in same)
        owners = tuple(owner for option in same for owner in option.owners)
        merged.append(replace(same[0], annotation=reduce(or_, kinds), help=text, owners=owners))
    return tuple(merged)


def parameter_descriptions(documented: Any) -> dict[str, str]:
    """Return one line per parameter from the NumPy-style docstring of a class or function."""
    section = (inspect.getdoc(documented) or "").partition("Parameters\n----------\n")[2]
    section = re.split(r"\n\n[A-Z]\w+\n---", section)[0]
    descriptions: dict[str, str] = {}
    for names, text in re.findall(r"^(\w[\w, ]*)\n((?:    .*\n?|\n)+)", section, flags=re.MULTILINE):
        for name in names.split(", "):
            descriptions.setdefault(name, " ".join(text.replace("``", "").split()))
    return descriptions
