"""The folder of a training run: its files, and the lock that keeps a second process out.

``configuration.toml`` says what is trained, ``checkpoints`` holds the last two checkpoints, ``metrics.parquet`` a
row a round, ``tensorboard`` the curves and ``diagnosis.md`` and ``.json`` the hypotheses where they are asked for.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from clusterproof.algorithms.atomic import write_whole
from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.neural.runs.configuration import (
    Configuration,
    configuration_from,
    located,
    read_toml,
    refuse_code,
    to_toml,
)
from clusterproof.neural.runs.storage.checkpoint import find_checkpoint

CONFIGURATION = "configuration.toml"
CHECKPOINTS = "checkpoints"
METRICS = "metrics.parquet"
TENSORBOARD = "tensorboard"
DIAGNOSIS = "diagnosis.md"
LOCK = ".lock"
HOLDER = ".holder"
"""Says which process has the lock: not in the lock itself, which Windows lets nobody else read."""
UNFINISHED = ".clusterproof-"
"""How the names of files begin that are still being written."""


def check_new(out: str | os.PathLike[str]) -> None:
    """Make sure, before anything is computed, that a run can be written into a new folder.

    Raises
    ------
    InvalidArgument
        If the folder holds something, is a file, or cannot be made or written.
    """
    try:
        folder = Path(out).resolve()
        with suppress(FileNotFoundError):
            os.stat(folder)  # a name that is too long is an error, a missing folder is none
        if not os.fspath(out) or (folder.exists() and not folder.is_dir()):
            raise InvalidArgument(
                "out", os.fspath(out), "must be the path of a folder", "choose another name"
            )
        while not folder.exists():
            folder = folder.parent
        os.rmdir(tempfile.mkdtemp(dir=folder, prefix=".clusterproof-"))
        _check_empty(Path(out))
    except (OSError, ValueError) as error:
        raise _refused(out, error) from error


@contextmanager
def new_folder(out: str | os.PathLike[str], configuration: Configuration) -> Iterator[Path]:
    """Make the folder of a run and hold it.

    Where something goes wrong before the first checkpoint is finished, nothing is left behind.

    Raises
    ------
    InvalidArgument
        If the folder holds something, is in use, or cannot be written.
    """
    folder = Path(out)
    present = folder.is_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refused(out, error) from error
    with _locked(folder):
        _check_empty(folder)
        _remove_unfinished(folder)
        try:
            write_configuration(folder, configuration)
            yield folder
        except BaseException:  # Ctrl-C, too, must leave no empty run; it is raised again
            if not list((folder / CHECKPOINTS).glob("*.json")):
                _clear(folder, remove=not present)
            raise


@contextmanager
def held_folder(out: str | os.PathLike[str]) -> Iterator[Path]:
    """Hold the folder of a run that was begun.

    Raises
    ------
    InvalidArgument
        If there is no run in it, or it is in use or cannot be written.
    """
    folder = Path(out)
    if not (folder / CONFIGURATION).is_file() and not (folder / CHECKPOINTS).is_dir():
        rule = f"must be the folder of a training run, with a {CONFIGURATION}"
        raise InvalidArgument("resume", os.fspath(out), rule, "give the folder that --out made")
    with _locked(folder):
        _remove_unfinished(folder)
        yield folder


def stored_configuration(out: str | os.PathLike[str], *, trust: bool = False) -> Configuration:
    """Read how the run in a folder is configured, from its file or, where that is gone, from a checkpoint.

    Parameters
    ----------
    out
        The folder.
    trust
        As for ``read_toml``.

    Raises
    ------
    InvalidArgument
        If there is no run in the folder, or what it says is damaged.
    """
    path = Path(out) / CONFIGURATION
    if path.is_file():
        return read_toml(path, trust=trust)
    stored = find_checkpoint(Path(out) / CHECKPOINTS)
    if stored is None:
        rule = f"must be the folder of a training run, with a {CONFIGURATION}"
        raise InvalidArgument("resume", os.fspath(out), rule, "give the folder that --out made")
    try:
        sections = stored.settings["configuration"]
        if not trust:
            refuse_code(sections)
        return configuration_from(sections)
    except InvalidArgument as error:
        raise located(error, stored.path, "") from error


def write_configuration(folder: Path, configuration: Configuration) -> None:
    """Write how the run is configured."""
    write_whole("out", folder / CONFIGURATION, to_toml(configuration).encode())


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock that the system lets go of when this process ends, however it ends."""
    lock = FileLock(folder / LOCK, blocking=False, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout as error:
        rule = f"is in use by another run, process {_holder(folder)}"
        remedy = "wait for its end or choose another folder"
        raise InvalidArgument("out", os.fspath(folder), rule, remedy) from error
    except OSError as error:
        raise _refused(folder, error) from error
    try:
        try:
            (folder / HOLDER).write_text(f"{os.getpid()}\n")
        except OSError as error:
            raise _refused(folder, error) from error
        yield
    finally:
        with suppress(OSError):
            (folder / HOLDER).unlink(missing_ok=True)
        lock.release()


def _holder(folder: Path) -> str:
    """Say which process has the lock, as far as it can be read."""
    try:
        return (folder / HOLDER).read_text(errors="replace")[:20].strip() or "unknown"
    except OSError:
        return "unknown"


def _clear(folder: Path, *, remove: bool) -> None:
    """Take away what a run that never got to a checkpoint has left."""
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    with suppress(OSError):
        for name in (CONFIGURATION, HOLDER, LOCK):
            (folder / name).unlink(missing_ok=True)
        if remove:
            folder.rmdir()


def _check_empty(folder: Path) -> None:
    """Require that there is nothing in a folder but a lock and its holder, and what a killed process did not finish."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if any(name not in (LOCK, HOLDER) and not name.startswith(UNFINISHED) for name in names):
        begun = CONFIGURATION in names
        remedy = f"continue that run with --resume {folder}" if begun else "choose another name or remove it"
        rule = "holds a run already" if begun else "must not exist or be empty"
        raise InvalidArgument("out", os.fspath(folder), rule, remedy)


def _remove_unfinished(folder: Path) -> None:
    """Remove what a killed process was writing; nobody else is, in a folder that is held."""
    for path in folder.glob(f"{UNFINISHED}*"):
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()


def _refused(out: str | os.PathLike[str], error: Exception) -> InvalidArgument:
    if isinstance(error, InvalidArgument):
        return error
    reason = getattr(error, "strerror", None) or error
    rule = f"must be a folder that can be written ({reason})"
    return InvalidArgument("out", os.fspath(out), rule, "choose another place")
