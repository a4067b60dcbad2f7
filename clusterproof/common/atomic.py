"""Atomic writes of files, and checks of a run's folder."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from clusterproof.common.validation import InvalidArgument


def check_writable(argument: str, path: Path) -> None:
    """Check before a computation that ``write_whole`` can write a file.

    Raises
    ------
    InvalidArgument
        If the path is a folder, or its folder is missing or not writable; the message names the argument.
    """
    try:
        if _is_special(path):
            return
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise InvalidArgument(argument, str(path), "must be a file, not a folder", "add a file name")
        probe = _partial(target)
        with open(probe, "xb"):
            os.unlink(probe)
        with suppress(FileNotFoundError):
            os.stat(target)  # a name that is too long is an error; a missing file is not
    except (OSError, ValueError) as error:
        raise _refuse(argument, path, error) from error


def check_distinct(**paths: Path | None) -> None:
    """Check before a computation that no two arguments name the same file or folder.

    Raises
    ------
    InvalidArgument
        If two arguments name the same file or folder. Special files, such as ``/dev/null``, may be named twice.
    """
    named: dict[str, str] = {}
    for argument, path in paths.items():
        if path is not None and not _is_special(path):
            other = named.setdefault(os.path.realpath(path), argument)
            if other != argument:
                rule = f"must differ from --{other}, which it would replace"
                raise InvalidArgument(argument, str(path), rule, "choose another name")


def write_whole(argument: str, path: Path, content: bytes, *, sync: bool = True) -> None:
    """Write a temporary file in the same folder and rename it, so that no partial file is visible.

    Special files, such as ``/dev/stdout`` or a named pipe, are written directly.

    Parameters
    ----------
    argument
        Name of the argument whose value is the path, for the message.
    path, content
        Path and content of the file; an existing file is replaced.
    sync
        Whether to wait until the file is on disk, so that a system crash cannot damage it.

    Raises
    ------
    InvalidArgument
        If the file cannot be written; an existing file is kept.
    """
    try:
        if _is_special(path):
            with open(path, "wb") as file:
                file.write(content)
            return
        target = Path(os.path.realpath(path))
        partial = _partial(target)
        try:
            with open(partial, "xb") as file:
                file.write(content)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(partial, target)
        except BaseException:  # Ctrl-C, like an error, must leave no temporary file
            partial.unlink(missing_ok=True)
            raise
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise _refuse(argument, path, error) from error


@contextmanager
def naming_folder(argument: str, folder: str | os.PathLike[str]) -> Iterator[None]:
    """Convert errors of the operating system to ``InvalidArgument``; the message names the argument and the folder."""
    try:
        yield
    except (InvalidArgument, TimeoutError):
        raise
    except (OSError, ValueError) as error:
        rule = f"must be a folder that can be written ({getattr(error, 'strerror', None) or error})"
        raise InvalidArgument(argument, os.fspath(folder), rule, "choose another path") from error


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def require_plain(argument: str, *paths: Path) -> None:
    """Require, before opening files in a run's folder, that all of them are regular files or folders.

    A symbolic link would lead to a file elsewhere, and a pipe or a device could block.

    Parameters
    ----------
    argument
        Name of the argument whose value is the run's folder, for the message.
    paths
        Files and folders inside the run's folder, which may be missing; the contents of folders are checked as well.
        The run's folder itself may be a link.

    Raises
    ------
    InvalidArgument
        If a path is neither a regular file nor a folder; the message names it.
    """
    waiting = list(paths)
    while waiting:
        path = waiting.pop()
        try:
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                waiting += path.iterdir()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            rule = f"must be a file or folder that can be read ({getattr(error, 'strerror', None) or error})"
            raise InvalidArgument(argument, str(path), rule, "change its permissions or its name") from error
        if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
            rule = "must be a regular file or a folder, not a symbolic link, a pipe or a device"
            raise InvalidArgument(argument, str(path), rule, "replace it by the file or the folder itself")


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of terminated processes from a folder; keep the files of running processes.

    On Windows, all files are kept.
    """
    for path in folder.glob(".clusterproof-*.partial"):
        writer = path.name.split("-")[1]
        if not (writer.isdecimal() and _is_running(int(writer))):
            with suppress(OSError):
                path.unlink()


def _is_running(process: int) -> bool:
    if os.name != "posix":  # on Windows, signal number 0 would end the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):  # raised for a number that no process has
        return False
    except PermissionError:  # the process belongs to another user
        return True
    return True


def _partial(target: Path) -> Path:
    return target.with_name(f".clusterproof-{os.getpid()}-{secrets.token_hex(4)}.partial")


def _refuse(argument: str, path: Path, error: Exception) -> InvalidArgument:
    if isinstance(error, InvalidArgument):
        return error
    reason = getattr(error, "strerror", None) or error
    return InvalidArgument(
        argument, str(path), f"must be a file that can be written ({reason})", "choose another path"
    )
