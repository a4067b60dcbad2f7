"""Options of the command line: parameters that several classes share, described by their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any


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
    """Join options of one flag: the union of their types, all owners, and the rest of the first."""
    merged: dict[str, Option] = {}
    for option in options:
        if known := merged.get(option.flag):
            same = known.annotation == option.annotation
            annotation = known.annotation if same else known.annotation | option.annotation
            option = replace(known, annotation=annotation, owners=(*known.owners, *option.owners))
        merged[option.flag] = option
    return tuple(merged.values())


def parameter_descriptions(documented: Any) -> dict[str, str]:
    """Return one line per parameter from the NumPy-style docstring of a class or function."""
    section = (inspect.getdoc(documented) or "").partition("Parameters\n----------\n")[2]
    section = re.split(r"\n\n[A-Z]\w+\n---", section)[0]
    descriptions: dict[str, str] = {}
    for names, text in re.findall(r"^(\w[\w, ]*)\n((?:    .*\n?|\n)+)", section, flags=re.MULTILINE):
        for name in names.split(", "):
            descriptions.setdefault(name, " ".join(text.replace("``", "").split()))
    return descriptions
