"""JSON whose every number is a fraction in a string, read with suspicion."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

MAX_DIGITS = 200
"""Digits of a numerator or denominator."""

_FRACTION = re.compile(r"-?(0|[1-9][0-9]*)(/[1-9][0-9]*)?", re.ASCII)


class Unreadable(ValueError):
    """A document that is no certificate; says why."""


class Inconsistent(ValueError):
    """A document in the form of a certificate that speaks of no dynamics; says why."""


def read_json(document: bytes | str, largest: int) -> object:
    """Read JSON that holds no numbers and gives no name twice.

    Parameters
    ----------
    document
        The text.
    largest
        Bytes or letters that it may have.

    Raises
    ------
    Unreadable
        If it does.
    """
    if len(document) > largest:
        raise Unreadable(f"longer than {largest} bytes")
    try:
        return json.loads(
            document,
            object_pairs_hook=_no_duplicates,
            parse_int=_no_number,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
    except Unreadable:
        raise
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON ({type(error).__name__}: {str(error)[:100]})") from error


def read_bytes(path: str | os.PathLike[str], largest: int) -> bytes:
    """Read a file, or as much of it as shows that it is too long.

    Raises
    ------
    Unreadable
        If it cannot be read.
    """
    try:
        if not Path(path).is_file():
            raise Unreadable("not a file")
        with open(path, "rb") as file:
            return file.read(largest + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable(f"cannot be read ({getattr(error, 'strerror', None) or error})") from error


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of a document's content, whatever the order and spacing of the file."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def read_object(value: object, where: str, names: Sequence[str]) -> dict[str, Any]:
    """Require an object with exactly the given names.

    Raises
    ------
    Unreadable
        If it is none.
    """
    if not isinstance(value, dict) or value.keys() != set(names):
        raise Unreadable(f"{where} must have exactly the names " + ", ".join(names))
    return value


def read_fraction(value: object, where: str) -> Fraction:
    """Require a fraction in lowest terms, in a string.

    Raises
    ------
    Unreadable
        If it is none, or has too many digits.
    """
    if not isinstance(value, str) or len(value) > 2 * MAX_DIGITS + 2 or not _FRACTION.fullmatch(value):
        raise Unreadable(f'{where} must be a fraction such as "1/3"')
    if max(len(part.lstrip("-")) for part in value.split("/")) > MAX_DIGITS:
        raise Unreadable(f"{where} must have at most {MAX_DIGITS} digits")
    number = Fraction(value)
    if str(number) != value:
        raise Unreadable(f"{where} must be in lowest terms")
    return number


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Unreadable("a name is given twice")
    return fields


def _no_number(text: str) -> None:
    raise Unreadable(f"{text[:20]} must be a fraction in a string")
