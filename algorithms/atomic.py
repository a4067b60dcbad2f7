"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

import psutil

from clusterproof.algorithms.validation import InvalidArgument


def check_writable(argument: str, path: Path) -> None:
    """Make sure, before anything is computed, that ``write_whole`` will be able to write.

    Parameters
    ----------
    argument
        Name of the argument that gave the path, for the message.
    path
        A file that may exist, in a folder that must.

    Raises
    ------
    InvalidArgument
        If it is a folder, or its folder is missing or cannot be written.
    """
    try:
        if _is_special(path):
            return
        target = path.resolve()
        if target.is_dir():
            raise InvalidArgument(argument, str(path), "must be a file, not a folder", "add a file name")
        probe = _partial(target)
        with open(probe, "xb"):
            os.unlink(probe)
        with suppress(FileNotFoundError):
            os.stat(target)  # a name that is too long is an error, a missing file is none
    except (OSError, ValueError) as error:
        raise _refuse(argument, path, error) from error


def write_whole(argument: str, path: Path, content: bytes, *, sync: bool = True) -> None:
    """Write a file beside its place and rename it, so that nobody sees half of it.

    What is no regular file, such as ``/dev/stdout`` or a named pipe, is written to directly.

    Parameters
    ----------
    argument
        Name of the argument that gave the path, for the message.
    path
        Replaced if it exists.
    content
        What to write.
    sync
        Whether to wait until the disk has it. Without that a crash of the machine, though none of the program, may
        leave a damaged file.

    Raises
    ------
    InvalidArgument
        If it cannot be written; what was there before is kept.
    """
    try:
        if _is_special(path):
            with open(path, "wb") as file:
                file.write(content)
            return
        target = path.resolve()
        partial = _partial(target)
        try:
            with open(partial, "xb") as file:
                file.write(content)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(partial, target)
        except BaseException:  # Ctrl-C, too, must leave nothing behind; it is raised again
            partial.unlink(missing_ok=True)
            raise
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise _refuse(argument, path, error) from error


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def remove_abandoned(folder: Path) -> None:
    """Remove what writers that were killed have left half written in a folder.

    Parameters
    ----------
    folder
        Where ``write_whole`` is used. A file of a process that still runs is left alone.
    """
    for path in folder.glob(".clusterproof-*.partial"):
        writer = path.name.split("-")[1]
        if not (writer.isdecimal() and psutil.pid_exists(int(writer))):
            with suppress(OSError):
                path.unlink()


def _partial(target: Path) -> Path:
    return target.with_name(f".clusterproof-{os.getpid()}-{secrets.token_hex(4)}.partial")


def _refuse(argument: str, path: Path, error: Exception) -> InvalidArgument:
    if isinstance(error, InvalidArgument):
        return error
    reason = getattr(error, "strerror", None) or error
    return InvalidArgument(
        argument, str(path), f"must be a file that can be written ({reason})", "choose another place"
    )
