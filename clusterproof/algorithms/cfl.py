"""CFL, clustered federated learning by recursive bipartition (Sattler et al., 2020).

CFL is not a function in ``methods``, because a method cannot compare every pair of updates on the server.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

import numpy as np
from array_api_compat import device

from clusterproof.algorithms.averaging import (
    average_by_cluster,
    check_participation,
    check_weighting,
    client_weights,
    draw_participants,
    require_sizes,
)
from clusterproof.algorithms.base import Algorithm, Descent, State, Task
from clusterproof.algorithms.bipartition import bipartition, cosine_similarities
from clusterproof.common.arrays import Array, array_namespace, like, replace_rows, rows, to_numpy
from clusterproof.common.finiteness import check_finite
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import (
    InvalidArgument,
    check_choice,
    check_count,
    check_descent,
    check_number,
)

STATIONARY = 0.1
"""Largest ratio of the norms of mean update and largest update for which a cluster may be split (SoFL, 4.1)."""

INCONGRUENT = 0.25
"""Smallest ratio of a cluster's largest update to the first round's largest update for which it may be split."""


@dataclass(frozen=True)
class PartitionState(State):
    """State of an algorithm whose server stores a partition of the clients.

    ``models`` contains the model of every client's cluster, (..., m, d). ``assignments`` contains the cluster of
    every client, (..., m), even if the client does not take part, and is never None.

    Attributes
    ----------
    rounds
        Number of finished rounds, an integer () on the host.
    clusters
        An unused field, which older saved states contain.
    """

    assignments: Array
    rounds: np.ndarray | int
    clusters: int | None = field(default=None, kw_only=True)


PartitionT = TypeVar("PartitionT", bound=PartitionState)


@dataclass(frozen=True)
class RecursiveState(PartitionState):
    """State of CFL.

    Attributes
    ----------
    reference
        Norm of the largest update of the first round, (...).
    """

    reference: Array


@dataclass(frozen=True, kw_only=True)
class CFL(Algorithm[RecursiveState]):
    """FedAvg in every cluster. The server splits a cluster near a stationary point if its updates conflict.

    A cluster of more than two participants is split when the norm of its mean update is below
    ``mean_threshold`` while its largest update is above ``client_threshold``. The split depends on the cosines between
    the updates, and the averages of the same round use the new clusters.

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    local_steps
        Number of gradient steps that a client takes per round.
    mean_threshold
        A cluster may be split if the norm of its mean update is below this number (eps_1). If None, it is a tenth of
        the cluster's largest update in the round.
    client_threshold
        A cluster may be split if the norm of some client's update is above this number (eps_2), at least
        ``mean_threshold``. Give both thresholds or neither. If None, it is a quarter of the first round's largest
        update. This default is reasonable if the initial model is about as far from the optima as the optima are from
        each other.
    linkage
        ``"single"`` minimises the largest similarity across the split. The public code uses ``"complete"``.
    warm_up
        Number of rounds before the first split.
    participation
        Fraction of clients in a round, in (0, 1]. If the participants of a cluster satisfy the conditions of a split,
        the server requests the updates of all clients of the cluster in the same round. It splits the cluster if
        these updates satisfy the conditions, as well.
    weighting
        Weight of a client in averages and in the mean for eps_1: ``"clients"`` (equal) or ``"samples"`` (n_i / n).
    noise_ratio
        The paper's gamma_max, in [0, 1): bound on the noise of a client's update, relative to the norm of the update.
        A cluster is split only if sqrt((1 - a) / 2) exceeds this number, where a is the largest cosine across the
        split. Such a split never separates two clients with the same distribution. If None, every split is accepted,
        as in the public code.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range, or one threshold is given without the other. During a run, if a client's
        model is not finite.

    Notes
    -----
    Sattler, Mueller and Samek (2020), Algorithm 2, with weights |D_i| / |D|. The public code numbers the clients in a
    split by their positions in the cluster, which is correct only for the first split. This class uses the ids of the
    clients. A run starts from one model. After the first round, ``models`` has one row per client. A zero update has
    cosine 0 with every other update.
    """

    name: ClassVar[str] = "cfl"
    target: ClassVar[str] = "clients"

    step_size: float
    local_steps: int = 1
    mean_threshold: float | None = None
    client_threshold: float | None = None
    linkage: str = "single"
    warm_up: int = 20
    participation: float = 1.0
    weighting: str = "clients"
    noise_ratio: float | None = None

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, None, "model", self.local_steps)
        check_choice(
            "linkage",
            self.linkage,
            ("single", "complete"),
            remedy="'single' is the exact rule",
        )
        check_count("warm_up", self.warm_up, at_least=0, remedy="the public code uses 20 rounds")
        check_participation(self.participation)
        check_weighting(self.weighting)
        if self.noise_ratio is not None:
            remedy = "leave it out to accept every cut"
            check_number("noise_ratio", self.noise_ratio, at_least=0, below=1, remedy=remedy)
        small, large = self.mean_threshold, self.client_threshold
        if small is not None and large is not None:
            check_number("mean_threshold", small, above=0, remedy="the public code uses 0.4")
            remedy = "it may not be below mean_threshold"
            check_number("client_threshold", large, at_least=small, remedy=remedy)
        elif small is not large:
            missing = "mean_threshold" if small is None else "client_threshold"
            rule = "must be given with the other threshold"
            raise InvalidArgument(missing, None, rule, "give both thresholds or neither")

    def model_count(self, task: Task) -> int:
        """Return 1, because all clients start from one model."""
        require_sizes(self.weighting, task)
        return 1

    def initialise(self, models: Array, task: Task) -> RecursiveState:
        """Start with all clients in one cluster, at the given model (..., 1, d)."""
        start = start_together(models, task)
        reference = 0 * models[..., 0, 0]
        return RecursiveState(start.models, start.clients, start.assignments, start.rounds, reference)

    def step(self, state: RecursiveState, task: Task, randomness: Randomness) -> RecursiveState:
        """Carry out one round."""
        models = state.models
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        updates = self._descend(models, clients, task, randomness)
        sent = to_numpy(updates)
        if int(state.rounds) == 0:
            longest = np.asarray(np.linalg.norm(sent, axis=-1).max(axis=-1))
            state = replace(state, reference=like(longest, updates))
        weights = client_weights(self.weighting, task, clients, models)
        if int(state.rounds) < self.warm_up:
            return average_in_clusters(state, clients, updates, weights=weights)
        reference, known = to_numpy(state.reference), to_numpy(clients)
        voters = to_numpy(rows(state.assignments[..., None], clients)[..., 0])
        all_clients = array_namespace(models).arange(task.clients, device=device(models))
        counts = client_weights(self.weighting, task, all_clients, models)
        sizes = np.ones(task.clients) if counts is None else to_numpy(counts).astype(float)
        ready = self._ready_clusters(voters, sent, reference, sizes[known])
        if not ready:
            return average_in_clusters(state, clients, updates, weights=weights)
        if clients.shape[-1] < task.clients:
            updates = replace_rows(self._descend(models, all_clients, task, randomness), clients, updates)
            sent = to_numpy(updates)
        members = to_numpy(state.assignments).copy()
        counted = np.zeros(members.shape, dtype=bool)
        np.put_along_axis(counted, np.broadcast_to(known, voters.shape), True, axis=-1)
        for replicate, cluster in ready:
            ids = np.flatnonzero(members[replicate] == cluster)
            counted[replicate][ids] = True
            self.split(members[replicate], ids, sent[replicate], float(reference[replicate]), sizes)
        state = replace(state, assignments=like(members, models))
        return average_in_clusters(state, all_clients, updates, like(counted, models), weights=counts)

    def _descend(self, models: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Train clients (..., k) from the models of their clusters, and return the updates, (..., k, d)."""
        received = rows(models, clients)
        descent = Descent(self.step_size, self.local_steps)
        points, _, _ = task.local_steps(received, clients, randomness.gradient, descent)
        check_finite(points, clients, self.step_size)
        return points - received

    def _ready_clusters(
        self, voters: np.ndarray, updates: np.ndarray, reference: np.ndarray, sizes: np.ndarray
    ) -> list[tuple[tuple[int, ...], int]]:
        """List the clusters whose participants satisfy the conditions of a split, as pairs (replicate, cluster)."""
        weights = np.broadcast_to(sizes, voters.shape)
        return [
            (replicate, int(cluster))
            for replicate in np.ndindex(voters.shape[:-1])
            for cluster in np.unique(voters[replicate])
            for inside in (voters[replicate] == cluster,)
            if self._ready(
                updates[replicate][inside], float(reference[replicate]), weights[replicate][inside]
            )
        ]

    def split(
        self,
        members: np.ndarray,
        ids: np.ndarray,
        updates: np.ndarray,
        reference: float,
        weights: np.ndarray | None = None,
    ) -> None:
        """Split the cluster of clients ``ids`` if it satisfies the conditions, and update ``members`` (m,) in place.

        ``updates`` (m, d) and ``weights`` (m,) contain all clients. If ``weights`` is None, all weights are 1.
        """
        members_updates = updates[ids]
        if not self._ready(
            members_updates, reference, np.ones(len(ids)) if weights is None else weights[ids]
        ):
            return
        cosines = cosine_similarities(members_updates)
        side = bipartition(cosines, self.linkage)
        if self.noise_ratio is not None:
            nearest = min(1.0, float(cosines[side][:, ~side].max()))
            if not np.sqrt((1 - nearest) / 2) > self.noise_ratio:
                return
        members[ids[side]] = members.max() + 1

    def _ready(self, updates: np.ndarray, reference: float, weights: np.ndarray) -> bool:
        """Return whether a cluster has more than two clients, a small mean update, and at least one large update."""
        if len(updates) <= 2:
            return False
        mean, largest = mean_and_largest(updates, weights)
        if self.mean_threshold is None or self.client_threshold is None:
            return mean < STATIONARY * largest and largest > INCONGRUENT * reference
        return mean < self.mean_threshold and largest > self.client_threshold


