"""SoFL's second clustering: k-means on the winning neurons of a map."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from clusterproof.algorithms.bipartition import cosine_similarities

LARGEST_CURVE = 10
"""Largest number of clusters that the elbow rule considers."""

SMALLEST_SILHOUETTE = 0.25
"""Smallest mean silhouette for which the rule "silhouette" returns more than one cluster."""

ROUNDING = 1e-14
"""Two vectors count as equal if their squared relative difference is below this number (seven equal digits)."""


def cluster_winners(
    clients: np.ndarray, winners: np.ndarray, neurons: np.ndarray, rule: str, seed: int
) -> np.ndarray:
    """Partition clients with k-means on the distinct winning neurons.

    Parameters
    ----------
    clients, winners, neurons
        Update vectors (m, d), index of the neuron that each client wins (m,), and all neurons (n, d).
    rule
        ``"elbow"`` uses the elbow of the winners' within-cluster sums of squares, as SoFL does. This rule never makes
        every winner a separate cluster. ``"silhouette"`` tries every number of clusters from 2 to the number of
        winners, and takes the best mean cosine silhouette of the clients. This rule returns one cluster if the best
        silhouette is below 0.25. It can merge clusters with similar updates. For example, if the cosine between two
        of four clusters is 0.48, the silhouette is 0.80 for three clusters and 0.79 for four.
    seed
        Seed of k-means.

    Returns
    -------
    numpy.ndarray
        Cluster of each client, numbered by first appearance, (m,). Under both rules, there is only one cluster if all
        winners, or all directions of updates, agree to seven digits.
    """
    distinct, point_of = np.unique(winners, return_inverse=True)
    points = neurons[distinct]
    one_cluster = np.zeros(len(clients), dtype=np.int64)
    if ((points - points.mean(axis=0)) ** 2).sum() <= ROUNDING * (points**2).sum():
        return one_cluster
    distances = np.clip(1 - cosine_similarities(clients), 0.0, 2.0)
    distances[distances <= ROUNDING] = 0.0
    np.fill_diagonal(distances, 0.0)
    if not distances.any():
        return one_cluster
    if rule == "elbow":
        number = elbow(within_sums(points, seed))
        return by_appearance(k_means(points, number, seed)[point_of])
    candidates = [by_appearance(k_means(points, k, seed)[point_of]) for k in range(2, len(points) + 1)]
    scores = [silhouette(distances, labels) for labels in candidates]
    if not scores or max(scores) < SMALLEST_SILHOUETTE:
        return one_cluster
    return candidates[int(np.argmax(scores))]


def k_means(points: np.ndarray, clusters: int, seed: int) -> np.ndarray:
    """Return the cluster of each point, (n,), from the best of ten k-means++ initialisations.

    If k = n, each point is a cluster.
    """
    if clusters == len(points):
        return np.arange(clusters)
    return np.asarray(_fit(points, clusters, seed).labels_, dtype=np.int64)


def within_sums(points: np.ndarray, seed: int) -> np.ndarray:
    """Return the within-cluster sums of squares (WCSS) for 1, ..., min(10, n) clusters."""
    sums = [
        float(_fit(points, k, seed).inertia_) if k < len(points) else 0.0
        for k in range(1, min(LARGEST_CURVE, len(points)) + 1)
    ]
    return np.array(sums)


def elbow(curve: np.ndarray) -> int:
    """Return the number of clusters at which a decreasing curve over 1, 2, ... lies farthest below its chord.

    The result is 1 if no point lies below the chord. Otherwise it is smaller than the last number.
    """
    if len(curve) < 3 or curve[0] <= curve[-1]:
        return 1
    depth = np.linspace(1.0, 0.0, len(curve)) - (curve - curve[-1]) / (curve[0] - curve[-1])
    best = int(np.argmax(depth))
    return best + 1 if depth[best] > len(curve) * np.finfo(float).eps else 1


def silhouette(distances: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean silhouette from distances (m, m). The result is 0 for one cluster and for m clusters."""
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
        # if there are fewer distinct neurons than clusters, k-means warns and returns fewer clusters
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(clusters, n_init=10, random_state=seed).fit(points)
