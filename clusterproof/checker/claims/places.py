"""Find the line of a user's file at which an error was raised."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clusterproof.common import InvalidArgument


def place_of(error: BaseException, function: Callable[..., Any]) -> str:
    """Return "FILE, line N" for an error in a function, or an empty string if the function has no file."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    line = line_of(error, code.co_filename) or code.co_firstlineno
    return f"{Path(code.co_filename).name}, line {line}"


def line_of(error: BaseException, file: str) -> int | None:
    """Return the number of the last line in a traceback that belongs to a file, or None if no line does."""
    lines = [
        line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file
    ]
    return lines[-1] if lines else None


def called(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a user's function; if it raises an error, add a note with the file and the line.

    Raises
    ------
    InvalidArgument
        If the function passes a random generator as a seed.
    """
    try:
        return function(*arguments, **named)
    except InvalidArgument as error:
        raised = error
        if error.argument == "seed" and hasattr(error.value, "integers"):
            rule, remedy = "must be an integer, not a generator", "write seed=int(stream.integers(2**31))"
            raised = InvalidArgument("seed", error.value, rule, remedy)
        _name_place(raised, place_of(error, function))
        raise raised from error.__cause__
    except Exception as error:  # an error of a user's function: raise it again with a note on its place
        _name_place(error, place_of(error, function))
        raise


def _name_place(error: Exception, place: str) -> None:
    """Add the place as a note to an error that has no notes yet."""
    if place and not getattr(error, "__notes__", ()):
        error.add_note(place)
