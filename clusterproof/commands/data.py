"""The command ``data``: the image data sets, fetched and verified."""

from __future__ import annotations

import os
from pathlib import Path

from cyclopts import App
from rich.table import Table

from clusterproof.algorithms.validation import check_choice
from clusterproof.commands import terminal
from clusterproof.neural.data.catalogue import DATASETS, Dataset
from clusterproof.neural.data.download import MirrorsFailed, fetch
from clusterproof.neural.data.loading import data_folder, sources
from clusterproof.neural.data.published import fault

app = App(name="data", help="List, fetch and verify image data sets.", help_format="plaintext")


@app.command(name="list")
def list_sets(*, data_dir: Path | None = None) -> int:
    """List the data sets: what they hold, where they come from, their licence, whether they are here.

    Parameters
    ----------
    data_dir
        Folder of the data; CLUSTERPROOF_DATA or a cache by default.
    """
    folder = data_folder(data_dir)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("name", "images", "size", "classes", "here", "origin", "licence"):
        table.add_column(column, overflow="fold")
    for name, dataset in DATASETS.items():
        channels, height, width = dataset.shape
        table.add_row(
            name,
            f"{dataset.train} + {dataset.test}",
            f"{height} x {width} x {channels}",
            str(dataset.classes),
            _presence(dataset, folder / name),
            dataset.origin,
            dataset.licence,
        )
    terminal.console().print(table)
    print(f"folder: {folder}")
    return 0


@app.command(name="fetch")
def fetch_set(name: str, /, *, data_dir: Path | None = None) -> int:
    """Fetch a data set from its mirrors; every file's SHA-256 is compared.

    Exit status: 0 if the set is whole afterwards, 1 if no mirror gave it, 2 for bad input.

    Parameters
    ----------
    name
        Such as mnist.
    data_dir
        Folder of the data; CLUSTERPROOF_DATA or a cache by default.
    """
    check_choice("name", name, list(DATASETS), remedy="see `clusterproof data list`")
    dataset = DATASETS[name]
    if not dataset.files:
        return verify_set(name)
    folder = data_folder(data_dir) / name
    try:
        with terminal.progress(100) as advance:
            for line in fetch(name, dataset, folder, advance):
                print(line)
    except MirrorsFailed as error:
        terminal.complain(str(error))
        return 1
    print(f"{name} is whole, in {folder}")
    return 0


@app.command(name="verify")
def verify_set(name: str, /, *, data_dir: Path | None = None) -> int:
    """Compare the SHA-256 of a data set's files with those that were published.

    Exit status: 0 if every file that the set is read from is whole, 1 if not, 2 for bad input.

    Parameters
    ----------
    name
        Such as mnist.
    data_dir
        Folder of the data; CLUSTERPROOF_DATA or a cache by default.
    """
    check_choice("name", name, list(DATASETS), remedy="see `clusterproof data list`")
    dataset = DATASETS[name]
    if not dataset.files:
        dataset.read({})
        print(f"{name}: comes with scikit-learn; there is no file to compare")
        return 0
    folder = data_folder(data_dir) / name
    found = sources(dataset, folder)
    faults = {file.name: fault(folder / file.name, file) for file in found}
    for file, wrong in faults.items():
        print(f"{file}: {wrong or 'whole'}")
    if any(faults.values()):
        terminal.complain(f"{name} is not whole in {folder}; run `clusterproof data fetch {name}`")
        return 1
    partly = f"{name}: its test half is whole, its training half is not here"
    print(f"{name} is whole, in {folder}" if _is_all(dataset, found) else partly)
    return 0


def _is_all(dataset: Dataset, found: list) -> bool:
    return found == [dataset.archive] or len(found) == len(dataset.files)


def _presence(dataset: Dataset, folder: Path) -> str:
    """Say whether the files are there, without reading them."""
    if not dataset.files:
        return "in scikit-learn"
    found = sources(dataset, folder)
    here = [file for file in found if os.path.exists(folder / file.name)]
    if not here:
        return "no"
    if len(here) < len(found):
        return f"{len(here)} of {len(found)} files"
    return "yes" if _is_all(dataset, found) else "test half"
