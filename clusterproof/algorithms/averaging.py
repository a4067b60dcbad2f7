"""Averages over the clients of each cluster, and checks of parameters that several algorithms have."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.algorithms.base import Task
from clusterproof.algorithms.participation import check_participation, check_weighting
from clusterproof.common.arrays import Array, argmin_smallest_index, array_namespace, one_hot, sums_by_cluster
from clusterproof.common.validation import check_descent, check_number


def choose_clusters(task: Task, models: Array, clients: Array, generator: np.random.Generator) -> Array:
    """Assign each participant (..., k) to the model (..., P, d) with the smallest loss.

    In a tie, the first model wins.
    """
    return argmin_smallest_index(task.losses(models, clients, generator))


def cluster_sizes(assignments: Array, clusters: int, *, dtype: object, weights: Array | None = None) -> Array:
    """Return for each cluster the number of participants, or the sum of their weights (..., k), as floats (..., P)."""
    membership = _weighted(one_hot(assignments, clusters, dtype=dtype), weights)
    return array_namespace(assignments).sum(membership, axis=-2)


def average_by_cluster(
    values: Array, assignments: Array, fallback: Array, weights: Array | None = None
) -> Array:
    """Average the participants' values per cluster. A cluster without participants gets its fallback value.

    Formula (6) of CFL-MGD is 0 / 0 for a cluster without participants.

    Parameters
    ----------
    values
        One row per participant, (..., k, d).
    assignments
        Integers (..., k).
    fallback
        One row per cluster, (..., P, d).
    weights
        Positive weights of the participants, (..., k). If None, all weights are one.
    """
    xp = array_namespace(values)
    membership = _weighted(one_hot(assignments, fallback.shape[-2], dtype=values.dtype), weights)
    return divide(sums_by_cluster(values, membership), xp.sum(membership, axis=-2), fallback)


def _weighted(membership: Array, weights: Array | None) -> Array:
    return membership if weights is None else membership * weights[..., None]


def divide(sums: Array, sizes: Array, fallback: Array) -> Array:
    """Divide one sum per cluster (..., P, d) by the cluster's size (..., P).

    A cluster of size 0 gets its fallback value.
    """
    xp = array_namespace(sums)
    sizes = sizes[..., None]
    occupied = sizes > 0
    return xp.where(occupied, sums / xp.where(occupied, sizes, xp.ones_like(sizes)), fallback)


def check_averaging(algorithm: Any) -> None:
    """Raise ``InvalidArgument`` if ``step_size``, ``local_steps``, ``participation`` or ``weighting`` is invalid."""
    check_descent(algorithm.step_size, None, "model", algorithm.local_steps)
    check_participation(algorithm.participation)
    check_weighting(algorithm.weighting)


def check_server_step_size(server_step_size: float) -> None:
    """Raise ``InvalidArgument`` unless the step size is a positive number."""
    check_number(
        "server_step_size", server_step_size, above=0, remedy="1 moves to the mean of the clients' models"
    )


def check_proximal(proximal: float) -> None:
    """Raise ``InvalidArgument`` if the coefficient is negative."""
    check_number("proximal", proximal, at_least=0, remedy="0 removes the proximal term, 0.1 is common")
