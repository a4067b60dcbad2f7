"""Participants of a round, their weights, averages over them, and parameter checks that several algorithms share."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import device

from clusterproof.algorithms.base import Task
from clusterproof.common.arrays import (
    Array,
    argmin_smallest_index,
    array_namespace,
    like,
    one_hot,
    sums_by_cluster,
    to_numpy,
)
from clusterproof.common.validation import check_choice, check_descent, check_number


def check_participation(participation: float) -> None:
    """Raise an error unless the argument is a fraction in (0, 1].

    Raises
    ------
    InvalidArgument
        If the fraction is outside (0, 1].
    """
    remedy = "give the fraction of clients that take part in each round, such as 0.1"
    check_number("participation", participation, above=0, at_most=1, remedy=remedy)


def participant_count(participation: float, clients: int) -> int:
    """Return the number of participants among m clients: max(1, round(participation * m))."""
    return max(1, round(participation * clients))


def draw_participants(
    participation: float, clients: int, models: Array, generator: np.random.Generator
) -> Array:
    """Draw the participants of one round, uniformly and without replacement.

    Parameters
    ----------
    participation
        Fraction of clients, see ``participant_count``.
    clients
        Number of clients (m).
    models
        Server models (..., P, d), which determine the replicate axes and the array library.
    generator
        Random generator, unused with full participation.

    Returns
    -------
    Array
        Sorted client indices, (k,) with k = m for full participation, and (..., k) otherwise.
    """
    count = participant_count(participation, clients)
    if count == clients:
        return array_namespace(models).arange(clients, device=device(models))
    keys = generator.random((*models.shape[:-2], clients))
    chosen = np.argpartition(keys, count, axis=-1)[..., :count]
    return like(np.sort(chosen, axis=-1), models)


WEIGHTINGS = ("clients", "samples")


def check_weighting(weighting: str) -> None:
    """Raise ``InvalidArgument`` unless the argument is one of ``WEIGHTINGS``."""
    check_choice("weighting", weighting, WEIGHTINGS, remedy="'samples' gives a client the weight n_i / n")


def require_sizes(weighting: str, task: Task) -> None:
    """Raise ``InvalidArgument`` if ``"samples"`` is requested and the task has no ``client_samples``."""
    if weighting == "samples":
        _ = task.client_samples


def client_weights(weighting: str, task: Task, clients: Array, models: Array) -> Array | None:
    """Return the weights n_i / max_j n_j of participants (..., k), or None for equal weights.

    The weights have the array library and dtype of ``models``. If all n_i are equal, they are exactly 1.
    """
    if weighting == "clients":
        return None
    sizes = np.asarray(task.client_samples, dtype=np.float64)
    weights = like((sizes / sizes.max())[to_numpy(clients)], models)
    return array_namespace(models).astype(weights, models.dtype)


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
