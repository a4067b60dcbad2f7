"""The command ``data``: list, download and verify the image data sets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import App, Parameter

from clusterproof.commands import terminal
from clusterproof.common.validation import InvalidArgument, check_choice
from clusterproof.neural.data.catalogue import DATASETS, Dataset
from clusterproof.neural.data.loading import ENVIRONMENT, data_folder, fetch, sources
from clusterproof.neural.data.published import MirrorsFailed, fault

Name: TypeAlias = Annotated[str, Parameter(completer=lambda _: list(DATASETS))]

app = App(name="data", help="List, fetch and verify image data sets.", help_format="markdown")


@app.command(name="list")
def list_sets(*, data_dir: Path | None = None) -> int:
    """List the data sets with their contents, origin and licence, and whether they are downloaded.

    Parameters
    ----------
    data_dir
        Folder of the data; by default CLUSTERPROOF_DATA or a cache.
    """
    try:
        folder = data_folder(data_dir)
    except InvalidArgument:  # without pooch or a home directory, there is no default folder
        folder = None
    rows = []
    for name, dataset in DATASETS.items():
        channels, height, width = dataset.shape
        size = f"{height} x {width} x {channels}"
        presence = _presence(dataset, folder and folder / name)
        images, classes = f"{dataset.train} + {dataset.test}", str(dataset.classes)
        rows.append((name, images, size, classes, presence, dataset.origin, dataset.licence))
    terminal.show_table(("name", "images", "size", "classes", "here", "origin", "licence"), rows)
    print(f"folder: {folder or f'none; give --data-dir, or set {ENVIRONMENT}'}")
    return 0


@app.command(name="fetch")
def fetch_set(name: Name, /, *, data_dir: Path | None = None) -> int:
    """Download a data set from its mirrors, and verify the SHA-256 of every file.

    Exit status: 0 if the set is complete, 1 if no mirror has it, 2 for bad input.

    Parameters
    ----------
    name
        Name of a data set, such as mnist.
    data_dir
        Folder of the data; by default CLUSTERPROOF_DATA or a cache.
    """
    dataset = _dataset(name)
    if not dataset.files:
        return verify_set(name)
    folder = data_folder(data_dir) / name
    try:
        with terminal.progress(100) as advance:
            for line in fetch(dataset, folder, advance):
                print(line)
    except MirrorsFailed as error:
        terminal.print_error(str(error))
        return 1
    print(f"{name} is whole, in {folder}")
    return 0


@app.command(name="verify")
def verify_set(name: Name, /, *, data_dir: Path | None = None) -> int:
    """Compare the SHA-256 of a data set's files with the published ones.

    Exit status: 0 if all required files are intact, 1 if one is not, 2 for bad input.

    Parameters
    ----------
    name
        Name of a data set, such as mnist.
    data_dir
        Folder of the data; by default CLUSTERPROOF_DATA or a cache.
    """
    dataset = _dataset(name)
    if not dataset.files:
        dataset.read({})
        print(f"{name}: comes with scikit-learn; there is no file to compare")
        return 0
    folder = data_folder(data_dir) / name
    required = sources(dataset, folder)
    faults = {file.name: fault(folder / file.name, file) for file in required}
    for file, wrong in faults.items():
        print(f"{file}: {wrong or 'whole'}")
    if any(faults.values()):
        terminal.print_error(f"{name} is not whole in {folder}; run `clusterproof data fetch {name}`")
        return 1
    partly = f"{name}: its test half is whole, its training half is not here"
    print(f"{name} is whole, in {folder}" if _is_all(dataset, required) else partly)
    return 0


def _dataset(name: str) -> Dataset:
    check_choice("name", name, list(DATASETS), remedy="see `clusterproof data list`")
    return DATASETS[name]


def _is_all(dataset: Dataset, required: list) -> bool:
    return required == [dataset.archive] or len(required) == len(dataset.files)


def _presence(dataset: Dataset, folder: Path | None) -> str:
    """Return which of the files exist, without reading them."""
    if not dataset.files:
        return "in scikit-learn"
    if folder is None:
        return "unknown"
    required = sources(dataset, folder)
    present = [file for file in required if os.path.exists(folder / file.name)]
    if not present:
        return "no"
    if len(present) < len(required):
        return f"{len(present)} of {len(required)} files"
    return "yes" if _is_all(dataset, required) else "test half"