def mean_and_largest(updates: np.ndarray, weights: np.ndarray | None = None) -> tuple[float, float]:
    """Return the norm of the weighted mean of updates (k, d), and the largest norm of an update."""
    mean = np.average(updates, axis=0, weights=weights)
    return float(np.linalg.norm(mean)), float(np.linalg.norm(updates, axis=1).max())


def start_together(models: Array, task: Task) -> PartitionState:
    """Return the state with all clients in cluster 0 at one model (..., 1, d)."""
    xp = array_namespace(models)
    shape = (*models.shape[:-2], task.clients, models.shape[-1])
    spread = xp.asarray(xp.broadcast_to(models, shape), copy=True)
    all_clients = like(np.arange(task.clients), models)
    one_cluster = like(np.zeros(shape[:-1], dtype=np.int64), models)
    return PartitionState(spread, all_clients, one_cluster, np.asarray(0))


def average_in_clusters(
    state: PartitionT,
    clients: Array,
    updates: Array,
    counted: Array | None = None,
    *,
    weights: Array | None = None,
) -> PartitionT:
    """Add the participants' mean update to each cluster's model. Without participants, the model stays unchanged.

    ``state`` has the models before the round and the clusters after the round. ``updates`` (..., k, d) and
    ``weights`` (..., k) belong to ``clients`` (..., k). If ``weights`` is None, all weights are 1. If ``clients``
    contains every client, ``counted`` (..., m) is True for the clients in the mean.
    """
    xp = array_namespace(state.models)
    members = state.assignments
    assignments = rows(members[..., None], clients)[..., 0]
    if counted is not None:
        assignments = xp.where(counted, assignments, -1)
    clusters = int(xp.max(members)) + 1
    fallback = 0 * state.models[..., :clusters, :]
    means = average_by_cluster(updates, assignments, fallback=fallback, weights=weights)
    return replace(state, models=state.models + rows(means, members), rounds=np.asarray(state.rounds + 1))
