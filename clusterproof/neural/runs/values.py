"""Values of a configuration: their types and ranges, what TOML and JSON can both hold, and where one is in a file."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

import msgspec

from clusterproof.algorithms import InvalidArgument

_BOUNDS = {">=": "at least", "<=": "at most", ">": "greater than", "<": "below"}
_KINDS = {"`": "", "| null": "", "array": "list", "object": "table", "str": "text"}


def checked(argument: str, value: Any, kind: Any) -> Any:
    """Check a value against its type and range, without conversion but of an integer to a float.

    Parameters
    ----------
    argument
        For the message.
    value
        As it is given or read.
    kind
        Its annotation, a range as ``msgspec.Meta``.

    Raises
    ------
    InvalidArgument
        If it has another type, or is out of range.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text = str(error)
        rule, remedy = text, "change the value"
        for word, plain_word in _KINDS.items():
            rule = rule.replace(word, plain_word)
        rule = f"has the wrong type: {' '.join(rule.split())}"
        for choices in (part for part in (kind, *get_args(kind)) if get_origin(part) is Literal):
            rule = f"must be one of {', '.join(map(repr, get_args(choices)))}"
            remedy = f"use {get_args(choices)[0]!r}"
        if bound := re.search(r"`(int|float).*` ([<>]=?) (\S+)", text):
            number = "an integer" if bound[1] == "int" else "a finite number"
            rule = f"must be {number}, {_BOUNDS[bound[2]]} {bound[3].removesuffix('.0')}"
            remedy = "lower it" if "<" in bound[2] else "raise it"
        raise InvalidArgument(argument, value, rule, remedy) from error


def plain(argument: str, value: Any) -> Any:
    """Convert a value to one that TOML and JSON both have: tuples to lists, and so on.

    Parameters
    ----------
    argument
        Name of the option in error messages.
    value
        Value of the option.

    Raises
    ------
    InvalidArgument
        If it is not made of texts, finite numbers, truth values, lists and tables.
    """

    def convert(part: Any) -> Any:
        if isinstance(part, bool):
            return part
        if isinstance(part, str):
            return str.__str__(part)
        if isinstance(part, int) or (isinstance(part, float) and math.isfinite(part)):
            return int(part) if isinstance(part, int) else float(part)
        if isinstance(part, list | tuple):
            return [convert(element) for element in part]
        if isinstance(part, Mapping) and all(isinstance(key, str) for key in part):
            return {key: convert(element) for key, element in part.items()}
        odd = " ".join(repr(part).split())
        rule = "must be made of texts, finite numbers, truth values, lists and tables, which a stored run can hold"
        remedy = f"write {odd[:100]} as one of these, such as a text"
        raise InvalidArgument(argument, value, rule, remedy)

    return convert(value)


def line_of(text: str, section: str, key: str) -> int | None:
    """Find the line, counted from 1, of a key in its section, or of the section itself.

    Parameters
    ----------
    text
        Text of a TOML file.
    section, key
        Names of both. The key may be a table, inline or with its own header.
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
