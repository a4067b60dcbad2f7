"""The file and line of a user's file in which an error arose."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clusterproof.common import InvalidArgument


def place_of(error: BaseException, function: Callable[..., Any]) -> str:
    """Return a function's file and the line in it where an error arose, or its first line; empty without a file."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    line = line_of(error, code.co_filename) or code.co_firstlineno
    return f"{Path(code.co_filename).name}, line {line}"


def line_of(error: BaseException, file: str) -> int | None:
    """Return the last line of a file through which an error passed; None if there is none."""
    lines = [
        line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file
    ]
    return lines[-1] if lines else None


def called(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a user's function; any error that it raises gets a note with file and line.

    Raises
    ------
    InvalidArgument
        If the function passes its generator where a seed is expected.
    """
    try:
        return function(*arguments, **named)
    except InvalidArgument as error:
        raised = error
        if error.argument == "seed" and hasattr(error.value, "integers"):
            rule, remedy = "must be an integer, and is a generator", "write seed=int(stream.integers(2**31))"
            raised = InvalidArgument("seed", error.value, rule, remedy)
        _name_place(raised, place_of(error, function))
        raise raised from error.__cause__
    except Exception as error:  # an error of a user's function: raise it again with its place
        _name_place(error, place_of(error, function))
        raise


def _name_place(error: Exception, place: str) -> None:
    """Add a note to an error that has none yet."""
    if place and not getattr(error, "__notes__", ()):
        error.add_note(place)
