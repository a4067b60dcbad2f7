"""Labelled images, as every data set and every partition has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Images:
    """Labelled images of one size.

    Attributes
    ----------
    pixels
        uint8, (N, C, H, W): 0 to 255; colours in the order red, green, blue.
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
class ImageSet:
    """A data set with its halves for training and for testing.

    Attributes
    ----------
    name
        Key of ``clusterproof.neural.data.loading.DATASETS``.
    train, test
        Disjoint halves.
    note
        What is not as it was published; empty where nothing is.
    """

    name: str
    train: Images
    test: Images
    note: str = ""
