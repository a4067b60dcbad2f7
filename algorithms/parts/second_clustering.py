"""SoFL's second layer: group the winning neurons of a map, and so the clients behind them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from clusterproof.algorithms.parts.bipartition import cosine_similarities

LARGEST_CURVE = 10
"""Most clusters that the elbow looks at."""

SMALLEST_SILHOUETTE = 0.25
"""Below it the clients are one cluster."""

ROUNDING = 1e-14
"""Squared relative difference of vectors that count as equal: seven digits."""


def cluster_winners(
    clients: np.ndarray, winners: np.ndarray, neurons: np.ndarray, rule: str, seed: int
) -> np.ndarray:
    """Partition clients by k-means on the distinct neurons that won them.

    Parameters
    ----------
    clients
        Update vectors (m, d).
    winners
        Index of each client's neuron, (m,).
    neurons
        All neurons (n, d).
    rule
        ``"elbow"`` takes the elbow of the winners' within-cluster sums of squares, as SoFL does; it
        cannot answer one cluster for each winner. ``"silhouette"`` compares every number from 2 to
        that of the winners by the mean cosine silhouette of the clients, and answers 1 where
        even the best is below 0.25. Clusters whose updates are alike may be merged: with two of four at
        a cosine of 0.48 three clusters have the silhouette 0.80 and four 0.79.
    seed
        Of k-means.

    Returns
    -------
    numpy.ndarray
        Cluster of each client, numbered by first appearance, (m,). Under both rules clients are one
        cluster where all winners, or all directions of updates, agree to seven digits.
    """
    distinct, found = np.unique(winners, return_inverse=True)
    points = neurons[distinct]
    together = np.zeros(len(clients), dtype=np.int64)
    if ((points - points.mean(axis=0)) ** 2).sum() <= ROUNDING * (points**2).sum():
        return together
    distances = np.clip(1 - cosine_similarities(clients), 0.0, 2.0)
    distances[distances <= ROUNDING] = 0.0
    np.fill_diagonal(distances, 0.0)
    if not distances.any():
        return together
    if rule == "elbow":
        number = elbow(within_sums(points, seed))
        return by_appearance(k_means(points, number, seed)[found])
    candidates = [by_appearance(k_means(points, k, seed)[found]) for k in range(2, len(points) + 1)]
    scores = [silhouette(distances, labels) for labels in candidates]
    if not scores or max(scores) < SMALLEST_SILHOUETTE:
        return together
    return candidates[int(np.argmax(scores))]


def k_means(points: np.ndarray, clusters: int, seed: int) -> np.ndarray:
    """Cluster of each point by the best of ten k-means++ starts, (n,); each its own where k = n."""
    if clusters == len(points):
        return np.arange(clusters)
    return np.asarray(_fit(points, clusters, seed).labels_, dtype=np.int64)


def within_sums(points: np.ndarray, seed: int) -> np.ndarray:
    """Least sums of squared distances to k centres, k = 1 .. min(10, n): SoFL's WCSS."""
    sums = [
        float(_fit(points, k, seed).inertia_) if k < len(points) else 0.0
        for k in range(1, min(LARGEST_CURVE, len(points)) + 1)
    ]
    return np.array(sums)


def elbow(curve: np.ndarray) -> int:
    """Number of clusters where a decreasing curve lies farthest below the chord of its ends.

    Parameters
    ----------
    curve
        Sums for 1, 2, ... clusters.

    Returns
    -------
    int
        1 where nothing lies below the chord; never the last number, unless it is 1.
    """
    if len(curve) < 3 or curve[0] <= curve[-1]:
        return 1
    depth = np.linspace(1.0, 0.0, len(curve)) - (curve - curve[-1]) / (curve[0] - curve[-1])
    best = int(np.argmax(depth))
    return best + 1 if depth[best] > len(curve) * np.finfo(float).eps else 1


def silhouette(distances: np.ndarray, labels: np.ndarray) -> float:
    """Mean silhouette from distances (m, m); 0 for one cluster and for m of them."""
    from sklearn.metrics import silhouette_score

    if not 1 < len(np.unique(labels)) < len(labels):
        return 0.0
    return float(silhouette_score(distances, labels, metric="precomputed"))


def by_appearance(labels: np.ndarray) -> np.ndarray:
    """Renumber clusters 0, 1, ... in the order of their first clients."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse], dtype=np.int64)


def _fit(points: np.ndarray, clusters: int, seed: int) -> Any:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        # fewer distinct neurons than clusters: the partition simply has fewer
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(clusters, n_init=10, random_state=seed).fit(points)
