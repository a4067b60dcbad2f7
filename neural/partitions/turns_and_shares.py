"""What the recipes share: quarter turns, and proportions in whole numbers."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms.validation import InvalidArgument, check_count
from clusterproof.neural.data.images import ImageSet


def quarter_turns(data: ImageSet, clusters: int) -> list[int]:
    """The quarter turns of each cluster's images, evenly spread over the full turn.

    Raises
    ------
    InvalidArgument
        If ``clusters`` is not 1, 2 or 4, or the images are not square.
    """
    check_count("clusters", clusters, at_least=1, remedy="choose 1, 2 or 4")
    if clusters not in (1, 2, 4):
        rule = "must be 1, 2 or 4: as many rotations lie evenly on a grid of pixels"
        raise InvalidArgument("clusters", clusters, rule, "choose one of these")
    height, width = data.train.pixels.shape[-2:]
    if clusters == 4 and height != width:
        remedy = "choose 2 clusters"
        raise InvalidArgument("clusters", 4, f"needs square images, not {height} x {width}", remedy)
    return [cluster * (4 // clusters) for cluster in range(clusters)]


def whole_parts(proportions: np.ndarray, total: int) -> np.ndarray:
    """Whole numbers that add up to ``total``, each within one of its proportion of it.

    Parameters
    ----------
    proportions
        (k,), adding up to 1.
    total
        A non-negative integer.

    Returns
    -------
    numpy.ndarray
        (k,), the largest remainders rounded up.
    """
    exact = proportions * total
    parts: np.ndarray = np.floor(exact).astype(np.int64)
    short = total - parts.sum()
    parts[np.argsort(parts - exact, kind="stable")[:short]] += 1
    return parts


def cut(rows: np.ndarray, parts: np.ndarray) -> list[np.ndarray]:
    """Cut rows into consecutive parts of the given sizes."""
    return np.split(rows, np.cumsum(parts)[:-1])
