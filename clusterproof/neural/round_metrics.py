"""Evaluation of models after a round: accuracies, losses, and the share of clients with their cluster's model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms import Algorithm, State
from clusterproof.algorithms.averaging import average_by_cluster
from clusterproof.common import Randomness, generator
from clusterproof.common.arrays import Array, argmin_smallest_index, like, rows, to_numpy
from clusterproof.running import client_accuracies
from clusterproof.running.contract import Guard

if TYPE_CHECKING:
    from clusterproof.neural.networks import Network
    from clusterproof.neural.task import ImageTask


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Metrics after a round.

    Attributes
    ----------
    metrics
        Means over clients. ``accuracy`` is the accuracy of each test client's model on the test data. If clients choose
        a model, ``test_loss`` and ``training_loss`` use the smallest loss of any model, on the data of each test client
        and of each participant. ``accuracy_over_samples`` is the share of all test samples that are predicted
        correctly. ``correct_model`` is the share of test clients that receive their cluster's model; models are matched
        to clusters so as to maximise this share. ``accuracy_after_local_training`` is present if requested.
    accuracies, assignments
        Accuracy and model of each test client, (m_test,).
    """

    metrics: dict[str, float | None]
    accuracies: np.ndarray
    assignments: np.ndarray


@contextmanager
def evaluation_mode(network: Network) -> Iterator[None]:
    """Context in which a network is in evaluation mode."""
    is_training = network.training
    network.eval()
    try:
        yield
    finally:
        network.train(is_training)


def evaluate(
    algorithm: Algorithm[State],
    task: ImageTask,
    state: State,
    assignments: np.ndarray,
    *,
    test_assignment: str,
    seed: int,
    done: int,
    after_local_training: bool = False,
    guard: Guard,
) -> Evaluation:
    """Evaluate the models of a state on the test data, with the network in evaluation mode.

    If the algorithm has one model per client, each client is tested with its own model. Otherwise a test client chooses
    the model with the smallest loss: on its training data if ``test_assignment`` is ``"train"``, or on its labelled
    test data if it is ``"test-loss"``. If the algorithm has a personal step, and the test clients are the training
    clients, the accuracy is measured after this step. If there is one model per training client, but the test clients
    are other clients, they choose among the mean models of the clusters.

    Parameters
    ----------
    algorithm
        The algorithm, with the step size of the round for additional training.
    task, state
        The task, and the state to evaluate.
    assignments
        Last known cluster of every client, (m,), or -1 for a client that has not taken part.
    test_assignment
        ``"train"`` or ``"test-loss"``.
    seed, done
        Seed of the run, and number of finished rounds.
    after_local_training
        Whether to measure also the accuracy of each client's model after the next local training.
    guard
        Checks of the algorithm's return values.
    """
    assert state.clients is not None, "a round led here"
    stream = generator(seed, "evaluation", done)
    models = state.models
    draws = Randomness(*5 * (stream,))
    all_clients = like(np.arange(task.clients), models)
    measured: dict[str, float | None] = {}

    def personal_accuracies(points: Array) -> np.ndarray:
        personal = algorithm.personalise(points, all_clients, task, draws)
        guard.check_models("personalise", personal, tuple(points.shape))
        return to_numpy(task.accuracies(personal, all_clients))

    with evaluation_mode(task.network):
        if algorithm.target == "clients" and task.partition.paired:
            accuracies = personal_accuracies(models)
            chosen, served = assignments, models
        else:
            if algorithm.target == "clients":
                models = _means(models, assignments)
            scores = task.scores(models)
            test_losses = to_numpy(scores.losses)
            if test_assignment == "train":
                training_losses = task.losses(models, all_clients, stream)
                chosen = to_numpy(argmin_smallest_index(training_losses))
                present = to_numpy(training_losses)[to_numpy(state.clients)]
            else:
                chosen = to_numpy(argmin_smallest_index(scores.losses))
                present = to_numpy(task.losses(models, state.clients, stream))
            each = np.arange(len(chosen))
            accuracies = to_numpy(scores.accuracies)[each, chosen]
            if algorithm.has_personal_step and task.partition.paired:
                accuracies = personal_accuracies(rows(models, like(chosen, models)))
            measured["test_loss"] = _mean(test_losses[each, chosen])
            measured["training_loss"] = _mean(present.min(axis=-1))
            served = rows(models, like(chosen, models)) if after_local_training else models
        if after_local_training:
            settings = algorithm.settings
            trained = client_accuracies(
                task,
                served,
                stream,
                step_size=settings["step_size"],
                local_steps=settings.get("local_steps", 1),
            )
            measured["accuracy_after_local_training"] = _mean(trained.after_local_training)
    measured["accuracy"] = _mean(accuracies)
    measured["accuracy_over_samples"] = _mean(accuracies, task.partition.test.sizes)
    if has_groups(algorithm, task):
        labels = task.partition.test.labels
        measured["correct_model"] = share_with_correct_model(chosen, labels, task.clusters)
    return Evaluation(measured, accuracies, chosen)


def has_groups(algorithm: Algorithm[Any], task: ImageTask) -> bool:
    """Return whether clustering metrics are meaningful: several true clusters, and a method that finds clusters."""
    return task.clusters > 1 and algorithm.target != "pooled"


def share_with_correct_model(chosen: np.ndarray, labels: np.ndarray, clusters: int) -> float:
    """Return the share of clients that have their cluster's model, for the best matching of models and clusters.

    Parameters
    ----------
    chosen, labels
        Model and true cluster of each client, integers (m,), or -1 for a client without a model.
    clusters
        Number of true clusters.
    """
    model_of = match_models(chosen, labels, int(chosen.max(initial=0)) + 1, clusters)
    # -1 represents a cluster without a model, and also a client without a model; these two do not match
    return float(((chosen == model_of[labels]) & (chosen >= 0)).mean())


def match_models(assignments: np.ndarray, labels: np.ndarray, models: int, clusters: int) -> np.ndarray:
    """Match models and true clusters one to one, so that the largest number of clients have their cluster's model.

    Parameters
    ----------
    assignments, labels
        Chosen model and true cluster of each client, integers (m,), or -1 for a client that never chose.
    models, clusters
        Numbers of the server's models and of true clusters.

    Returns
    -------
    numpy.ndarray
        The model of each cluster, integers (clusters,), or -1 for a cluster without a model.

    Notes
    -----
    The Hungarian algorithm finds a matching with the largest number of clients in matched pairs.
    """
    from scipy.optimize import linear_sum_assignment

    table = np.zeros((clusters, models), dtype=np.int64)
    present = assignments >= 0
    np.add.at(table, (labels[present], assignments[present]), 1)
    matched = np.full(clusters, -1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    matched[rows] = columns
    return matched


def _means(models: Array, assignments: np.ndarray) -> Array:
    """Return the mean model of each cluster, (P, d), from the clients' models (m, d)."""
    _, dense = np.unique(assignments, return_inverse=True)
    groups = like(dense, models)
    return average_by_cluster(models, groups, fallback=0 * models[: int(dense.max()) + 1])


def _mean(values: np.ndarray, weights: np.ndarray | None = None) -> float | None:
    """Return the mean over clients, or None if the mean is not finite."""
    mean = float(np.average(values.astype(np.float64), weights=weights))
    return mean if np.isfinite(mean) else None
