"""Published files: their names, SHA-256, mirrors and checked content."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.files import LARGE, open_regular


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
    """A zip file (by its name), or else a gzipped tar file, in which files were published.

    Attributes
    ----------
    folder
        Folder of the files inside.
    """

    folder: str = ""


def fault(path: Path, file: PublishedFile) -> str | None:
    """Describe what is wrong with a file; None if it is whole."""
    try:
        with open_regular(path, LARGE) as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
    except FileNotFoundError:
        return "missing"
    except (OSError, ValueError) as error:
        return f"cannot be read ({getattr(error, 'strerror', None) or error})"
    return None if found == file.sha256 else f"altered: SHA-256 {found}, expected {file.sha256}"


def require_whole(path: Path, file: PublishedFile, data: str) -> None:
    """Raise ``InvalidArgument``, which names the data set and how to fetch it, unless a file is as published."""
    if (wrong := fault(path, file)) is not None:
        remedy = (
            f"run `clusterproof data fetch {data}`, or name its folder by --data-dir or CLUSTERPROOF_DATA"
        )
        raise InvalidArgument(
            "data_dir", str(path), f"must be a file of {data} as published ({wrong})", remedy
        )


def read_members(path: Path, archive: Archive, files: Sequence[PublishedFile]) -> dict[str, bytes]:
    """Read files from an archive that is as published; content by the files' names."""
    members = {archive.folder + file.name: file.name for file in files}
    if archive.name.endswith(".zip"):
        with zipfile.ZipFile(path) as whole:
            return {name: whole.read(member) for member, name in members.items()}
    contents = {}
    with tarfile.open(path) as tar:
        for entry in tar:  # in the order of the file, which is decompressed once
            if entry.name in members and (content := tar.extractfile(entry)) is not None:
                contents[members[entry.name]] = content.read()
    return contents
