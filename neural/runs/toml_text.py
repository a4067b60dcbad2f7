"""Values of a configuration as a TOML file has them: which there can be, how they are written, and where one stands."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from clusterproof.algorithms import InvalidArgument


def plain(argument: str, value: Any) -> Any:
    """Give a value as one that TOML and JSON have both: tuples as lists, and so on.

    Parameters
    ----------
    argument
        For the message.
    value
        Of an option.

    Raises
    ------
    InvalidArgument
        If it is not made of texts, finite numbers, truth values, lists and tables.
    """

    def inside(part: Any) -> Any:
        if isinstance(part, bool):
            return part
        if isinstance(part, str):
            return str.__str__(part)
        if isinstance(part, int):
            return int(part)
        if isinstance(part, float) and math.isfinite(part):
            return float(part)
        if isinstance(part, list | tuple):
            return [inside(element) for element in part]
        if isinstance(part, Mapping) and all(isinstance(key, str) for key in part):
            return {key: inside(element) for key, element in part.items()}
        odd = " ".join(repr(part).split())
        rule = "must be made of texts, finite numbers, truth values, lists and tables, which a stored run can hold"
        remedy = f"write {odd[:100]} as one of these, such as a text"
        raise InvalidArgument(argument, value, rule, remedy)

    return inside(value)


def assignment(key: str, value: Any) -> str:
    """Write ``key = value`` for a value that ``plain`` gives; tables are written in one line."""
    bare = re.fullmatch(r"[A-Za-z0-9_-]+", key)
    return f"{key if bare else _text(key)} = {_written(value)}"


def line_of(text: str, section: str, key: str) -> int | None:
    """Find the line, counted from 1, of a key in its section, or of the section itself.

    Parameters
    ----------
    text
        Of a TOML file.
    section, key
        The key may be a table of the section, in a line or under a header of its own.
    """
    current, header = "", None
    for number, line in enumerate(text.splitlines(), start=1):
        if match := re.match(r"\s*\[{1,2}\s*([^\[\]]+?)\s*\]", line):
            current = match[1].strip("\"'")
            if key and current == f"{section}.{key}":
                return number
            header = number if current == section else header
        elif match := re.match(r"\s*([^=#]+?)\s*=", line):
            written = match[1].strip("\"'")
            if key and current == section and key in (written, written.partition(".")[0]):
                return number
            if not current and written in (f"{section}.{key}", section):
                return number
    return header


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(assignment(key, part) for key, part in value.items())}}}"
    return repr(value)


def _text(value: str) -> str:
    """Write a text in quotes: as JSON does, but for the one character more that TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
