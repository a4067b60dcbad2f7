"""Labelled images: the common format of data sets and partitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Images:
    """Labelled images of one size, or other samples of one shape.

    Attributes
    ----------
    pixels
        Pixels 0 to 255, uint8 (N, C, H, W), with channels in the order red, green, blue. User-supplied samples may have
        any shape (N, ...), and may be floats or integer codes.
    labels
        Labels from 0 to ``classes`` - 1, int64 (N,).
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
        The client to which each sample of a half belongs, integers (N,) from 0 to m - 1.
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
        Key of ``clusterproof.neural.data.loading.DATASETS``, or the reference to user-supplied data.
    train, test
        The two halves, which have no sample in common.
    note
        Description of differences from the published data set; an empty string if there are none.
    owners
        Client of each sample, if the data are divided among clients.
    """

    name: str
    train: Images
    test: Images
    note: str = ""
    owners: Owners | None = None
