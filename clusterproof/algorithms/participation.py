"""The choice of the clients that take part in a round, and their weights in means."""

from __future__ import annotations

import numpy as np
from array_api_compat import device

from clusterproof.algorithms.base import Task
from clusterproof.common.arrays import Array, array_namespace, like, to_numpy
from clusterproof.common.validation import check_choice, check_number


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
