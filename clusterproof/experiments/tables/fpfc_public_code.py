"""Baselines of FPFC's Table 1 for which the authors' public code differs from the literature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import CFL, IFCA, Descent, FedAvg
from clusterproof.algorithms.averaging import choose_clusters
from clusterproof.algorithms.base import State, Task
from clusterproof.algorithms.bipartition import bipartition, cosine_similarities
from clusterproof.algorithms.cfl import RecursiveState
from clusterproof.algorithms.participation import draw_participants
from clusterproof.common import Randomness


@dataclass(frozen=True, kw_only=True)
class WeightedFedAvg(FedAvg):
    """FedAvg with weights proportional to the participants' numbers of samples.

    Parameters
    ----------
    fine_tune
        Whether to run Per-FedAvg as in the public code. There every client takes one full gradient step from the
        received model, and the test uses the result; a participant then continues to train. ``models`` is the server's
        model.
    """

    fine_tune: bool = False

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        clients = draw_participants(self.participation, task.clients, state.models, randomness.participation)
        received = np.repeat(state.models, len(clients), axis=0)
        start = self.personalise(received, clients, task, randomness)
        descent = Descent(self.step_size, self.local_steps)
        points = task.local_steps(start, clients, randomness.gradient, descent).points
        weights = task.client_samples[clients].astype(points.dtype)
        return State((weights @ points / weights.sum())[None], clients, np.zeros_like(clients))

    def personalise(self, points: Any, clients: Any, task: Any, randomness: Randomness) -> np.ndarray:
        """Return the models (k, d) for the clients' test."""
        if not self.fine_tune:
            return np.asarray(points)
        gradients = task.gradients(points, clients, randomness.gradient)
        return np.asarray(points - self.step_size * gradients)


@dataclass(frozen=True, kw_only=True)
class SharedIFCA(IFCA):
    """IFCA, but the server divides the sum of a cluster's models by the number of all participants.

    If a share s of the participants is in a cluster, each round multiplies the cluster's model by about s. The model of
    an empty cluster becomes zero.
    """

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        models = state.models
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        assignments = choose_clusters(task, models, clients, randomness.assignment)
        descent = Descent(self.step_size, self.local_steps)
        points = task.local_steps(models[assignments], clients, randomness.gradient, descent).points
        sums = np.zeros_like(models)
        np.add.at(sums, assignments, points)
        return State(sums / len(clients), clients, assignments)


@dataclass(frozen=True, kw_only=True)
class AbsentAsZeroCFL(CFL):
    """CFL in which absent clients have zero updates.

    Absent clients reduce the mean update of their cluster; the weights of the mean are the numbers of samples. In a
    split, an absent client has cosine 0 with every other client.
    """

    linkage: str = "complete"
    warm_up: int = 21
    mean_threshold: float = 0.5
    client_threshold: float = 1.0

    def step(self, state: RecursiveState, task: Task, randomness: Randomness) -> RecursiveState:
        """Carry out one round."""
        models, members = state.models, state.assignments.copy()
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        updates = np.zeros_like(models)
        updates[clients] = self._descend(models, clients, task, randomness)
        weights = task.client_samples.astype(models.dtype)
        for cluster in range(members.max() + 1):
            ids = np.flatnonzero(members == cluster)
            mean = np.linalg.norm(weights[ids] @ updates[ids] / weights[ids].sum())
            largest = np.linalg.norm(updates[ids], axis=1).max()
            small = mean < self.mean_threshold and largest > self.client_threshold
            if small and len(ids) > 2 and int(state.rounds) >= self.warm_up:
                side = bipartition(cosine_similarities(updates[ids]), self.linkage)
                members[ids[side]] = members.max() + 1
        updated = models.copy()
        for cluster in range(members.max() + 1):
            ids = np.flatnonzero(members == cluster)
            updated[ids] += weights[ids] @ updates[ids] / weights[ids].sum()
        return replace(state, models=updated, assignments=members, rounds=state.rounds + 1)
