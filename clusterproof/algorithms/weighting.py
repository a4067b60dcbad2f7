"""Weights of clients in averages: equal, or proportional to their numbers of samples."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms.base import Task
from clusterproof.common.arrays import Array, array_namespace, like, to_numpy
from clusterproof.common.validation import check_choice

WEIGHTINGS = ("clients", "samples")


def check_weighting(weighting: str) -> None:
    """Raise ``InvalidArgument`` unless the argument is one of ``WEIGHTINGS``."""
    check_choice("weighting", weighting, WEIGHTINGS, remedy="'samples' weighs a client by n_i / n")


def require_sizes(weighting: str, task: Task) -> None:
    """Raise ``InvalidArgument`` if weights by samples are requested and the task has no ``client_samples``."""
    if weighting == "samples":
        _ = task.client_samples


def client_weights(weighting: str, task: Task, clients: Array, models: Array) -> Array | None:
    """Return the weights of participants (..., k): n_i divided by the largest n_j, so exactly 1 for equal sizes.

    The weights have the array library and dtype of ``models``. None means equal weights.
    """
    if weighting == "clients":
        return None
    sizes = np.asarray(task.client_samples, dtype=np.float64)
    weights = like((sizes / sizes.max())[to_numpy(clients)], models)
    return array_namespace(models).astype(weights, models.dtype)
