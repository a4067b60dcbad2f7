"""Labelled images, as every data set and every partition has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Images:
    """Labelled images of one size, or other samples of one shape.

    Attributes
    ----------
    pixels
        uint8, (N, C, H, W): 0 to 255; channels in the order red, green, blue. User-supplied samples may have any
        shape (N, ...), and be floating numbers, or integers that are codes.
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
        """The images in the given rows, in that order."""
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
    """A data set with its halves for training and for testing.

    Attributes
    ----------
    name
        Key of ``clusterproof.neural.data.loading.DATASETS``, or what names a user's own data.
    train, test
        Disjoint halves.
    note
        What is not as it was published; empty where nothing is.
    owners
        Client of each sample, if the data are divided among clients.
    """

    name: str
    train: Images
    test: Images
    note: str = ""
    owners: Owners | None = None
