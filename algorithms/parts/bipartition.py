"""Split clients in two so that the largest similarity across the cut is as small as possible."""

from __future__ import annotations

import numpy as np


def cosine_similarities(updates: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    """Cosines of the angles between two sets of vectors; 0 where one of the two is zero.

    Parameters
    ----------
    updates
        (n, d).
    others
        (k, d); ``updates`` itself where None.

    Returns
    -------
    numpy.ndarray
        (n, k), in [-1, 1].
    """
    first, second = (_unit(vectors) for vectors in (updates, updates if others is None else others))
    return np.asarray(np.clip(first @ second.T, -1.0, 1.0))


def bipartition(similarities: np.ndarray, linkage: str = "single") -> np.ndarray:
    """Split clients in two groups by hierarchical clustering on 1 - similarity.

    Single linkage minimises the largest similarity across the cut exactly: the last merge of
    Kruskal's algorithm cuts the weakest edge of the maximum spanning tree, and every cut crosses
    some edge of that tree. Complete linkage, which CFL's public code uses, does not.

    Parameters
    ----------
    similarities
        Symmetric (n, n), n at least 2.
    linkage
        ``"single"`` or ``"complete"``.

    Returns
    -------
    numpy.ndarray
        Booleans (n,): True on the side without the first client; both sides occur.
    """
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    distances = 1 - similarities
    np.fill_diagonal(distances, 0.0)
    tree = hierarchy.linkage(squareform(distances, checks=False), method=linkage)
    sides = hierarchy.cut_tree(tree, n_clusters=2)[:, 0]
    return np.asarray(sides != sides[0])


def cross_similarity(similarities: np.ndarray, side: np.ndarray) -> float:
    """Largest similarity of two clients on different sides.

    Parameters
    ----------
    similarities
        (n, n).
    side
        Booleans (n,), both of which occur.
    """
    return float(similarities[np.ix_(side, ~side)].max())


def _unit(vectors: np.ndarray) -> np.ndarray:
    # scaled first, so that neither tiny nor huge updates under- or overflow when squared
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scaled = vectors / np.where(largest > 0, largest, 1.0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1.0))
