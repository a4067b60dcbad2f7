"""Compute two accuracies of each client: with the server's model before and after local training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms.base import Algorithm, Descent, Task
from clusterproof.common.arrays import Array, like, rows, to_numpy
from clusterproof.common.validation import InvalidArgument


@dataclass(frozen=True)
class ClientAccuracies:
    """Two accuracies per client, (..., m), in [0, 1].

    Attributes
    ----------
    server_model
        Accuracy of the model that the server has for the client, before local training.
    after_local_training
        Accuracy of the same model after the client's next local training.
    """

    server_model: np.ndarray
    after_local_training: np.ndarray


def received_models(algorithm: Algorithm[Any], models: Array, assignments: Array) -> Array:
    """Return the model that the server has for each client, (..., m, d).

    ``models`` (..., P, d) come from a state or from a round of a trace, with one row per cluster, or one row per client
    (local, cfl, sofl). ``assignments`` (..., m) holds the last known cluster of each client.

    Raises
    ------
    InvalidArgument
        If a client has never been assigned (-1) and has no separate model.
    """
    if algorithm.target == "clients":
        return models
    if (to_numpy(assignments) < 0).any():
        raise InvalidArgument(
            "assignments", -1, "must name a model for every client", "run more rounds or raise participation"
        )
    return rows(models, assignments)


def client_accuracies(
    task: Task,
    received: Array,
    generator: np.random.Generator,
    *,
    step_size: float,
    local_steps: int,
) -> ClientAccuracies:
    """Return the accuracy of each client's model when received, and after local gradient steps.

    Parameters
    ----------
    task
        A task with the method ``accuracies``.
    received
        Model that the server has for each client, (..., m, d), see ``received_models``.
    generator
        Generator that draws the samples for local training.
    step_size, local_steps
        Parameters of the local training.

    Raises
    ------
    InvalidArgument
        If the task has no method ``accuracies``.
    """
    clients = like(np.arange(task.clients), received)
    trained = task.local_steps(received, clients, generator, Descent(step_size, local_steps)).points
    return ClientAccuracies(
        server_model=to_numpy(task.accuracies(received, clients)),
        after_local_training=to_numpy(task.accuracies(trained, clients)),
    )
