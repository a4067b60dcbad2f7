"""The folder of a training run: its files, and the lock that keeps a second process out.

``configuration.toml`` holds the configuration, ``checkpoints`` the newest checkpoint, ``metrics.parquet`` a row a
round, and ``clients.parquet`` a row a client and evaluated round, if requested.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from clusterproof.algorithms.atomic import naming_folder, require_plain, write_whole
from clusterproof.algorithms.validation import InvalidArgument, require
from clusterproof.neural.runs.configuration import (
    Configuration,
    configuration_of_file,
    read_toml,
    to_toml,
)
from clusterproof.neural.runs.storage.checkpoint import find_checkpoint

if TYPE_CHECKING:
    from filelock import FileLock

CONFIGURATION = "configuration.toml"
CHECKPOINTS = "checkpoints"
METRICS = "metrics.parquet"
CLIENTS = "clients.parquet"
LOCK = ".lock"
UNFINISHED = ".clusterproof-"
"""Prefix of the names of files that are still being written."""


@contextmanager
def new_folder(out: str | os.PathLike[str]) -> Iterator[Path]:
    """Make the folder of a run and lock it, before anything is computed.

    If an error occurs before the first checkpoint is complete, what was made is removed again.

    Raises
    ------
    InvalidArgument
        If the folder holds something, is a file, is in use, or cannot be made or written.
    """
    folder = Path(out)
    _make_lock(folder)  # refuse before a folder is made
    with naming_folder("out", out):
        if not os.fspath(out) or (folder.exists() and not folder.is_dir()):
            rule = "must be the path of a folder"
            raise InvalidArgument("out", os.fspath(out), rule, "choose another name")
        _check_empty(folder)
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        _check_empty(folder)
        _remove_unfinished(folder)
        try:
            yield folder
        except BaseException:  # includes KeyboardInterrupt: no empty run is left behind
            if not list((folder / CHECKPOINTS).glob("*.json")):
                _clear(folder, made)
            raise


@contextmanager
def held_folder(out: str | os.PathLike[str]) -> Iterator[Path]:
    """Hold the folder of a run that was begun.

    Raises
    ------
    InvalidArgument
        If there is no run in it, it holds a link, or it is in use or cannot be written.
    """
    folder = Path(out)
    _require_plain("resume", folder)
    if not (folder / CONFIGURATION).is_file() and not (folder / CHECKPOINTS).is_dir():
        raise _no_run(out)
    with _locked(folder):
        _remove_unfinished(folder)
        yield folder


def stored_configuration(
    out: str | os.PathLike[str], *, code: Mapping[str, str] | None = None
) -> Configuration:
    """Read the configuration of the run in a folder from its file or, if that is missing, from a checkpoint.

    Parameters
    ----------
    out
        The folder.
    code
        As for ``read_toml``.

    Raises
    ------
    InvalidArgument
        If there is no run in the folder, it holds a link, or its configuration is damaged.
    """
    _require_plain("resume", Path(out))
    path = Path(out) / CONFIGURATION
    if path.is_file():
        return read_toml(path, code=code)
    stored = find_checkpoint(Path(out) / CHECKPOINTS)
    if stored is None:
        raise _no_run(out)
    return configuration_of_file(stored.settings["configuration"], stored.path, code or {})


def write_configuration(folder: Path, configuration: Configuration) -> None:
    """Write the configuration file of a run."""
    write_whole("out", folder / CONFIGURATION, to_toml(configuration).encode())


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder; the operating system releases the lock even if the process is killed."""
    lock = _make_lock(folder)
    try:
        with naming_folder("out", folder):
            lock.acquire()
    except TimeoutError as error:
        remedy = "wait for its end or choose another folder"
        raise InvalidArgument("out", os.fspath(folder), "is in use by another run", remedy) from error
    try:
        yield
    finally:
        lock.release()


def _make_lock(folder: Path) -> FileLock:
    """Return the lock of a folder, without acquiring it."""
    filelock = require("out", os.fspath(folder), "filelock")
    lock: FileLock = filelock.FileLock(folder / LOCK, blocking=False, fallback_to_soft=False)
    return lock


def _clear(folder: Path, made: list[Path]) -> None:
    """Remove the files of a run without a checkpoint, and the folders that were made for it, if they are empty."""
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    with suppress(OSError):
        for name in (CONFIGURATION, LOCK):
            (folder / name).unlink(missing_ok=True)
        for path in made:
            path.rmdir()


def _check_empty(folder: Path) -> None:
    """Require that a folder holds nothing but a lock and unfinished files of a killed process."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if any(name != LOCK and not name.startswith(UNFINISHED) for name in names):
        begun = CONFIGURATION in names
        remedy = f"continue that run with --resume {folder}" if begun else "choose another name or remove it"
        rule = "holds a run already" if begun else "must not exist or be empty"
        raise InvalidArgument("out", os.fspath(folder), rule, remedy)
    _require_plain("out", folder)


def _require_plain(argument: str, folder: Path) -> None:
    """Require that a folder, which may be a link itself, holds no links, nor what is no file; see ``require_plain``."""
    with naming_folder(argument, folder):
        require_plain(argument, *(folder.iterdir() if folder.is_dir() else ()))


def _remove_unfinished(folder: Path) -> None:
    """Remove unfinished files of a killed process; in a locked folder no other process is writing."""
    for path in folder.glob(f"{UNFINISHED}*"):
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()


def _no_run(out: str | os.PathLike[str]) -> InvalidArgument:
    rule = f"must be the folder of a training run, with a {CONFIGURATION}"
    remedy = "give the folder that --out made"
    if inner := sorted(path.parent for path in Path(out).glob(f"seed-*/{CONFIGURATION}")):
        remedy = (
            f"rerun the command with --seeds that made it, or give the folder of one run, such as {inner[0]}"
        )
    return InvalidArgument("resume", os.fspath(out), rule, remedy)
