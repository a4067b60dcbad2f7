"""GL-CFL: each client chooses a cluster from the losses and the directions of its gradients.

GL-CFL is not a function in ``methods``, because clients of a method cannot compare gradients with model changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from array_api_compat import device

from clusterproof.algorithms.averaging import (
    average_by_cluster,
    check_participation,
    cluster_sizes,
    draw_participants,
)
from clusterproof.algorithms.base import Algorithm, State, Task, resolve_clusters
from clusterproof.common.arrays import Array, argmin_smallest_index, array_namespace, like, replace_rows, rows
from clusterproof.common.finiteness import check_finite
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import InvalidArgument, check_choice, check_descent, check_number


@dataclass(frozen=True)
class MovingState(State):
    """State of GL-CFL.

    Attributes
    ----------
    moves
        Changes of the models in the last round, w_k^t - w_k^{t-1}, (..., P, d).
    rounds
        Number of finished rounds, an integer () on the host.
    """

    moves: Array
    rounds: np.ndarray


@dataclass(frozen=True, kw_only=True)
class GradientLoss(Algorithm[MovingState]):
    """IFCA, but each client also compares its gradients with the last changes of the models.

    Client i has one mini-batch with losses L_ik and gradients G_ik. With the last change D_k of model k, the client
    computes::

        s_i = argmax_k  weight * S_ik - (1 - weight) * L_ik        w_i = w_{s_i} - step_size * G_{i s_i}

    and the server averages the models of each cluster.

    Parameters
    ----------
    step_size
        Step size (alpha), positive.
    clusters
        Number of models (K). If None, it is the task's number of clusters.
    weight
        Weight of the similarity (lambda), in [0, 1]. With 0, this is IFCA with model averaging and one local step.
    similarity
        ``"cosine"`` is the cosine of the angle between gradient and model change. ``"euclidean"`` is the negative
        distance.
    sign
        ``"descent"`` compares the gradient with -D_k / alpha, which is an average gradient: S = cos(-G, D) or -||G +
        D / alpha||. ``"as-printed"`` uses S = cos(G, D) or -||G - D||, for which the true cluster has the lowest
        score.
    loss_reduction
        Reduction over the mini-batch: ``"mean"``, or ``"sum"`` as in (1). The sum affects only the score, in which
        the as-printed Euclidean distance uses the gradient of the sum. The gradient step always uses the mean.
    empty_cluster
        When the server assigns K random participants to clusters 1 .. K for training, after the clients' choice:
        ``"never"``, ``"when-empty"`` (in rounds in which a cluster is empty) or ``"always"``. The state contains the
        clients' choices. The model of an empty cluster without an assigned participant does not change.
    participation
        Fraction of clients in a round, in (0, 1].

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range. If the task has no number of ``samples`` for the sum, or there are fewer
        participants than clusters. During a run, if the task has no ``losses_and_gradients`` or a client's gradient is
        not finite.

    Notes
    -----
    Lin, Chen, Yang, Wu and Liu (2023), (1)-(7) and Algorithm 1. The rule for empty clusters is in section II-C. In
    the first round S = 0, so clients choose the smallest loss. The cosine is 0 if the gradient or the model change is
    0.
    """

    name: ClassVar[str] = "gradient-loss"

    step_size: float
    clusters: int | None = None
    weight: float = 0.2
    similarity: str = "cosine"
    sign: str = "descent"
    loss_reduction: str = "mean"
    empty_cluster: str = "never"
    participation: float = 1.0

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, self.clusters, "model", 1)
        check_number("weight", self.weight, at_least=0, at_most=1, remedy="the paper uses 0.1 to 0.5")
        for argument, choices in (
            ("similarity", ("cosine", "euclidean")),
            ("sign", ("descent", "as-printed")),
            ("loss_reduction", ("mean", "sum")),
            ("empty_cluster", ("never", "when-empty", "always")),
        ):
            check_choice(argument, getattr(self, argument), choices, remedy=f"use {choices[0]!r}")
        check_participation(self.participation)

    def model_count(self, task: Task) -> int:
        """Return the number of models."""
        count = resolve_clusters(self.clusters, task)
        participants = max(1, round(self.participation * task.clients))
        if self.empty_cluster != "never" and participants < count:
            raise InvalidArgument(
                "empty_cluster",
                self.empty_cluster,
                f"assigns one participant to each of {count} clusters, and only {participants} take part",
                "use a larger participation, or empty_cluster='never'",
            )
        self._samples(task)
        return count

    def initialise(self, models: Array, task: Task) -> MovingState:
        """Return the state with the given models (..., P, d), where the last model changes are 0."""
        return MovingState(models, None, None, 0 * models, np.asarray(0))

    def step(self, state: MovingState, task: Task, randomness: Randomness) -> MovingState:
        """Carry out one round."""
        models = state.models
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        losses, gradients = task.losses_and_gradients(models, clients, randomness.assignment)
        for model in range(models.shape[-2]):
            check_finite(gradients[..., model, :], clients, self.step_size)
        choices = argmin_smallest_index(-self.scores(state, losses, gradients, task))
        trained = self._pin(choices, models, randomness)
        points = rows(models, trained) - self.step_size * rows_of_matrices(gradients, trained)
        updated = average_by_cluster(points, trained, fallback=models)
        return replace(
            state,
            models=updated,
            clients=clients,
            assignments=choices,
            moves=updated - models,
            rounds=np.asarray(state.rounds + 1),
        )

    def scores(self, state: MovingState, losses: Array, gradients: Array, task: Task) -> Array:
        """Return the scores weight S - (1 - weight) L that (4) maximises, (..., k, P).

        ``state`` is the state before the round. The losses (..., k, P) and gradients (..., k, P, d) are means over
        the mini-batch.
        """
        samples = self._samples(task)
        similarities = self.similarities(state, gradients, samples)
        return self.weight * similarities - (1 - self.weight) * (samples * losses)

    def similarities(self, state: MovingState, gradients: Array, samples: int = 1) -> Array:
        """Return S_ik of (3), (..., k, P), from gradients (..., k, P, d). In the first round, all S_ik are 0."""
        xp = array_namespace(gradients)
        if int(state.rounds) == 0:
            return xp.zeros_like(gradients[..., 0])
        moves = state.moves[..., None, :, :]
        if self.similarity == "euclidean":
            if self.sign == "descent":
                return -_norms(gradients + moves / self.step_size)
            return -_norms(samples * gradients - moves)
        lengths = _norms(gradients) * _norms(moves)
        positive = lengths > 0
        inner = xp.sum(gradients * moves, axis=-1)
        cosines = xp.where(positive, inner / xp.where(positive, lengths, xp.ones_like(lengths)), 0 * inner)
        return -cosines if self.sign == "descent" else cosines

    def _pin(self, choices: Array, models: Array, randomness: Randomness) -> Array:
        """Assign K random participants to clusters 1 .. K if ``empty_cluster`` requires an assignment."""
        if self.empty_cluster == "never":
            return choices
        xp = array_namespace(choices)
        count = models.shape[-2]
        keys = randomness.clustering.random(tuple(choices.shape))
        orders = like(np.argsort(keys, axis=-1), choices)
        selected = orders[..., :count]
        clusters = xp.broadcast_to(
            xp.arange(count, dtype=choices.dtype, device=device(choices)), selected.shape
        )
        pinned = replace_rows(choices[..., None], selected, clusters[..., None])[..., 0]
        if self.empty_cluster == "always":
            return pinned
        sizes = cluster_sizes(choices, count, dtype=models.dtype)
        return xp.where(xp.any(sizes == 0, axis=-1)[..., None], pinned, choices)

    def _samples(self, task: Task) -> int:
        """Return the factor that multiplies mean losses in the score: 1, or the number of samples."""
        if self.loss_reduction == "mean":
            return 1
        samples: int | None = getattr(task, "samples", None)
        if samples is None:
            raise InvalidArgument(
                "loss_reduction",
                "sum",
                "needs a task with the attribute `samples`",
                "use loss_reduction='mean' on this task",
            )
        return samples


def rows_of_matrices(values: Array, indices: Array) -> Array:
    """Return row ``indices[..., i]`` of matrix i for every i: from (..., k, P, d) and (..., k) to (..., k, d)."""
    return rows(values, indices[..., None])[..., 0, :]


def _norms(vectors: Array) -> Array:
    xp = array_namespace(vectors)
    return xp.sqrt(xp.sum(vectors * vectors, axis=-1))
