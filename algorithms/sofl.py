"""SoFL: one clustering of the clients by a self-organising map and k-means, then training apart."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array, like, on_device, rows, to_numpy
from clusterproof.algorithms.cfl import (
    SLACK,
    STATIONARY,
    PartitionState,
    average_in_clusters,
    mean_and_largest,
    start_together,
)
from clusterproof.algorithms.fedavg import FedAvg
from clusterproof.algorithms.fedprox import FedProx, check_proximal
from clusterproof.algorithms.ifca import check_descent
from clusterproof.algorithms.parts import self_organising_map as som
from clusterproof.algorithms.parts.finiteness import ask, check_finite
from clusterproof.algorithms.parts.participation import check_participation, participants_of_round
from clusterproof.algorithms.parts.second_clustering import cluster_winners
from clusterproof.algorithms.parts.weighting import check_weighting, client_weights, require_sizes
from clusterproof.algorithms.per_fedavg import PerFedAvg
from clusterproof.algorithms.protocol import Algorithm, Task
from clusterproof.algorithms.randomness import Randomness, of_replicate
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_count, check_number


@dataclass(frozen=True)
class DoubleState(PartitionState):
    """State of SoFL.

    Attributes
    ----------
    clustered
        Whether a replicate has been clustered, booleans (...) on the host.
    """

    clustered: np.ndarray


@dataclass(frozen=True, kw_only=True)
class SoFL(Algorithm[DoubleState]):
    """One model for all, one double clustering of the clients' updates, then a model a cluster.

    In the round of the clustering all clients send their updates. A self-organising map with cosine
    best matching units is trained on them, its winning neurons are grouped by k-means, and a client
    belongs to the group of its neuron.

    Parameters
    ----------
    step_size
        Step size of the clients (eta), positive.
    local_steps
        Gradient steps of a client in a round (E).
    method
        What trains a model, on everybody before the clustering and in each cluster after it:
        ``"fedavg"``, ``"fedprox"`` or ``"per-fedavg"`` (first order, with its default inner step).
    proximal
        Strength of FedProx's pull towards the cluster's model (mu), at least 0; 0 elsewhere.
    pretraining
        Rounds before the clustering (T_cluster).
    trigger
        ``"round"`` clusters right after pretraining. ``"stationary"`` waits from then on for the
        first round in which the mean update is shorter than a tenth of the longest.
    grid
        Side of the square map; 1 leaves all clients in one cluster.
    updates
        Single-sample updates of the map, in random order (the paper's 300 iterations).
    learning_rate, radius
        Of the map's first update (eta_0 and sigma_0).
    schedule
        Their decay: ``"as-printed"`` (12), (13), or ``"robbins-monro"``, see ``self_organising_map``.
    initialisation
        Of the neurons: ``"sample"`` draws clients' updates, ``"random"`` unit vectors (MiniSom's).
    cluster_count
        ``"elbow"`` of the winners as published, or ``"silhouette"`` of the clients, which alone can
        answer one cluster, or one for each winner; see ``second_clustering``.
    participation
        Fraction of clients in a round, in (0, 1]. The round of the clustering has all.
    weighting
        What a client counts in an average: ``"clients"``, one, or ``"samples"``, n_i / n.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range, scikit-learn is not installed, or the stationary trigger,
        which needs every client's update, meets partial participation; during a run, if a client's
        model is not finite.

    Notes
    -----
    SoFL (Electronics 13, 3682, 2024), Algorithm 1, whose line 30 has n_m / n. The grid, the initialisation and
    the detector of the elbow are not in the paper; here the detector is the largest distance below
    the chord. Updates are divided by the norm of the longest, to which MiniSom's cosine, with
    1e-8 in its denominator, is sensitive. A zero update has cosine 0 with everything. A run starts
    from one model; ``models`` then has one row a client. On a device the host sees updates in the round of
    the clustering alone; a round that waits for the stationary trigger asks for truth values, in the look
    that every round takes.
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
        check_count("pretraining", self.pretraining, at_least=0, remedy="the paper has 20 or 40 rounds")
        check_count("grid", self.grid, at_least=1, remedy="5 makes a map of 25 neurons")
        check_count("updates", self.updates, at_least=1, remedy="the paper has 300")
        check_number("learning_rate", self.learning_rate, above=0, at_most=1, remedy="the paper has 0.1")
        check_number("radius", self.radius, at_least=0, remedy="the paper has 1.5; 0 moves winners alone")
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
                "proximal", self.proximal, f"does not apply with method = {self.method!r}", "choose 'fedprox'"
            )
        if self.trigger == "stationary" and self.participation < 1:
            raise InvalidArgument(
                "trigger",
                self.trigger,
                "needs every client's update in each round, and participation is below 1",
                "use 'round' or full participation",
            )

    def model_count(self, task: Task) -> int:
        """Give 1: everybody starts from one model."""
        if importlib.util.find_spec("sklearn") is None:
            raise InvalidArgument(
                "algorithm",
                self.name,
                "needs scikit-learn for its second clustering",
                "install the extra `cluster`: pip install 'clusterproof[cluster]'",
            )
        require_sizes(self.weighting, task)
        return 1

    def initialise(self, models: Array, task: Task) -> DoubleState:
        """Start with all clients in one cluster, at the given model (..., 1, d)."""
        start = start_together(models, task)
        nobody = np.zeros(models.shape[:-2], dtype=bool)
        parts = (start.models, start.clients, start.assignments, start.rounds, nobody)
        return DoubleState(*parts, clusters=start.clusters)

    def step(self, state: DoubleState, task: Task, randomness: Randomness) -> DoubleState:
        """Carry out one round."""
        models = state.models
        clustered = to_numpy(state.clustered)
        pending = int(state.rounds) >= self.pretraining and not clustered.all()
        participation = 1.0 if pending else self.participation
        clients = participants_of_round(participation, task, models, randomness.participation)
        received = rows(models, clients)
        points = self._trainer.descend(received, clients, task, randomness)
        check_finite(points, clients, self.step_size)
        sent = points - received
        if pending:
            state = self._cluster_those_ready(state, sent, clustered, randomness)
        weights = client_weights(self.weighting, task, clients, models)
        return average_in_clusters(state, clients, sent, weights=weights)

    @property
    def has_personal_step(self) -> bool:
        """Whether the method has."""
        return self._trainer.has_personal_step

    def personalise(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Take the method's personal step."""
        return self._trainer.personalise(points, clients, task, randomness)

    @property
    def asks_single_gradients(self) -> bool:
        """Whether the method does."""
        return self._trainer.asks_single_gradients

    @property
    def _trainer(self) -> FedAvg | FedProx | PerFedAvg:
        """The algorithm whose clients' part of a round is used."""
        if self.method == "fedprox":
            return FedProx(step_size=self.step_size, local_steps=self.local_steps, proximal=self.proximal)
        kind = FedAvg if self.method == "fedavg" else PerFedAvg
        return kind(step_size=self.step_size, local_steps=self.local_steps)

    def _cluster_those_ready(
        self, state: DoubleState, updates: Array, clustered: np.ndarray, randomness: Randomness
    ) -> DoubleState:
        """Cluster the replicates that are due, one after the other: once in a run, with k-means on the host."""
        if not on_device(updates):
            updates = to_numpy(updates)
        due = ~clustered
        if self.trigger == "stationary":
            due &= self.at_rest(updates)
        if not due.any():
            return state
        members = to_numpy(state.assignments).copy()
        for replicate in np.ndindex(due.shape):
            if due[replicate]:
                own = of_replicate(randomness.clustering, replicate)
                members[replicate] = self.cluster(updates[replicate], own)
        count = int(members.max()) + 1 if on_device(updates) else None
        partition = like(members, state.models)
        return replace(state, assignments=partition, clustered=np.asarray(clustered | due), clusters=count)

    def at_rest(self, updates: Array) -> np.ndarray:
        """In which replicates the mean of updates (..., m, d) is shorter than a tenth of the longest, (...).

        Of updates on a device this is asked for with what else the round asks at its end; the host's arithmetic
        decides what is a near thing.
        """
        lead = tuple(updates.shape[:-2])
        near, found = np.ones(lead, dtype=bool), np.zeros(lead, dtype=bool)
        if on_device(updates):
            xp = array_namespace(updates)
            bound = STATIONARY * xp.max(xp.linalg.vector_norm(updates, axis=-1), axis=-1)
            means = xp.linalg.vector_norm(xp.mean(updates, axis=-2), axis=-1)
            surely, perhaps = ask(xp.stack([means < (1 - SLACK) * bound, means < (1 + SLACK) * bound]))
            near, found = np.asarray(perhaps & ~surely), np.array(surely)
        for replicate in np.ndindex(lead):
            if near[replicate]:
                mean, longest = mean_and_largest(to_numpy(updates[replicate]))
                found[replicate] = mean < STATIONARY * longest
        return found

    def cluster(self, updates: Array, generator: np.random.Generator) -> np.ndarray:
        """Partition clients by their updates (m, d): cluster of each, by first appearance, (m,)."""
        neurons, data = self.train_map(updates, generator)
        winners = som.best_matching_units(neurons, data)
        seed = int(generator.integers(2**31))
        return cluster_winners(data, winners, neurons.reshape(-1, data.shape[1]), self.cluster_count, seed)

    def train_map(self, updates: Array, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Train the map on updates (m, d); on the host, where a device sends them in as few coordinates as may be.

        Returns
        -------
        tuple
            Neurons (grid, grid, e), and the rescaled updates that they belong to, (m, e): in d
            coordinates, or in as few as span both where d is larger, at the same lengths and angles.
        """
        data, start = self._spanned(updates, generator)
        neurons = som.train(
            start,
            data,
            som.sample_order(len(data), self.updates, generator),
            learning_rate=self.learning_rate,
            radius=self.radius,
            schedule=self.schedule,
        )
        return neurons, data

    def _spanned(self, updates: Array, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Rescaled updates and the neurons that the map starts with, see ``train_map``.

        A device sends m + grid^2 vectors with at most as many coordinates, at one look. The map stays on the host:
        each of its updates hangs on the one before, and takes a device a dozen launches, which last longer than
        its few numbers take here.
        """
        xp = array_namespace(updates)
        data = xp.astype(updates, xp.float64)
        for order in (xp.inf, 2):  # in two steps: the square of a tiny update would underflow
            length = xp.max(xp.linalg.vector_norm(data, axis=1, ord=order))
            data = data / xp.where(length > 0, length, xp.ones_like(length))
        start = som.initial_neurons(data, (self.grid, self.grid), self.initialisation, generator)
        vectors = xp.concat([data, xp.reshape(start, (-1, data.shape[1]))])
        if vectors.shape[0] < data.shape[1]:
            vectors = xp.linalg.qr(vectors.T)[1].T
        found = to_numpy(vectors)
        return found[: data.shape[0]], found[data.shape[0] :].reshape(self.grid, self.grid, -1)
