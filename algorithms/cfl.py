"""CFL, clustered federated learning by recursive bipartition (Sattler et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

import numpy as np
from array_api_compat import array_namespace, device

from clusterproof.algorithms.arrays import Array, like, on_device, replace_rows, rows, to_numpy
from clusterproof.algorithms.ifca import check_descent
from clusterproof.algorithms.parts.aggregation import average_by_cluster, local_proximal_descent
from clusterproof.algorithms.parts.bipartition import bipartition, cosine_similarities
from clusterproof.algorithms.parts.finiteness import ask, check_finite
from clusterproof.algorithms.parts.participation import check_participation, participants_of_round
from clusterproof.algorithms.parts.weighting import check_weighting, client_weights, require_sizes
from clusterproof.algorithms.protocol import Algorithm, State, Task
from clusterproof.algorithms.randomness import Randomness, drawn_by
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_count, check_number

STATIONARY = 0.1
"""Largest ratio of mean update to largest update of a cluster that is ready to be split (SoFL, 4.1)."""

INCONGRUENT = 0.25
"""Least ratio of such a cluster's largest update to that of the first round, above the noise."""

SLACK = 1e-3
"""How near to a threshold a device leaves the answer to the host: far more than rounding."""


@dataclass(frozen=True)
class PartitionState(State):
    """State of an algorithm whose server keeps a partition of the clients.

    ``models`` holds every client's cluster's model, (..., m, d), and ``assignments`` the cluster of
    every client, present or not, (..., m); it is never None.

    Attributes
    ----------
    rounds
        How many rounds led here, an integer () on the host.
    clusters
        Number of clusters, at most, of models on a device, where counting them would wait; None on the host, and
        where it is not known.
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
    """FedAvg in every cluster; a cluster at rest whose clients still pull apart is cut in two.

    A cluster of more than two participants is split when the norm of its mean update is below
    ``mean_threshold`` while its largest update is above ``client_threshold``. The cut is chosen from
    the cosines of the updates, and the round's averages are already those of the new clusters.

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    local_steps
        Gradient steps of a client in a round.
    mean_threshold, client_threshold
        The paper's eps_1 and eps_2, in units of the models, eps_1 <= eps_2: both or neither. Where
        None, eps_1 is a tenth of the cluster's largest update of the round, and eps_2 a quarter of the
        largest of the first round, which asks for a start about as far as the clusters are apart.
    linkage
        ``"single"`` finds the cut of least largest similarity exactly; ``"complete"`` is that of the
        public code.
    warm_up
        Rounds before the first split.
    participation
        Fraction of clients in a round, in (0, 1]. A cluster that its participants find ready asks
        all its members in the same round, and is split if it still is ready; nobody is placed by
        an update of another round, or by none.
    weighting
        What a client counts in averages and in eps_1's mean: ``"clients"``, one, or ``"samples"``, n_i / n.
    noise_ratio
        The paper's gamma_max, in [0, 1): how large the noise of a client's update may be in units of the update.
        A cut is made only if sqrt((1 - a) / 2) exceeds it, a the largest cosine of two clients on different
        sides: then it separates no two clients of one distribution. No such test where None, as in the
        public code.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range, or one threshold is given without the other; during a
        run, if a client's model is not finite.

    Notes
    -----
    Sattler, Mueller and Samek (2020), Algorithm 2, whose weights are |D_i| / |D|. The public code
    numbers split clients by their position in the cluster, right for the first split only; here they
    keep their ids. A run starts from one model; ``models`` then has one row a client. A zero update
    has cosine 0 with every other. On a device a round past the warm-up asks one thing of
    the host, whether a cluster may be ready, in the look that every round takes; only a round in which one may be
    has more, for all updates and the cut.
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
        check_choice("linkage", self.linkage, ("single", "complete"), remedy="'single' is exact")
        check_count("warm_up", self.warm_up, at_least=0, remedy="the public code has 20 rounds")
        check_participation(self.participation)
        check_weighting(self.weighting)
        if self.noise_ratio is not None:
            check_number(
                "noise_ratio",
                self.noise_ratio,
                at_least=0,
                below=1,
                remedy="leave it out to accept every cut",
            )
        small, large = self.mean_threshold, self.client_threshold
        if (small is None) != (large is None):
            missing = "mean_threshold" if small is None else "client_threshold"
            raise InvalidArgument(
                missing, None, "must be given with the other threshold", "give both or neither"
            )
        if small is not None and large is not None:
            check_number("mean_threshold", small, above=0, remedy="the public code has 0.4")
            check_number(
                "client_threshold", large, at_least=small, remedy="it may not be below mean_threshold"
            )

    def model_count(self, task: Task) -> int:
        """Give 1: everybody starts from one model."""
        require_sizes(self.weighting, task)
        return 1

    def initialise(self, models: Array, task: Task) -> RecursiveState:
        """Start with all clients in one cluster, at the given model (..., 1, d)."""
        start = start_together(models, task)
        reference = 0 * models[..., 0, 0]
        return RecursiveState(
            start.models, start.clients, start.assignments, start.rounds, reference, clusters=start.clusters
        )

    def step(self, state: RecursiveState, task: Task, randomness: Randomness) -> RecursiveState:
        """Carry out one round."""
        models = state.models
        clients = participants_of_round(self.participation, task, models, randomness.participation)
        updates = self._descend(models, clients, task, randomness)
        if int(state.rounds) == 0:
            state = replace(state, reference=_largest(updates))
        weights = client_weights(self.weighting, task, clients, models)
        if int(state.rounds) < self.warm_up:
            return average_in_clusters(state, clients, updates, weights=weights)
        voters = rows(state.assignments[..., None], clients)[..., 0]
        if on_device(models) and not self._may_be_ready(state, voters, updates, weights):
            return average_in_clusters(state, clients, updates, weights=weights)
        reference, known = to_numpy(state.reference), to_numpy(clients)
        own, chosen = to_numpy(updates), to_numpy(voters)
        everybody = array_namespace(models).arange(task.clients, device=device(models))
        counts = client_weights(self.weighting, task, everybody, models)
        sizes = np.ones(task.clients) if counts is None else to_numpy(counts).astype(float)
        ready = self._ready_clusters(chosen, own, reference, sizes[known])
        if not ready:
            return average_in_clusters(state, clients, updates, weights=weights)
        asked = updates
        if clients.shape[-1] < task.clients:
            asking = np.zeros(chosen.shape[:-1], dtype=bool)
            for replicate, _ in ready:
                asking[replicate] = True
            those = drawn_by(randomness, asking.ravel().tolist())
            asked = replace_rows(self._descend(models, everybody, task, those), clients, updates)
            own = to_numpy(asked)
        members = to_numpy(state.assignments).copy()
        heard = np.zeros(members.shape, dtype=bool)
        np.put_along_axis(heard, np.broadcast_to(known, chosen.shape), True, axis=-1)
        for replicate, cluster in ready:
            ids = np.flatnonzero(members[replicate] == cluster)
            heard[replicate][ids] = True
            self.split(members[replicate], ids, own[replicate], float(reference[replicate]), sizes)
        count = int(members.max()) + 1 if on_device(models) else None
        state = replace(state, assignments=like(members, models), clusters=count)
        return average_in_clusters(state, everybody, asked, like(heard, models), weights=counts)

    def _descend(self, models: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Updates of clients (..., k) from their own clusters' models, (..., k, d)."""
        received = rows(models, clients)
        points = local_proximal_descent(
            task,
            received,
            received,
            clients,
            randomness.gradient,
            step_size=self.step_size,
            proximal=0.0,
            local_steps=self.local_steps,
        )
        check_finite(points, clients, self.step_size)
        return points - received

    def _may_be_ready(
        self, state: RecursiveState, voters: Array, updates: Array, weights: Array | None
    ) -> bool:
        """Whether a cluster may ask for a split, of participants in clusters (..., k): found out on a device.

        What comes next hangs on its answer, so that it is asked for with what else the round asks at its end.
        Where it is yes, the host decides, with all updates at hand: by its own arithmetic where it is a near thing.
        """
        xp = array_namespace(updates)
        count = _count(state)
        lengths = _norms(updates)
        means = _norms(average_by_cluster(updates, voters, 0 * state.models[..., :count, :], weights=weights))
        member = voters[..., None] == xp.arange(count, device=device(voters))
        largest = xp.max(xp.where(member, lengths[..., None], 0 * lengths[..., None]), axis=-2)
        several = xp.sum(xp.astype(member, xp.int64), axis=-2) > 2
        if self.mean_threshold is None or self.client_threshold is None:
            small, needed = STATIONARY * largest, INCONGRUENT * state.reference[..., None]
        else:
            small, needed = self.mean_threshold, self.client_threshold
        asked = (means < small * (1 + SLACK)) & (largest * (1 + SLACK) > needed)
        return bool(ask(xp.any(several & asked)))

    def _ready_clusters(
        self, voters: np.ndarray, updates: np.ndarray, reference: np.ndarray, sizes: np.ndarray
    ) -> list[tuple[tuple[int, ...], int]]:
        """Replicates and clusters whose participants ask for a split, from (..., k) and (..., k, d)."""
        weights = np.broadcast_to(sizes, voters.shape)
        return [
            (replicate, int(cluster))
            for replicate in np.ndindex(voters.shape[:-1])
            for cluster in np.unique(voters[replicate])
            for own in (voters[replicate] == cluster,)
            if self._ready(updates[replicate][own], float(reference[replicate]), weights[replicate][own])
        ]

    def split(
        self,
        members: np.ndarray,
        ids: np.ndarray,
        updates: np.ndarray,
        reference: float,
        weights: np.ndarray | None = None,
    ) -> None:
        """Cut the cluster of clients ``ids`` in ``members`` (m,), in place, if all of them ask for it.

        ``updates`` (m, d) and ``weights`` (m,) are of all clients; ones where None.
        """
        own = updates[ids]
        if not self._ready(own, reference, np.ones(len(ids)) if weights is None else weights[ids]):
            return
        cosines = cosine_similarities(own)
        side = bipartition(cosines, self.linkage)
        if self.noise_ratio is not None:
            nearest = min(1.0, float(cosines[side][:, ~side].max()))
            if not np.sqrt((1 - nearest) / 2) > self.noise_ratio:
                return
        members[ids[side]] = members.max() + 1

    def _ready(self, updates: np.ndarray, reference: float, weights: np.ndarray) -> bool:
        """Whether more than two clients' mean update is small while one of theirs is not."""
        if len(updates) <= 2:
            return False
        mean, largest = mean_and_largest(updates, weights)
        if self.mean_threshold is None or self.client_threshold is None:
            return mean < STATIONARY * largest and largest > INCONGRUENT * reference
        return mean < self.mean_threshold and largest > self.client_threshold


def mean_and_largest(updates: np.ndarray, weights: np.ndarray | None = None) -> tuple[float, float]:
    """Length of the mean of updates (k, d), with weights (k,) or alike, and of the longest; on the host."""
    mean = np.average(updates, axis=0, weights=weights)
    return float(np.linalg.norm(mean)), float(np.linalg.norm(updates, axis=1).max())


def start_together(models: Array, task: Task) -> PartitionState:
    """All clients in cluster 0 at one model (..., 1, d)."""
    xp = array_namespace(models)
    shape = (*models.shape[:-2], task.clients, models.shape[-1])
    spread = xp.asarray(xp.broadcast_to(models, shape), copy=True)
    everybody = like(np.arange(task.clients), models)
    one_cluster = like(np.zeros(shape[:-1], dtype=np.int64), models)
    count = 1 if on_device(models) else None
    return PartitionState(spread, everybody, one_cluster, np.asarray(0), clusters=count)


def average_in_clusters(
    state: PartitionT,
    clients: Array,
    updates: Array,
    heard: Array | None = None,
    *,
    weights: Array | None = None,
) -> PartitionT:
    """Move every cluster's model by the mean of its participants' updates; without any it stays.

    Parameters
    ----------
    state
        With the models before the round and the clusters after it.
    clients, updates
        Clients (..., k) and their updates (..., k, d).
    heard
        Which of all clients count, booleans (..., m), where ``clients`` is everybody; all where None.
    weights
        Of the clients, (..., k); ones where None.
    """
    xp = array_namespace(state.models)
    members = state.assignments
    own = rows(members[..., None], clients)[..., 0]
    if heard is not None:
        own = xp.where(heard, own, -1)
    clusters = _count(state)
    means = average_by_cluster(updates, own, fallback=0 * state.models[..., :clusters, :], weights=weights)
    return replace(
        state,
        models=state.models + rows(means, members),
        rounds=np.asarray(state.rounds + 1),
        clusters=clusters if on_device(members) else None,
    )


def _count(state: PartitionState) -> int:
    """Number of clusters; the host waits for it where nobody has noted it down."""
    if state.clusters is not None and on_device(state.assignments):
        return state.clusters
    return int(array_namespace(state.assignments).max(state.assignments)) + 1


def _largest(updates: Array) -> Array:
    """Norm of the largest of updates (..., k, d), (...)."""
    if on_device(updates):
        return array_namespace(updates).max(_norms(updates), axis=-1)
    return like(np.asarray(np.linalg.norm(to_numpy(updates), axis=-1).max(axis=-1)), updates)


def _norms(vectors: Array) -> Array:
    """Euclidean norms of vectors (..., d), (...)."""
    return array_namespace(vectors).linalg.vector_norm(vectors, axis=-1)
