"""Where in a user's file an error arose."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clusterproof.common import InvalidArgument


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


def called(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function of the user's; a note of an error that it raises names its file and line.

    Raises
    ------
    InvalidArgument
        If it gives the generator that it is called with for a seed.
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
    except Exception as error:  # of a user's function: raised again with its place
        _name_place(error, place_of(error, function))
        raise


def _name_place(error: Exception, place: str) -> None:
    """Add a note to an error that has none."""
    if place and not getattr(error, "__notes__", ()):
        error.add_note(place)
