"""Read and fetch the image data sets."""

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
"""Environment variable that names the folder of the data."""


def data_folder(data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that contains a folder for each data set.

    Parameters
    ----------
    data_dir
        Path of the folder. By default it is the environment variable CLUSTERPROOF_DATA, or else the user's cache.

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
        rule = "must name a folder where the user has no home directory"
        raise InvalidArgument("data_dir", None, rule, f"give one, or set {ENVIRONMENT}") from error


def load(name: str, data_dir: str | os.PathLike[str] | None = None) -> ImageSet:
    """Read a data set, after comparing the SHA-256 of every file.

    Parameters
    ----------
    name
        Key of ``DATASETS``, or a reference to the user's own data, see ``clusterproof.neural.custom.samples.read_own``.
    data_dir
        See ``data_folder``; the files are in its subfolder ``name``.

    Raises
    ------
    InvalidArgument
        If there is no such set, or a file is missing, altered or unreadable.
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
    """Return the files from which a set is read: its own files, or the archive if only the archive is present."""
    whole = all(os.path.exists(folder / file.name) for file in dataset.files)
    archive = dataset.archive
    if archive is not None and not whole and os.path.exists(folder / archive.name):
        return [archive]
    return [file for file in dataset.files if whole or file.name not in dataset.optional]


def fetch(
    dataset: Dataset, folder: Path, show: Callable[[int, str], None] = lambda *_: None
) -> Iterator[str]:
    """Download a data set's files into a folder, without the files that are already complete.

    Each file is written under another name and renamed once its SHA-256 is as published. An archive is removed after
    extraction.

    Parameters
    ----------
    dataset
        Description of the data set.
    folder
        Folder for the files; created if missing.
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
        If no mirror gives the file as published.
    """
    needed = [file for file in dataset.files if fault(folder / file.name, file) is not None]
    with naming_folder("data_dir", folder):
        folder.mkdir(parents=True, exist_ok=True)
        if needed:  # a folder that cannot be written is not the mirror's fault
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
