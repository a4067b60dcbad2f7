"""What a client counts in an average: one, or as many as it has samples."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array, like, on_device, to_numpy
from clusterproof.algorithms.protocol import SharesTask, SizedTask, Task
from clusterproof.algorithms.validation import InvalidArgument, check_choice

WEIGHTINGS = ("clients", "samples")


def check_weighting(weighting: str) -> None:
    """Require one of ``WEIGHTINGS``.

    Raises
    ------
    InvalidArgument
        If it is none.
    """
    check_choice("weighting", weighting, WEIGHTINGS, remedy="'samples' weighs a client by n_i / n")


def require_sizes(weighting: str, task: Task) -> None:
    """Require a task that says how many samples each client holds where they are to weigh.

    Raises
    ------
    InvalidArgument
        If it does not.
    """
    if weighting == "samples":
        _sizes(task)


def client_weights(weighting: str, task: Task, clients: Array, models: Array) -> Array | None:
    """Give the participants' weights, n_i over the largest of all clients, so that equal sizes weigh exactly 1.

    Parameters
    ----------
    weighting
        One of ``WEIGHTINGS``.
    task
        Answers ``SizedTask`` where samples weigh.
    clients
        Participants (..., k).
    models
        For the array library and the type.

    Returns
    -------
    Array or None
        (..., k); None where all count the same.
    """
    if weighting == "clients":
        return None
    sizes = np.asarray(_sizes(task), dtype=np.float64)
    if on_device(clients) and isinstance(task, SharesTask):
        xp = array_namespace(clients)
        found = xp.take(task.client_shares, xp.reshape(clients, (-1,)), axis=0)
        return xp.astype(xp.reshape(found, clients.shape), models.dtype)
    weights = like((sizes / sizes.max())[to_numpy(clients)], models)
    return array_namespace(models).astype(weights, models.dtype)


def _sizes(task: Task) -> np.ndarray:
    if not isinstance(task, SizedTask):
        raise InvalidArgument(
            "weighting",
            "samples",
            "asks for a task that says how many samples each client holds",
            "give the task `client_samples`, or use 'clients'",
        )
    return task.client_samples
