"""Download and read the image data sets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile

from clusterproof.common.atomic import naming_folder, write_whole
from clusterproof.common.validation import InvalidArgument, check_choice
from clusterproof.files import LARGE, read_file, user_cache
from clusterproof.neural.custom.references import is_own
from clusterproof.neural.custom.samples import read_own
from clusterproof.neural.data.catalogue import DATASETS, Dataset
from clusterproof.neural.data.images import Images, ImageSet
from clusterproof.neural.data.published import (
    Archive,
    PublishedFile,
    fault,
    read_members,
    require_whole,
    retrieve,
)

ENVIRONMENT = "CLUSTERPROOF_DATA"
"""Name of the environment variable that contains the path of the data folder."""


def data_folder(data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the data folder, which contains one folder per data set.

    Parameters
    ----------
    data_dir
        Path of the folder. The default is the environment variable CLUSTERPROOF_DATA or, if this is not set, the user's
        cache.

    Raises
    ------
    InvalidArgument
        If no folder is given, and the user has no home directory.
    """
    if data_dir is not None:
        return Path(data_dir)
    if os.environ.get(ENVIRONMENT):
        return Path(os.environ[ENVIRONMENT])
    try:
        return user_cache()
    except RuntimeError as error:
        rule = "must name a folder because you have no home directory"
        raise InvalidArgument("data_dir", None, rule, f"give a folder, or set {ENVIRONMENT}") from error


def load(name: str, data_dir: str | os.PathLike[str] | None = None) -> ImageSet:
    """Read a data set after checking the SHA-256 hash of every file.

    Parameters
    ----------
    name
        Key of ``DATASETS``, or a reference to user-supplied data, see ``clusterproof.neural.custom.samples.read_own``.
    data_dir
        See ``data_folder``; the files are in the subfolder ``name``.

    Raises
    ------
    InvalidArgument
        If there is no such data set, or a file is missing, altered or unreadable.
    """
    if isinstance(name, str) and name not in DATASETS and is_own("data", name):
        if data_dir is not None:
            rule, remedy = "is the folder of the published sets", "leave it out for user-supplied data"
            raise InvalidArgument("data_dir", os.fspath(data_dir), rule, remedy)
        return read_own(name)
    check_choice("data", name, list(DATASETS), remedy="see `clusterproof data list`")
    dataset = DATASETS[name]
    folder = data_folder(data_dir) / name if dataset.files else Path()
    contents: dict[str, bytes] = {}
    for source in sources(dataset, folder):
        path = folder / source.name
        require_whole(path, source, name)
        if isinstance(source, Archive):
            contents |= read_members(path, source, dataset.files)
        else:
            contents[source.name] = read_file(path, LARGE)
    return dataset.read(contents)


def sources(dataset: Dataset, folder: Path) -> list[PublishedFile]:
    """Return the files from which to read a data set: single files, or the archive if only the archive exists."""
    whole = all(os.path.exists(folder / file.name) for file in dataset.files)
    archive = dataset.archive
    if archive is not None and not whole and os.path.exists(folder / archive.name):
        return [archive]
    return [file for file in dataset.files if whole or file.name not in dataset.optional]


def fetch(
    dataset: Dataset, folder: Path, show: Callable[[int, str], None] = lambda *_: None
) -> Iterator[str]:
    """Download a data set's files into a folder; skip files that are already complete.

    Each file is written under a temporary name, and renamed if its SHA-256 hash equals the published value. Archives
    are removed after extraction.

    Parameters
    ----------
    dataset
        Description of the data set.
    folder
        Folder for the files, which is created if it does not exist.
    show
        Function to call with the percentage and the name of the current file.

    Yields
    ------
    str
        One line about each file.

    Raises
    ------
    InvalidArgument
        If the folder cannot be written or pooch is missing.
    MirrorsFailed
        If no mirror delivers the published file.
    """
    needed = [file for file in dataset.files if fault(folder / file.name, file) is not None]
    with naming_folder("data_dir", folder):
        folder.mkdir(parents=True, exist_ok=True)
        if needed:  # an error of the folder must not be reported as an error of the mirror
            TemporaryFile(dir=folder).close()
    yield from (f"{file.name}: here, whole" for file in dataset.files if file not in needed)
    if needed and dataset.archive is not None:
        archive = dataset.archive
        path = folder / archive.name
        if fault(path, archive) is not None:
            host = retrieve(archive, folder, show)
            yield f"{archive.name}: fetched from {host}"
        contents = read_members(path, archive, needed)
        for file in needed:
            write_whole("data_dir", folder / file.name, contents[file.name])
            yield f"{file.name}: taken from {archive.name}"
        path.unlink()
    else:
        for file in needed:
            host = retrieve(file, folder, show)
            yield f"{file.name}: fetched from {host}"


__all__ = [
    "DATASETS",
    "ENVIRONMENT",
    "Dataset",
    "ImageSet",
    "Images",
    "data_folder",
    "fetch",
    "load",
    "sources",
]
