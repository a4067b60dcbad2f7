"""The 8 x 8 digits that scikit-learn carries: the data that need no download."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from clusterproof.algorithms.randomness import generator
from clusterproof.neural.data.images import Images, ImageSet

TRAINING = 1440
"""Images for training; the other 357 are for testing."""


def read_digits(_: Mapping[str, bytes]) -> ImageSet:
    """Read the digits, their grey values 0 to 16 spread over 0 to 255.

    The 1797 images are one list; a fixed permutation divides it.

    Raises
    ------
    InvalidArgument
        If scikit-learn is missing.
    """
    table = _table()
    pixels = np.rint(table[:, :-1].reshape(-1, 1, 8, 8) * (255 / 16)).astype(np.uint8)
    images = Images(pixels, table[:, -1].astype(np.int64), 10)
    order = generator(0, "digits").permutation(len(images))
    note = f"one list of {len(images)} images, divided at random: {TRAINING} for training"
    return ImageSet("digits", images.take(order[:TRAINING]), images.take(order[TRAINING:]), note)


def _table() -> np.ndarray:
    """Grey values and labels, (1797, 65): read from scikit-learn's file, since importing it takes seconds."""
    found = importlib.util.find_spec("sklearn")
    if found is not None and found.origin is not None:
        path = Path(found.origin).parent / "datasets" / "data" / "digits.csv.gz"
        if path.is_file():
            return np.loadtxt(path, delimiter=",")
    # should the file ever move
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return np.column_stack([bunch.data, bunch.target])
