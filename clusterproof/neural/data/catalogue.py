"""The data sets in ``catalogue.json``: their files with SHA-256 and mirrors, and their licences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.data.published import Archive, PublishedFile
from clusterproof.neural.data.readers import READERS


@dataclass(frozen=True)
class Dataset:
    """Description of a data set.

    Attributes
    ----------
    name
        Name on the command line.
    train, test
        Number of images for training and testing, as published.
    shape
        Channels, height and width.
    classes
        Number of classes.
    origin
        The authors' page.
    licence
        Licence in words.
    files
        The files; empty if an installed package contains the data.
    archive
        Archive in which the files were published, if any.
    optional
        Names of files without which a part of the set can still be made.
    """

    name: str
    train: int
    test: int
    shape: tuple[int, int, int]
    classes: int
    origin: str
    licence: str
    files: tuple[PublishedFile, ...]
    archive: Archive | None = None
    optional: frozenset[str] = frozenset()

    def read(self, contents: Mapping[str, bytes]) -> ImageSet:
        """Make the data set from the contents of its files by name."""
        return READERS[self.name](contents)


DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=list[Dataset])
}
"""The data sets by their names on the command line.

:meta hide-value:
"""
