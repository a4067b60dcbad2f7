"""Baselines of FPFC's Table 1 in which the authors' public code differs from the literature."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clusterproof.algorithms import CFL, IFCA, Descent, FedAvg, Randomness
from clusterproof.algorithms.averaging import choose_clusters
from clusterproof.algorithms.base import State, Task
from clusterproof.algorithms.bipartition import bipartition, cosine_similarities
from clusterproof.algorithms.cfl import RecursiveState
from clusterproof.algorithms.participation import draw_participants
from clusterproof.synthetic.softmax import SoftmaxMixture


@dataclass(frozen=True, kw_only=True)
class WeightedFedAvg(FedAvg):
    """FedAvg whose server weights each participant by its number of samples."""

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        assert isinstance(task, SoftmaxMixture)
        clients = draw_participants(self.participation, task.clients, state.models, randomness.participation)
        received = np.repeat(state.models, len(clients), axis=0)
        points = self.train(received, clients, task, randomness)
        weights = task.sizes[clients].astype(points.dtype)
        average = (weights @ points / weights.sum())[None]
        return State(average, clients, np.zeros_like(clients))

    def train(
        self, points: np.ndarray, clients: np.ndarray, task: Task, randomness: Randomness
    ) -> np.ndarray:
        """Train the participants: map received models (k, d) to sent models (k, d)."""
        descent = Descent(self.step_size, self.local_steps)
        return np.asarray(task.local_steps(points, clients, randomness.gradient, descent).points)


@dataclass(frozen=True, kw_only=True)
class FineTunedFedAvg(WeightedFedAvg):
    """Per-FedAvg of the public code: FedAvg, and one full gradient step of every client from the received model.

    A participant continues to train after that step. ``models`` is the server's model.
    """

    def train(
        self, points: np.ndarray, clients: np.ndarray, task: Task, randomness: Randomness
    ) -> np.ndarray:
        """Train the participants: map received models (k, d) to sent models (k, d)."""
        return super().train(self.personalise(points, clients, task, randomness), clients, task, randomness)

    def personalise(
        self, points: np.ndarray, clients: np.ndarray, task: Task, randomness: Randomness
    ) -> np.ndarray:
        """Take one step on all samples, (k, d)."""
        assert isinstance(task, SoftmaxMixture)
        return points - self.step_size * task.whole.gradients(points, clients, randomness.gradient)


@dataclass(frozen=True, kw_only=True)
class SharedIFCA(IFCA):
    """IFCA whose server divides the sum of a cluster's models by the number of all participants.

    The model of a cluster with a share s of the participants is multiplied by about s in each round, and that
    of an empty cluster becomes zero.
    """

    averaging: str = "model"

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

    An absent client reduces the mean update of its cluster, which is weighted by numbers of samples, and has
    cosine 0 with every other client when the cluster is split.
    """

    linkage: str = "complete"
    warm_up: int = 21

    def step(self, state: RecursiveState, task: Task, randomness: Randomness) -> RecursiveState:
        """Carry out one round."""
        assert isinstance(task, SoftmaxMixture)
        assert self.mean_threshold is not None
        assert self.client_threshold is not None
        models, members = state.models, state.assignments.copy()
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        updates = np.zeros_like(models)
        updates[clients] = self._descend(models, clients, task, randomness)
        weights = task.sizes.astype(models.dtype)
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
