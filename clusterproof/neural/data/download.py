"""Published files from their mirrors, each tried in turn."""

from __future__ import annotations

import http.client
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from urllib.parse import urlsplit

from clusterproof.algorithms.atomic import naming_folder, write_whole
from clusterproof.algorithms.validation import require
from clusterproof.neural.data.catalogue import Dataset
from clusterproof.neural.data.published import PublishedFile, fault, read_members

TIMEOUT = 30
"""Seconds without an answer after which a mirror is given up."""


class MirrorsFailed(RuntimeError):
    """No mirror gave the file that was published; the message is one line."""


def fetch(
    dataset: Dataset, folder: Path, show: Callable[[int, str], None] = lambda *_: None
) -> Iterator[str]:
    """Bring a data set's files into a folder; what is whole there already is kept.

    Each file is written beside its place and renamed when its SHA-256 is as published. An archive
    is removed after its files have been taken out.

    Parameters
    ----------
    dataset
        What is known about it.
    folder
        Made if it is missing.
    show
        Takes the percentage of the file under way and its name.

    Yields
    ------
    str
        What was done, a line for each file.

    Raises
    ------
    InvalidArgument
        If the folder cannot be written or pooch is missing.
    MirrorsFailed
        If no mirror gives the file as published.
    """
    needed = [file for file in dataset.files if fault(folder / file.name, file) is not None]
    with naming_folder("data_dir", folder):
        folder.mkdir(parents=True, exist_ok=True)
        if needed:  # a folder that cannot be written is no mirror's fault
            TemporaryFile(dir=folder).close()
    yield from (f"{file.name}: here, whole" for file in dataset.files if file not in needed)
    if needed and dataset.archive is not None:
        archive = dataset.archive
        path = folder / archive.name
        if fault(path, archive) is not None:
            host = _retrieve(archive, path, show)
            yield f"{archive.name}: fetched from {host}"
        contents = read_members(path, archive, needed)
        for file in needed:
            write_whole("data_dir", folder / file.name, contents[file.name])
            yield f"{file.name}: taken from {archive.name}"
        path.unlink()
    else:
        for file in needed:
            host = _retrieve(file, folder / file.name, show)
            yield f"{file.name}: fetched from {host}"


def _retrieve(file: PublishedFile, path: Path, show: Callable[[int, str], None]) -> str:
    """Fetch a file from the first mirror that gives it as published; return that mirror's host."""
    pooch = require("data", file.name, "pooch")
    # identity: a server that declares a .gz file to be merely encoded would have it unpacked on the way
    options = {"timeout": TIMEOUT, "headers": {"Accept-Encoding": "identity"}, "chunk_size": 2**16}
    failures = []
    for url in file.urls:
        host = urlsplit(url).netloc
        partial = path.with_name(f".clusterproof-{secrets.token_hex(4)}.partial")
        try:
            pooch.HTTPDownloader(progressbar=_Percentage(show, file.name), **options)(url, str(partial), None)
            wrong = fault(partial, file)
            if wrong is None:
                os.replace(partial, path)
                return host
            failures.append(f"{host}: {wrong.partition(',')[0]}")
        except (OSError, ValueError, http.client.HTTPException) as error:
            response = getattr(error, "response", None)
            reason = type(error).__name__ if response is None else f"status {response.status_code}"
            failures.append(f"{host}: {reason}")
        finally:  # after Ctrl-C, too
            partial.unlink(missing_ok=True)
    raise MirrorsFailed(
        f"no mirror gave {file.name} with SHA-256 {file.sha256} ({'; '.join(failures)});"
        f" check the network, or put the file into {path.parent}"
    )


class _Percentage:
    """Progress bar in the interface of pooch, as a percentage."""

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
