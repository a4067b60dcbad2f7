"""Published files: their names, their SHA-256, where they are found, and their checked content."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.neural.data.readers.malformed import malformed


@dataclass(frozen=True)
class PublishedFile:
    """A file as it was published.

    Attributes
    ----------
    name
        Its name.
    sha256
        Of its content, in hexadecimal.
    urls
        Where it can be fetched, in the order in which to try; empty where it comes in an archive.
    """

    name: str
    sha256: str
    urls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Archive(PublishedFile):
    """An archive in which files were published.

    Attributes
    ----------
    folder
        Folder of the files inside.
    reader
        Gives the content of members: takes the open archive, their paths and the archive's name.
    """

    folder: str = ""
    reader: Callable[[io.BufferedReader, Sequence[str], str], dict[str, bytes]] | None = None


def digest(file: io.BufferedReader) -> str:
    """SHA-256 of a file, from its beginning, at which it is left."""
    file.seek(0)
    result = hashlib.file_digest(file, "sha256").hexdigest()
    file.seek(0)
    return result


def fault(path: Path, file: PublishedFile) -> str | None:
    """Say what is wrong with a file: None where it is whole."""
    try:
        with open(path, "rb") as content:
            found = digest(content)
    except FileNotFoundError:
        return "missing"
    except (OSError, ValueError) as error:
        return f"cannot be read ({getattr(error, 'strerror', None) or error})"
    return None if found == file.sha256 else f"altered: SHA-256 {found}, expected {file.sha256}"


def read_file(path: Path, file: PublishedFile, data: str) -> bytes:
    """Read a file whose SHA-256 is as published.

    Parameters
    ----------
    path
        Where it lies.
    file
        What it must be.
    data
        The data set's name, for the message.

    Raises
    ------
    InvalidArgument
        If it is missing, cannot be read or has another SHA-256.
    """
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise _unreadable(path, data, error) from error
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise _altered(path, file, data, found)
    return content


def read_members(path: Path, archive: Archive, files: Sequence[PublishedFile], data: str) -> dict[str, bytes]:
    """Read files from an archive; its SHA-256 and then theirs must be as published.

    Returns
    -------
    dict
        Content by the files' names.

    Raises
    ------
    InvalidArgument
        If it is missing, cannot be read, has another SHA-256 or does not hold the files.
    """
    assert archive.reader is not None
    try:
        with open(path, "rb") as opened:
            found = digest(opened)
            if found != archive.sha256:
                raise _altered(path, archive, data, found)
            paths = [archive.folder + file.name for file in files]
            contents = archive.reader(opened, paths, str(path))
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise _unreadable(path, data, error) from error
    for file, inside in zip(files, paths, strict=True):
        found = hashlib.sha256(contents[inside]).hexdigest()
        if found != file.sha256:
            raise malformed(str(path), f"must hold {inside} with SHA-256 {file.sha256}, not {found}")
    return {file.name: contents[inside] for file, inside in zip(files, paths, strict=True)}


def _altered(path: Path, file: PublishedFile, data: str, found: str) -> InvalidArgument:
    rule = f"must have SHA-256 {file.sha256}, as published, not {found}"
    return InvalidArgument("data_dir", str(path), rule, _remedy(data))


def _unreadable(path: Path, data: str, error: Exception) -> InvalidArgument:
    missing = isinstance(error, FileNotFoundError)
    reason = "it is missing" if missing else getattr(error, "strerror", None) or str(error)
    return InvalidArgument("data_dir", str(path), f"must be a file of {data} ({reason})", _remedy(data))


def _remedy(data: str) -> str:
    return f"run `clusterproof data fetch {data}`, or name the folder that has it with --data-dir"
