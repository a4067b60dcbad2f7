"""FedAvg (McMahan et al., 2017), and the averages over clients and clusters of which the other rounds consist."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from clusterproof.algorithms.base import Algorithm, Descent, State, Task
from clusterproof.algorithms.participation import check_participation, draw_participants
from clusterproof.algorithms.weighting import check_weighting, client_weights, require_sizes
from clusterproof.common.arrays import Array, argmin_smallest_index, array_namespace, one_hot, sums_by_cluster
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import InvalidArgument, check_descent, check_number


def choose_clusters(task: Task, models: Array, clients: Array, generator: np.random.Generator) -> Array:
    """Assign each participant (..., k) to the model (..., P, d) of smallest loss: CFL-MGD (8); ties to the first."""
    return argmin_smallest_index(task.losses(models, clients, generator))


def cluster_sizes(assignments: Array, clusters: int, *, dtype: object, weights: Array | None = None) -> Array:
    """Return the number of participants of each cluster, or the sum of their weights (..., k), as floats (..., P)."""
    membership = _weighted(one_hot(assignments, clusters, dtype=dtype), weights)
    return array_namespace(assignments).sum(membership, axis=-2)


def average_by_cluster(
    values: Array, assignments: Array, fallback: Array, weights: Array | None = None
) -> Array:
    """Average over each cluster's participants; an empty cluster keeps its fallback.

    CFL-MGD (6) is 0 / 0 for an empty cluster; the fallback defines the result.

    Parameters
    ----------
    values
        One row per participant, (..., k, d).
    assignments
        Integers (..., k).
    fallback
        One row per cluster, (..., P, d).
    weights
        Positive weights of the participants, (..., k). If None, all are one.
    """
    xp = array_namespace(values)
    membership = _weighted(one_hot(assignments, fallback.shape[-2], dtype=values.dtype), weights)
    return _divide(sums_by_cluster(values, membership), xp.sum(membership, axis=-2), fallback)


def train_and_average(
    task: Task,
    models: Array,
    clients: Array,
    assignments: Array,
    generator: np.random.Generator,
    descent: Descent,
    *,
    buffers: Array | None = None,
    weights: Array | None = None,
) -> tuple[Array, Array | None]:
    """Return each cluster's means of its participants' models and buffers after local steps, (..., P, d).

    An empty cluster keeps its own. The parameters are those of ``Task.local_sums``.
    """
    sums, buffer_sums = task.local_sums(
        models, clients, assignments, generator, descent, buffers=buffers, weights=weights
    )
    sizes = cluster_sizes(assignments, models.shape[-2], dtype=models.dtype, weights=weights)
    means = None if buffers is None else _divide(buffer_sums, sizes, fallback=buffers)
    return _divide(sums, sizes, fallback=models), means


def _weighted(membership: Array, weights: Array | None) -> Array:
    return membership if weights is None else membership * weights[..., None]


def _divide(sums: Array, sizes: Array, fallback: Array) -> Array:
    """Divide the clusters' sums (..., P, d) by their sizes (..., P); a cluster of size 0 keeps its fallback."""
    xp = array_namespace(sums)
    sizes = sizes[..., None]
    occupied = sizes > 0
    return xp.where(occupied, sums / xp.where(occupied, sizes, xp.ones_like(sizes)), fallback)


def mean_of_round(
    algorithm: Any, models: Array, task: Task, randomness: Randomness, descent: Descent
) -> State:
    """Draw participants, train them from the server's model, and average what they reach.

    ``algorithm`` states its ``participation`` and ``weighting``; ``models`` is (..., 1, d).
    """
    clients = draw_participants(algorithm.participation, task.clients, models, randomness.participation)
    xp = array_namespace(clients)
    cluster = xp.zeros_like(clients)  # all clients train model 0
    weights = client_weights(algorithm.weighting, task, clients, models)
    sums, _ = task.local_sums(models, clients, cluster, randomness.gradient, descent, weights=weights)
    total = clients.shape[-1] if weights is None else xp.sum(weights, axis=-1)[..., None, None]
    return State(sums / total, clients, cluster)


def check_averaging(algorithm: Any) -> None:
    """Check ``step_size``, ``local_steps``, ``participation`` and ``weighting``, or raise ``InvalidArgument``."""
    check_descent(algorithm.step_size, None, "model", algorithm.local_steps)
    check_participation(algorithm.participation)
    check_weighting(algorithm.weighting)


def check_server_step_size(server_step_size: float) -> None:
    """Require a positive number, or raise ``InvalidArgument``."""
    check_number("server_step_size", server_step_size, above=0, remedy="1 takes the clients' mean")


@dataclass(frozen=True, kw_only=True)
class FedAvg(Algorithm[State]):
    """Participants train the server's model locally, and the server averages their models.

    With the models y_i that the participants reach from x::

        x <- x + server_step_size * mean of (y_i - x)

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    local_steps
        Gradient steps of a client in a round; with ``reshuffle``, passes over its samples.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        What a client counts in an average: ``"clients"``, one, or ``"samples"``, n_i / n.
    server_step_size
        Of the server (eta_g), positive; 1 takes the mean of the models.
    reshuffle
        Whether a local step is the gradient of one sample, and a pass takes the client's samples in a new uniform
        random order. With a server step size this is NASTYA, whose own is step_size * n_i * server_step_size.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range; in the first round, if the task has no samples to reshuffle.

    Notes
    -----
    McMahan et al. (2017), Algorithm 1, whose weights are n_k / n. NASTYA is that of Sadiev et al. (2022), Algorithm 3
    without compression, which was read. The model array has P = 1.
    """

    name: ClassVar[str] = "fedavg"
    target: ClassVar[str] = "pooled"

    step_size: float
    local_steps: int = 1
    participation: float = 1.0
    weighting: str = "clients"
    server_step_size: float = 1.0
    reshuffle: bool = False

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_averaging(self)
        check_server_step_size(self.server_step_size)
        if not isinstance(self.reshuffle, bool):
            raise InvalidArgument(
                "reshuffle", self.reshuffle, "must be True or False", "leave it out for False"
            )

    def model_count(self, task: Task) -> int:
        """Return 1."""
        require_sizes(self.weighting, task)
        return 1

    def initialise(self, models: Array, task: Task) -> State:
        """Start from the given model (..., 1, d)."""
        return State(models, None, None)

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        descent = Descent(self.step_size, self.local_steps, reshuffled=self.reshuffle)
        x = state.models
        mean = mean_of_round(self, x, task, randomness, descent)
        if self.server_step_size == 1:  # without the rounding of x + (mean - x)
            return mean
        return replace(mean, models=x + self.server_step_size * (mean.models - x))
