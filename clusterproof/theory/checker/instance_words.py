"""Words for an instance: its quantities, and the place of an error that it causes."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

LONG = 40
"""Longest text of a quantity that is spelled out."""


def quantities(numbers: Mapping[str, Any]) -> str:
    """Write the quantities of an encoded instance, such as ``step = 1/2, rounds = 3``."""
    return ", ".join(f"{name} = {short(value)}" for name, value in numbers.items())


def short(value: Any) -> str:
    """Write a quantity, or the kind of object that it is if the text is long."""
    text = str(value)
    if len(text) <= LONG:
        return text
    if isinstance(value, dict) and "task" in value:
        return f"a {value['task']} task"
    return text[: LONG - 3] + "..."


def place_of(error: BaseException, function: Callable[..., Any]) -> str:
    """Return the file of a function and the line in it at which an error arose, or its first; empty without a file."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    line = line_of(error, code.co_filename) or code.co_firstlineno
    return f"{Path(code.co_filename).name}, line {line}"


def line_of(error: BaseException, file: str) -> int | None:
    """Return the last line of a file that an error passed; None if there is none."""
    lines = [
        line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file
    ]
    return lines[-1] if lines else None
