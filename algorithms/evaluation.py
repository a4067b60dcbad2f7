"""Two accuracies of a client that are easily mixed up: the server's model's, and its own afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from clusterproof.algorithms.arrays import Array, like, rows, to_numpy
from clusterproof.algorithms.parts.aggregation import local_proximal_descent
from clusterproof.algorithms.protocol import Algorithm, Task
from clusterproof.algorithms.validation import InvalidArgument


@runtime_checkable
class ScoredTask(Protocol):
    """What a task may answer besides: how often a client's predictions are right."""

    def accuracies(self, points: Array, clients: Array) -> Array:
        """Share of each client's test data that its own point predicts right.

        ``points`` is (..., k, d) and ``clients`` (..., k); the result is (..., k), in [0, 1].
        """


@dataclass(frozen=True)
class ClientAccuracies:
    """Accuracies of every client, (..., m), each in [0, 1].

    Attributes
    ----------
    server_model
        Of the model that the server has for the client, before the client trains it any further.
    after_local_training
        Of that model after the client's next local training.
    """

    server_model: np.ndarray
    after_local_training: np.ndarray


def received_models(algorithm: Algorithm[Any], models: Array, assignments: Array) -> Array:
    """Give the model that the server has for each client, (..., m, d).

    Parameters
    ----------
    algorithm
        Says whether ``models`` has one row a cluster, or one a client (local, cfl, sofl).
    models
        Of a state or of one round of a trace, (..., P, d).
    assignments
        Last known cluster of every client, (..., m).

    Raises
    ------
    InvalidArgument
        If a client has never been assigned (-1) and has no model of its own.
    """
    if algorithm.target == "clients":
        return models
    if (to_numpy(assignments) < 0).any():
        raise InvalidArgument(
            "assignments", -1, "every client must have taken part", "run more rounds or raise participation"
        )
    return rows(models, assignments)


def client_accuracies(
    task: Task,
    received: Array,
    generator: np.random.Generator,
    *,
    step_size: float,
    local_steps: int = 1,
) -> ClientAccuracies:
    """Score every client's model as received, and after its own gradient steps.

    Parameters
    ----------
    task
        Also answers ``accuracies``.
    received
        Model that the server has for each client, (..., m, d), see ``received_models``.
    generator
        Source of the samples of the local training.
    step_size, local_steps
        Of the local training.

    Raises
    ------
    InvalidArgument
        If the task does not answer ``accuracies``.
    """
    if not isinstance(task, ScoredTask):
        raise InvalidArgument(
            "task", type(task).__name__, "must answer `accuracies` of clients", "use a task of classification"
        )
    clients = like(np.arange(task.clients), received)
    trained = local_proximal_descent(
        task,
        received,
        received,
        clients,
        generator,
        step_size=step_size,
        proximal=0.0,
        local_steps=local_steps,
    )
    return ClientAccuracies(
        server_model=to_numpy(task.accuracies(received, clients)),
        after_local_training=to_numpy(task.accuracies(trained, clients)),
    )
