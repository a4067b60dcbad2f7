"""What docstrings say of parameters, for the help of the command line."""

from __future__ import annotations

import inspect
import re
from typing import Any


def parameter_descriptions(documented: Any) -> dict[str, str]:
    """Give the words on each parameter in a numpy-style docstring, in one line each.

    Parameters
    ----------
    documented
        A class or function; nothing is given where its docstring has no section on parameters.
    """
    section = (inspect.getdoc(documented) or "").partition("Parameters\n----------\n")[2]
    section = re.split(r"\n\n[A-Z]\w+\n---", section)[0]
    found: dict[str, str] = {}
    for names, text in re.findall(r"^(\w[\w, ]*)\n((?:    .*\n?|\n)+)", section, flags=re.MULTILINE):
        for name in names.split(", "):
            found.setdefault(name, " ".join(text.replace("``", "").split()))
    return found
