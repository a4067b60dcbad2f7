"""SoFL: cluster the clients once with a self-organising map and k-means, then train one model per cluster.

SoFL is not a function in ``methods``, because a method cannot cluster all updates on the server.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from clusterproof.algorithms import self_organising_map as som
from clusterproof.algorithms.array_clients import ArrayClient
from clusterproof.algorithms.averaging import (
    check_participation,
    check_proximal,
    check_weighting,
    client_weights,
    draw_participants,
    require_sizes,
)
from clusterproof.algorithms.base import Algorithm, Descent, Task
from clusterproof.algorithms.cfl import (
    STATIONARY,
    PartitionState,
    average_in_clusters,
    mean_and_largest,
    start_together,
)
from clusterproof.algorithms.second_clustering import cluster_winners
from clusterproof.common.arrays import Array, like, rows, to_numpy
from clusterproof.common.finiteness import check_finite
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import (
    InvalidArgument,
    check_choice,
    check_count,
    check_descent,
    check_number,
)
from clusterproof.methods.averaging import meta_steps


@dataclass(frozen=True)
class DoubleState(PartitionState):
    """State of SoFL.

    Attributes
    ----------
    clustered
        Whether the clients of a replicate have been clustered, booleans (...) in host memory.
    """

    clustered: np.ndarray


@dataclass(frozen=True, kw_only=True)
class SoFL(Algorithm[DoubleState]):
    """Train one model for all clients, cluster their updates in two steps, then train one model per cluster.

    In the clustering round, all clients send their updates. The server trains a self-organising map, with cosine
    distance, on the updates, and groups the winning neurons with k-means. A client belongs to the group of the neuron
    that it wins.

    Parameters
    ----------
    step_size
        Step size of the clients (eta), positive.
    local_steps
        Number of gradient steps that a client takes per round (E).
    method
        Training method, for all clients before the clustering and for each cluster after the clustering: ``"fedavg"``,
        ``"fedprox"`` or ``"per-fedavg"`` (first order, with its default inner step).
    proximal
        Coefficient of FedProx's proximal term (mu), at least 0. For all other methods it must be 0.
    pretraining
        Number of rounds before the clustering (T_cluster).
    trigger
        With ``"round"``, clustering follows immediately after pretraining. ``"stationary"`` waits for the first round
        in which the norm of the mean update is below a tenth of the largest norm.
    grid
        Side length of the square map. With 1, there is only one cluster.
    updates
        Number of updates of the map, with one sample per update in random order (300 iterations in the paper).
    learning_rate
        Learning rate of the map's first update (eta_0).
    radius
        Radius of the map's first update (sigma_0).
    schedule
        Decay of learning rate and radius: ``"as-printed"`` (12), (13), or ``"robbins-monro"``.
    initialisation
        Initial neurons. ``"sample"`` draws updates of clients, and ``"random"`` draws unit vectors, as in MiniSom.
    cluster_count
        Rule for the number of clusters. ``"elbow"`` uses the winners, as published. ``"silhouette"`` uses the
        clients, and can also return one cluster, or one cluster per winner.
    participation
        Fraction of clients in a round, in (0, 1]. In the round of the clustering, all clients participate.
    weighting
        Weight of a client in an average: 1 for ``"clients"``, n_i / n for ``"samples"``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range, or scikit-learn is not installed. If the stationary trigger is combined
        with partial participation, because this trigger needs every client's update. During a run, if a client's model
        is not finite.

    Notes
    -----
    SoFL (Electronics 13, 3682, 2024), Algorithm 1. Line 30 has the weights n_m / n. The paper does not state the
    grid, the initialisation and the definition of the elbow. Here the elbow is the point farthest below the chord of
    the curve. Updates are divided by the largest norm, because MiniSom's cosine has 1e-8 in the denominator and
    therefore depends on the scale. A zero update has cosine 0 with every vector. A run starts from one model. After
    the first round, ``models`` has one row per client.
    """

    name: ClassVar[str] = "sofl"
    target: ClassVar[str] = "clients"

    step_size: float
    local_steps: int = 1
    method: str = "fedavg"
    proximal: float = 0.0
    pretraining: int = 20
    trigger: str = "round"
    grid: int = 5
    updates: int = 300
    learning_rate: float = 0.1
    radius: float = 1.5
    schedule: str = "as-printed"
    initialisation: str = "sample"
    cluster_count: str = "silhouette"
    participation: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, None, "model", self.local_steps)
        check_proximal(self.proximal)
        check_count("pretraining", self.pretraining, at_least=0, remedy="the paper uses 20 or 40 rounds")
        check_count("grid", self.grid, at_least=1, remedy="5 gives a map of 25 neurons")
        check_count("updates", self.updates, at_least=1, remedy="the paper uses 300")
        check_number("learning_rate", self.learning_rate, above=0, at_most=1, remedy="the paper uses 0.1")
        check_number(
            "radius", self.radius, at_least=0, remedy="the paper uses 1.5; with 0, only winners move"
        )
        for argument, choices in (
            ("method", ("fedavg", "fedprox", "per-fedavg")),
            ("trigger", ("round", "stationary")),
            ("schedule", ("as-printed", "robbins-monro")),
            ("initialisation", ("sample", "random")),
            ("cluster_count", ("silhouette", "elbow")),
        ):
            check_choice(argument, getattr(self, argument), choices, remedy=f"use {choices[0]!r}")
        check_participation(self.participation)
        check_weighting(self.weighting)
        if self.proximal and self.method != "fedprox":
            raise InvalidArgument(
                "proximal",
                self.proximal,
                f"does not apply with method = {self.method!r}",
                "use method='fedprox'",
            )
        if self.trigger == "stationary" and self.participation < 1:
            rule = "needs every client's update in each round, and participation is below 1"
            raise InvalidArgument("trigger", self.trigger, rule, "use trigger='round', or participation=1")

    def model_count(self, task: Task) -> int:
        """Return 1, because all clients start from one model."""
        require_sizes(self.weighting, task)
        return 1

    def initialise(self, models: Array, task: Task) -> DoubleState:
        """Start with all clients in one cluster, at the given model (..., 1, d)."""
        start = start_together(models, task)
        clustered = np.zeros(models.shape[:-2], dtype=bool)
        return DoubleState(start.models, start.clients, start.assignments, start.rounds, clustered)

    def step(self, state: DoubleState, task: Task, randomness: Randomness) -> DoubleState:
        """Carry out one round."""
        models = state.models
        clustered = to_numpy(state.clustered)
        pending = int(state.rounds) >= self.pretraining and not clustered.all()
        participation = 1.0 if pending else self.participation
        clients = draw_participants(participation, task.clients, models, randomness.participation)
        received = rows(models, clients)
        points = self._train(received, clients, task, randomness)
        check_finite(points, clients, self.step_size)
        sent = points - received
        if pending:
            state = self._cluster_due_replicates(state, sent, clustered, randomness)
        weights = client_weights(self.weighting, task, clients, models)
        return average_in_clusters(state, clients, sent, weights=weights)

    @property
    def has_personal_step(self) -> bool:
        """Whether the training method has a personal step."""
        return self.method == "per-fedavg"

    def personalise(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Take the personal step of the training method."""
        if self.method != "per-fedavg":
            return points
        return points - self.step_size / 2 * task.gradients(points, clients, randomness.gradient)

    def _train(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Return the models of participants (..., k) after local training from ``points``, (..., k, d)."""
        if self.method == "per-fedavg":
            client = ArrayClient(task, clients, randomness.gradient, self.local_steps)
            return meta_steps(client, points, self.step_size, self.step_size / 2, first_order=True)
        descent = Descent(self.step_size, self.local_steps, proximal=self.proximal)
        return task.local_steps(points, clients, randomness.gradient, descent).points

    def _cluster_due_replicates(
        self, state: DoubleState, updates: Array, clustered: np.ndarray, randomness: Randomness
    ) -> DoubleState:
        """Cluster each replicate that satisfies the trigger, one replicate at a time, with k-means on the host."""
        vectors = to_numpy(updates)
        due = ~clustered
        if self.trigger == "stationary":
            due &= self.at_rest(vectors)
        if not due.any():
            return state
        members = to_numpy(state.assignments).copy()
        for replicate in np.ndindex(due.shape):
            if due[replicate]:
                members[replicate] = self.cluster(vectors[replicate], randomness.clustering)
        partition = like(members, state.models)
        return replace(state, assignments=partition, clustered=np.asarray(clustered | due))

    def at_rest(self, updates: np.ndarray) -> np.ndarray:
        """Return whether the mean update is shorter than a tenth of the longest update (..., m, d), (...)."""
        result = np.zeros(updates.shape[:-2], dtype=bool)
        for replicate in np.ndindex(result.shape):
            mean, longest = mean_and_largest(updates[replicate])
            result[replicate] = mean < STATIONARY * longest
        return result

    def cluster(self, updates: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the cluster of each client, (m,), from updates (m, d). Clusters are numbered by first appearance."""
        neurons, data = self.train_map(updates, generator)
        winners = som.best_matching_units(neurons, data)
        seed = int(generator.integers(2**31))
        return cluster_winners(data, winners, neurons.reshape(-1, data.shape[1]), self.cluster_count, seed)

    def train_map(self, updates: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Train the map on updates (m, d).

        Returns
        -------
        tuple
            Neurons (grid, grid, e) and rescaled updates (m, e). If these vectors span fewer than d dimensions, both are
            given in an orthonormal basis of the span.
        """
        data = np.asarray(updates, dtype=np.float64)
        for order in (np.inf, 2):  # divide twice, because the square of a tiny update would underflow
            length = np.linalg.vector_norm(data, axis=1, ord=order).max()
            data = data / (length if length > 0 else 1.0)
        start = som.initial_neurons(data, (self.grid, self.grid), self.initialisation, generator)
        vectors = np.concatenate([data, start.reshape(-1, data.shape[1])])
        if len(vectors) < data.shape[1]:
            vectors = np.linalg.qr(vectors.T)[1].T
        data, start = vectors[: len(data)], vectors[len(data) :].reshape(self.grid, self.grid, -1)
        neurons = som.train(
            start,
            data,
            som.sample_order(len(data), self.updates, generator),
            learning_rate=self.learning_rate,
            radius=self.radius,
            schedule=self.schedule,
        )
        return neurons, data
