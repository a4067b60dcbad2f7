"""Labelled images, the common format of data sets and partitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Images:
    """Labelled images of one size, or other samples of one shape.

    Attributes
    ----------
    pixels
        uint8, (N, C, H, W): 0 to 255; channels in the order red, green, blue. User-supplied samples may have any shape
        (N, ...), and be floats or integer codes.
    labels
        int64, (N,), from 0 to ``classes`` - 1.
    classes
        Number of classes.
    """

    pixels: np.ndarray
    labels: np.ndarray
    classes: int

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: np.ndarray) -> Images:
        """Return the images with the indices ``rows``, in this order."""
        return Images(self.pixels[rows], self.labels[rows], self.classes)


@dataclass(frozen=True, eq=False)
class Owners:
    """The client of each sample, if a data set defines it.

    Attributes
    ----------
    train, test
        The client that holds each sample of a half, integers (N,), from 0 to m - 1.
    clusters
        True cluster of each client, integers (m,).
    """

    train: np.ndarray
    test: np.ndarray
    clusters: np.ndarray


@dataclass(frozen=True, eq=False)
class ImageSet:
    """A data set with a training half and a test half.

    Attributes
    ----------
    name
        Key of ``clusterproof.neural.data.loading.DATASETS``, or the reference of a user's own data.
    train, test
        Disjoint halves.
    note
        Differences from the published set; empty if there are none.
    owners
        Client of each sample, if the data are divided among clients.
    """

    name: str
    train: Images
    test: Images
    note: str = ""
    owners: Owners | None = None
