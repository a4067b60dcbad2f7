"""Safe reading of files that others may have made: only regular files, of limited size and depth."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeVar

TOML = 2**20
"""Largest size of a TOML file in bytes; the standard library parses a file of this size in a second."""
TEXT = 64 * 2**20
"""Largest size in bytes of a report in JSON, or of a Python file."""
LARGE = 2 * 2**30
"""Largest size in bytes of a published image file, or of the JSON of a stored run."""
ARRAYS = 64 * 2**30
"""Largest size in bytes of a file of arrays (parquet, safetensors)."""
DEPTH = 100
"""Largest number of nested levels in JSON or TOML."""

_KEY = r"""(?:(?<![\w-])[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
# tomllib's time for a dotted key grows with the square of its number of parts
_DEEP_KEY = re.compile(rf"{_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{{DEPTH}}}")

Value = TypeVar("Value")


@contextmanager
def open_regular(path: str | os.PathLike[str], at_most: int) -> Iterator[BufferedReader]:
    """Open a regular file for reading, without waiting for a pipe's writer.

    Parameters
    ----------
    path
        Path of the file; it may be a symbolic link.
    at_most
        Largest size in bytes.

    Raises
    ------
    OSError
        If the file cannot be opened, is not regular (a pipe may block, a device may have no end) or is too large.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        if status.st_size > at_most:
            fault = f"larger than the {at_most / 2**20:g} MiB that are read of such a file"
            raise OSError(errno.EINVAL, fault, os.fspath(path))
        yield file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # Windows has no pipes in folders


def read_file(path: str | os.PathLike[str], at_most: int) -> bytes:
    """Read a regular file.

    Parameters
    ----------
    path, at_most
        See ``open_regular``.

    Raises
    ------
    OSError
        See ``open_regular``.
    """
    with open_regular(path, at_most) as file:
        # read only this many bytes, since the file may grow
        return file.read(os.fstat(file.fileno()).st_size)


def check_depth(value: Value) -> Value:
    """Return a value decoded from JSON or TOML, after a check of its depth.

    Raises
    ------
    ValueError
        If more than ``DEPTH`` lists and tables are nested, since recursive functions would end with a RecursionError.
    """
    level: list[Any] = [[value]]
    for _ in range(DEPTH + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return value
    raise ValueError(f"nested more than {DEPTH} levels deep")


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of a JSON text, as ``object_pairs_hook`` of ``json.loads``.

    Raises
    ------
    ValueError
        If a name occurs twice, since Python's decoder would keep the last value.
    """
    fields = dict(pairs)
    if len(fields) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the name {name[:60]!r} is given twice")
    return fields


def parse_json(content: bytes | str) -> Any:
    """Parse JSON.

    Raises
    ------
    ValueError
        If the text is not JSON, repeats a name, or is nested more than ``DEPTH`` levels deep.
    """
    try:
        return check_depth(json.loads(content, object_pairs_hook=unique_names))
    except RecursionError:
        raise ValueError(f"nested more than {DEPTH} levels deep") from None


def parse_toml(content: bytes) -> dict[str, Any]:
    """Parse TOML.

    Raises
    ------
    ValueError
        If the text is not TOML in UTF-8, or is nested more than ``DEPTH`` levels deep.
    """
    text = content.decode()
    try:
        if _DEEP_KEY.search(text) is None:
            return check_depth(tomllib.loads(text))
    except RecursionError:
        pass
    raise ValueError(f"nested more than {DEPTH} levels deep")


def user_cache() -> Path:
    """Return the folder in which this program keeps a user's files.

    Raises
    ------
    RuntimeError
        If the user has no home directory.
    """
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "clusterproof"
