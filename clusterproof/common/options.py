"""Descriptions of parameters from docstrings, for the command line's help."""

from __future__ import annotations

import inspect
import re
from typing import Any


def parameter_descriptions(documented: Any) -> dict[str, str]:
    """Return one line per parameter from the NumPy-style docstring of a class or function."""
    section = (inspect.getdoc(documented) or "").partition("Parameters\n----------\n")[2]
    section = re.split(r"\n\n[A-Z]\w+\n---", section)[0]
    descriptions: dict[str, str] = {}
    for names, text in re.findall(r"^(\w[\w, ]*)\n((?:    .*\n?|\n)+)", section, flags=re.MULTILINE):
        for name in names.split(", "):
            descriptions.setdefault(name, " ".join(text.replace("``", "").split()))
    return descriptions
