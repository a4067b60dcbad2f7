"""FedNova: clients' changes divided by their numbers of steps (Wang et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms.aggregation import average_by_cluster
from clusterproof.algorithms.arrays import Array, like, rows, to_numpy
from clusterproof.algorithms.bodies.one_model import OneModel
from clusterproof.algorithms.finiteness import check_finite
from clusterproof.algorithms.protocol import SizedTask, Task
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import InvalidArgument, check_count
from clusterproof.algorithms.weighting import client_weights


@dataclass(frozen=True, kw_only=True)
class FedNova(OneModel):
    """FedAvg for clients that take unequally many steps K_i, whose changes are normalised by them.

    With the model y_i that participant i reaches from x by K_i gradient steps, and weights p_i that sum to 1 over the
    participants::

        x <- x - tau * sum_i p_i (x - y_i) / K_i,    tau = sum_i p_i K_i

    With equal K_i it is FedAvg.

    Parameters
    ----------
    step_size
        Step size of the clients (eta), positive.
    local_steps
        Gradient steps of a client in a round, or passes over its samples with ``samples_per_step``.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        What a client counts in the mean: ``"clients"``, one, or ``"samples"``, n_i / n.
    samples_per_step
        If given, a client with n_i samples takes K_i = local_steps * ceil(n_i / samples_per_step) steps; if None,
        all take ``local_steps``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range, or the task does not state its clients' samples where they count; during a
        run, if a client's model is not finite.

    Notes
    -----
    Wang, Liu, Liang, Joshi and Poor (2020), with plain local descent (a_i = (1, ..., 1)), restated: the paper was not
    read. The model array has P = 1.
    """

    name: ClassVar[str] = "fednova"

    step_size: float
    local_steps: int = 1
    participation: float = 1.0
    weighting: str = "clients"
    samples_per_step: int | None = None

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        if self.samples_per_step is not None:
            remedy = "leave it out for equally many steps of all clients"
            check_count("samples_per_step", self.samples_per_step, at_least=1, remedy=remedy)

    def model_count(self, task: Task) -> int:
        """Return 1."""
        self.step_counts(task)
        return super().model_count(task)

    @property
    def asks_single_gradients(self) -> bool:
        """Always, as steps are counted."""
        return True

    def step_counts(self, task: Task) -> np.ndarray:
        """Return the gradient steps K_i of every client in a round, integers (m,)."""
        if self.samples_per_step is None:
            return np.full(task.clients, self.local_steps)
        if not hasattr(task, "client_samples"):
            raise InvalidArgument(
                "samples_per_step",
                self.samples_per_step,
                "asks for a task that states how many samples each client holds",
                "give the task `client_samples`, or leave it out",
            )
        sizes = np.asarray(cast(SizedTask, task).client_samples)
        return np.asarray(self.local_steps * -(-sizes // self.samples_per_step))

    def descend(self, received: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Carry out the clients' part of a round: from models received (..., k, d) to models sent."""
        if self.samples_per_step is None:
            return super().descend(received, clients, task, randomness)
        xp = array_namespace(received)
        steps = like(self.step_counts(task)[to_numpy(clients)], received)[..., None]
        points = received
        for done in range(int(xp.max(steps))):
            moved = points - self.step_size * task.gradients(points, clients, randomness.gradient)
            points = xp.where(done < steps, moved, points)
        return points

    def _average(
        self, models: Array, clients: Array, assignments: Array, task: Task, randomness: Randomness
    ) -> Array:
        xp = array_namespace(models)
        received = rows(models, assignments)
        points = self.descend(received, clients, task, randomness)
        check_finite(points, clients, self.step_size)
        steps = xp.astype(like(self.step_counts(task)[to_numpy(clients)], models), models.dtype)[..., None]
        steps = xp.broadcast_to(steps, (*points.shape[:-1], 1))
        weights = client_weights(self.weighting, task, clients, models)
        zero = xp.zeros_like(models)
        normalised = average_by_cluster((points - received) / steps, assignments, zero, weights)
        return models + average_by_cluster(steps, assignments, zero[..., :1], weights) * normalised
