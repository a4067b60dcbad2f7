"""Record the files that a user's code opens for reading, with their SHA-256, because results may depend on these files.

Python reports each file that it opens. Files that a library opens without Python, as Polars does, remain unknown.
"""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

CODE = (".py", ".pyc", ".pyi", ".so", ".pyd")
"""Suffixes of code files, whose digests are computed elsewhere."""

_opened: dict[str, None] = {}
_running: ContextVar[tuple[list[str], ...]] = ContextVar(
    "what this thread has read in each block", default=()
)
_readers: set[str] = set()


@cache
def watch() -> None:
    """Record the files that this process opens from now on; a second call changes nothing."""
    sys.addaudithook(_note)


@contextmanager
def reading(owner: str) -> Iterator[None]:
    """Record whether the code of a module reads something besides code in this block; see ``has_read``."""
    watch()
    read: list[str] = []
    token = _running.set((*_running.get(), read))
    try:
        yield
    finally:
        _running.reset(token)
        if not all(map(_is_of_a_library, read)):
            _readers.add(owner)


def has_read(owner: str) -> bool:
    """Return whether a module read something besides code in a block of ``reading``: files or input."""
    return owner in _readers


def digests_of_opened() -> dict[str, str]:
    """Return the SHA-256 of each file that was opened for reading since ``watch``, indexed by absolute path.

    The result omits code, files that no longer exist, and files of Python, of installed packages and of the system.
    """
    found = {path: digest_of_file(path) for path in list(_opened) if not _is_of_a_library(path)}
    return {path: digest for path, digest in found.items() if digest is not None}


def digest_of_file(path: str) -> str | None:
    """Return the SHA-256 of a file, or None if the path is not a readable regular file."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "builtins.input":
        for read in _running.get():
            read.append(event)
    if event != "open":
        return
    path, mode, flags = arguments
    if isinstance(path, int) or (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)):
        return
    if not (isinstance(mode, str) and set(mode) & set("wax+")):
        absolute = os.path.abspath(os.fsdecode(path))
        _opened[absolute] = None
        for read in _running.get():
            read.append(absolute)


@cache
def _library_folders() -> tuple[Path, ...]:
    folders = {
        *sysconfig.get_paths().values(),
        sys.prefix,
        sys.base_prefix,
        str(Path(__file__).parent),
    }
    return tuple(Path(folder) for folder in ("/proc", "/sys", "/dev", "/etc", "/usr", *folders))


def _is_of_a_library(path: str) -> bool:
    if any(part.endswith((".egg-info", ".dist-info")) for part in Path(path).parts):  # facts of a package
        return True
    return path.endswith(CODE) or any(Path(path).is_relative_to(folder) for folder in _library_folders())
