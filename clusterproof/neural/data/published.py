"""Published files: their hashes and mirrors, and functions that verify, read and download the files."""

from __future__ import annotations

import hashlib
import http.client
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from clusterproof.common.validation import InvalidArgument, require
from clusterproof.files import LARGE, open_regular

TIMEOUT = 30
"""Number of seconds to wait for an answer before trying the next mirror."""


class MirrorsFailed(RuntimeError):
    """Error raised if no mirror delivers the published file; the message is one line."""


@dataclass(frozen=True)
class PublishedFile:
    """A published file.

    Attributes
    ----------
    name
        Name of the file.
    sha256
        SHA-256 hash of the file's content, in hexadecimal.
    urls
        Addresses of the file, in the order in which they are tried; empty if the file is part of an archive.
    """

    name: str
    sha256: str
    urls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Archive(PublishedFile):
    """An archive in which files were published: a zip file if its name ends in ``.zip``, otherwise a gzipped tar file.

    Attributes
    ----------
    folder
        Common prefix of the files' names inside the archive.
    """

    folder: str = ""


def fault(path: Path, file: PublishedFile) -> str | None:
    """Describe how a file differs from the published file; return None if they are equal."""
    try:
        with open_regular(path, LARGE) as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
    except FileNotFoundError:
        return "missing"
    except (OSError, ValueError) as error:
        return f"cannot be read ({getattr(error, 'strerror', None) or error})"
    return None if found == file.sha256 else f"altered: SHA-256 {found}, expected {file.sha256}"


def require_whole(path: Path, file: PublishedFile, data: str) -> None:
    """Raise ``InvalidArgument`` unless a file equals the published file; the message states how to download it."""
    if (wrong := fault(path, file)) is not None:
        remedy = (
            f"run `clusterproof data fetch {data}`, or give its folder with --data-dir or CLUSTERPROOF_DATA"
        )
        raise InvalidArgument(
            "data_dir", str(path), f"must be the published file of {data} ({wrong})", remedy
        )


def read_members(path: Path, archive: Archive, files: Sequence[PublishedFile]) -> dict[str, bytes]:
    """Read files from an intact archive; return the contents, indexed by file name."""
    members = {archive.folder + file.name: file.name for file in files}
    if archive.name.endswith(".zip"):
        with zipfile.ZipFile(path) as whole:
            return {name: whole.read(member) for member, name in members.items()}
    contents = {}
    with tarfile.open(path) as tar:
        for entry in tar:  # read in the order of the archive, so that it is decompressed only once
            if entry.name in members and (content := tar.extractfile(entry)) is not None:
                contents[members[entry.name]] = content.read()
    return contents


def retrieve(file: PublishedFile, folder: Path, show: Callable[[int, str], None]) -> str:
    """Download a file from the first mirror that delivers the published content; return the host's name.

    Parameters
    ----------
    file
        The file, with its hash and its mirrors.
    folder
        Folder for the file. When the download is complete, it replaces an existing file of the same name.
    show
        Function to call with the downloaded percentage and the file's name.

    Raises
    ------
    InvalidArgument
        If pooch is missing.
    MirrorsFailed
        If no mirror delivers the published content.
    """
    pooch = require("data", file.name, "pooch")
    pooch.get_logger().setLevel("ERROR")
    # ask for "identity": otherwise a server that declares a .gz file as encoded makes the client decompress it
    options = {"timeout": TIMEOUT, "headers": {"Accept-Encoding": "identity"}, "chunk_size": 2**16}
    failures = []
    for url in file.urls:
        host = urlsplit(url).netloc
        downloader = pooch.HTTPDownloader(progressbar=_Percentage(show, file.name), **options)
        try:
            pooch.retrieve(url, f"sha256:{file.sha256}", file.name, folder, downloader=downloader)
            return host
        except (OSError, ValueError, http.client.HTTPException) as error:
            response = getattr(error, "response", None)
            reason = "altered" if "hash" in str(error) else type(error).__name__
            failures.append(f"{host}: {reason if response is None else f'status {response.status_code}'}")
    raise MirrorsFailed(
        f"no mirror gave {file.name} with SHA-256 {file.sha256} ({'; '.join(failures)});"
        f" check the network, or put the file into {folder}"
    )


class _Percentage:
    """Progress bar with the interface that pooch requires; it calls a function with the percentage."""

    def __init__(self, show: Callable[[int, str], None], name: str) -> None:
        self.show, self.name = show, name
        self.total = self.done = 0

    def update(self, size: int) -> None:
        self.done += size
        if self.total:
            self.show(min(100, 100 * self.done // self.total), self.name)

    def reset(self) -> None:
        self.done = 0

    close = reset
