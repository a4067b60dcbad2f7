"""Metrics of a run: agreement of an assignment with the true clusters, and accuracies of clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms.base import Algorithm, Descent, Task
from clusterproof.common.arrays import Array, convert_array, like, rows, to_numpy
from clusterproof.common.validation import InvalidArgument


def contingency(assignments: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Count the clients in each pair of assigned and true cluster, from integers (m,), without absent clients (-1).

    Raises
    ------
    InvalidArgument
        If assignments or labels are not integer arrays of shape (m,), or their lengths differ.
    """
    assignments, labels = _clusters("assignments", assignments), _clusters("labels", labels)
    if assignments.shape != labels.shape:
        rule = f"must have the shape of the assignments, {assignments.shape}"
        raise InvalidArgument("labels", labels.shape, rule, "give every client one assignment and one label")
    present = assignments >= 0
    assigned, rows = np.unique(assignments[present], return_inverse=True)
    truth, columns = np.unique(labels[present], return_inverse=True)
    table = np.zeros((len(assigned), len(truth)), dtype=np.int64)
    np.add.at(table, (rows, columns), 1)
    return table


def cluster_count(assignments: np.ndarray) -> int:
    """Count the clusters with at least one client, from integers (m,), without absent clients (-1).

    Purity never decreases when clusters are split, and is 1 for singletons. Report purity together with this number or
    the adjusted Rand index.
    """
    assignments = _clusters("assignments", assignments)
    return len(np.unique(assignments[assignments >= 0]))


def _clusters(argument: str, value: Any) -> np.ndarray:
    """Check the clusters of the clients, and return them as integers (m,)."""
    rule, remedy = "must be integers (m,)", "give one cluster per client, for a single replicate and round"
    clusters = to_numpy(convert_array(argument, value, rule, remedy, integers=True))
    if clusters.ndim != 1:
        raise InvalidArgument(argument, clusters.shape, rule, remedy)
    return clusters


def purity(assignments: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of clients whose true cluster is the majority in their assigned cluster, in (0, 1].

    ``assignments`` and ``labels`` are integers (m,); absent clients (-1) do not count. The result is NaN if all clients
    are absent.
    """
    table = contingency(assignments, labels)
    return float(table.max(axis=1).sum() / table.sum()) if table.size else float("nan")


def adjusted_rand_index(assignments: np.ndarray, labels: np.ndarray) -> float:
    """Return the adjusted Rand index of two partitions: agreement corrected for chance (Hubert and Arabie, 1985).

    The index is 1 for equal partitions, and 0 on average for random partitions. The partitions are integers (m,);
    absent clients (-1) do not count. The result is NaN if all clients are absent.
    """
    table = contingency(assignments, labels).astype(float)
    if not table.size:
        return float("nan")

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    total = pairs(table.sum(keepdims=True))
    assigned, truth = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = assigned * truth / total if total else 0.0
    largest = (assigned + truth) / 2
    return 1.0 if largest == expected else (pairs(table) - expected) / (largest - expected)


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

    ``models`` (..., P, d) are the models of a state or of a round of a trace, with one row per cluster, or one row per
    client (local, cfl, sofl). ``assignments`` (..., m) contains the last known cluster of each client.

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
    """Return the accuracy of the model that each client receives, before and after local gradient steps.

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
