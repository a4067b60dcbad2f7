"""Weights of clients in averages: equal weights, or weights proportional to the numbers of samples."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms.base import Task
from clusterproof.common.arrays import Array, array_namespace, like, to_numpy
from clusterproof.common.validation import check_choice

WEIGHTINGS = ("clients", "samples")


def check_weighting(weighting: str) -> None:
    """Raise ``InvalidArgument`` unless the argument is one of ``WEIGHTINGS``."""
    check_choice("weighting", weighting, WEIGHTINGS, remedy="'samples' gives a client the weight n_i / n")


def require_sizes(weighting: str, task: Task) -> None:
    """Raise ``InvalidArgument`` if ``"samples"`` is requested and the task has no ``client_samples``."""
    if weighting == "samples":
        _ = task.client_samples


def client_weights(weighting: str, task: Task, clients: Array, models: Array) -> Array | None:
    """Return the weights n_i / max_j n_j of participants (..., k); for equal sizes, all weights are exactly 1.

    The weights use the array library and dtype of ``models``. The result None stands for equal weights.
    """
    if weighting == "clients":
        return None
    sizes = np.asarray(task.client_samples, dtype=np.float64)
    weights = like((sizes / sizes.max())[to_numpy(clients)], models)
    return array_namespace(models).astype(weights, models.dtype)
