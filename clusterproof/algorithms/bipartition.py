"""Split clients into two groups such that the largest similarity between the groups is minimal."""

from __future__ import annotations

import numpy as np


def cosine_similarities(updates: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    """Return the cosines of the angles between two sets of vectors, (n, k). The cosine with a zero vector is 0.

    ``updates`` are (n, d) and ``others`` (k, d). If ``others`` is None, ``updates`` are compared with each other.
    """
    first, second = (_unit(vectors) for vectors in (updates, updates if others is None else others))
    return np.asarray(np.clip(first @ second.T, -1.0, 1.0))


def bipartition(similarities: np.ndarray, linkage: str = "single") -> np.ndarray:
    """Split clients into two groups by hierarchical clustering with the distance 1 - similarity.

    With single linkage, the largest similarity across the cut is minimal: the split removes the weakest edge of the
    maximum spanning tree, and every split crosses some edge of this tree. With complete linkage, as in CFL's public
    code, the largest similarity is not always minimal.

    ``similarities`` is symmetric (n, n) with n >= 2. The result is booleans (n,), True for the group without the
    first client. Both groups are non-empty.
    """
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    distances = 1 - similarities
    np.fill_diagonal(distances, 0.0)
    tree = hierarchy.linkage(squareform(distances, checks=False), method=linkage)
    sides = hierarchy.cut_tree(tree, n_clusters=2)[:, 0]
    return np.asarray(sides != sides[0])


def cross_similarity(similarities: np.ndarray, side: np.ndarray) -> float:
    """Return the largest of the ``similarities`` (n, n) between clients inside and outside ``side``, booleans (n,)."""
    return float(similarities[np.ix_(side, ~side)].max())


def _unit(vectors: np.ndarray) -> np.ndarray:
    # scale first: squares of tiny or huge updates would underflow or overflow
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scaled = vectors / np.where(largest > 0, largest, 1.0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1.0))
