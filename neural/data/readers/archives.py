"""Members of the archives in which CIFAR-10 and EMNIST are published, and the error of a malformed file."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from typing import BinaryIO

from clusterproof.algorithms.validation import InvalidArgument

LARGEST = 2**30
"""Bytes that a tar file or a member of a zip file may have; what is published has a fifth of it."""

# What the libraries raise on bytes that are no archive, beside their own exceptions.
_BROKEN = (
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    RuntimeError,
    zlib.error,
    lzma.LZMAError,
)


def malformed(source: str, rule: str) -> InvalidArgument:
    """Make the error for a file whose content contradicts its format or its data set.

    Parameters
    ----------
    source
        The file, as the user would look for it.
    rule
        What must hold.
    """
    remedy = "delete it and run `clusterproof data fetch`, or name another folder with --data-dir"
    return InvalidArgument("data_dir", source, rule, remedy)


def read_tar(file: BinaryIO, names: Sequence[str], source: str) -> dict[str, bytes]:
    """Read members of a gzipped tar file.

    Parameters
    ----------
    file
        The archive, open at its beginning.
    names
        Paths of the members inside.
    source
        The archive's name, for the message.

    Returns
    -------
    dict
        Content by path.

    Raises
    ------
    InvalidArgument
        If it is no such archive, or a member is missing, no regular file or too large.
    """
    contents: dict[str, bytes] = {}
    try:
        # in memory, because a tarfile that streams walks through any size that a header claims
        with tarfile.open(fileobj=_unpacked(file, source), mode="r:") as archive:
            for member in archive:
                if member.name in names:
                    content = archive.extractfile(member) if member.isreg() else None
                    if content is None:
                        raise malformed(source, f"must hold {member.name} as a regular file")
                    contents[member.name] = content.read()
    except InvalidArgument:
        raise
    except (tarfile.TarError, *_BROKEN) as error:
        raise malformed(source, f"must be a whole tar.gz archive ({_reason(error)})") from error
    for name in names:
        if name not in contents:
            raise malformed(source, f"must hold {name}")
    return contents


def read_zip(file: BinaryIO, names: Sequence[str], source: str) -> dict[str, bytes]:
    """Read members of a zip file; arguments, result and refusals as in ``read_tar``."""
    contents: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            members = {member.filename: member for member in archive.infolist()}
            for name in names:
                if name not in members:
                    raise malformed(source, f"must hold {name}")
                _check_size(members[name].file_size, name, source)
                contents[name] = archive.read(members[name])
    except InvalidArgument:
        raise
    except (zipfile.BadZipFile, zipfile.LargeZipFile, *_BROKEN) as error:
        raise malformed(source, f"must be a whole zip archive ({_reason(error)})") from error
    return contents


def _unpacked(file: BinaryIO, source: str) -> io.BytesIO:
    """Decompress a gzip file whose content is no longer than ``LARGEST``."""
    content = io.BytesIO()
    with gzip.GzipFile(fileobj=file) as packed:
        while piece := packed.read(2**20):
            content.write(piece)
            _check_size(content.tell(), "its files", source)
    content.seek(0)
    return content


def _check_size(size: int, name: str, source: str) -> None:
    if size > LARGEST:
        raise malformed(source, f"must hold {name} with at most {LARGEST} bytes, not {size}")


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
