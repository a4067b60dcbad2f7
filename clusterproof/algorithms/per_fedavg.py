"""Per-FedAvg: a model that is good after one local step (Fallah et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clusterproof.algorithms.averaging import average_by_cluster, check_averaging
from clusterproof.algorithms.base import Algorithm, State, Task
from clusterproof.algorithms.participation import draw_participants
from clusterproof.algorithms.weighting import client_weights, require_sizes
from clusterproof.common.arrays import Array, array_namespace, rows
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import check_choice, check_number


def personal_step(
    task: Task, points: Array, clients: Array, generator: np.random.Generator, inner_step_size: float
) -> Array:
    """Return v = w - alpha grad phi_i(w) of clients (..., k) at their points w, (..., k, d)."""
    return points - inner_step_size * task.gradients(points, clients, generator)


def meta_descent(
    task: Task,
    points: Array,
    clients: Array,
    generator: np.random.Generator,
    *,
    step_size: float,
    inner_step_size: float,
    local_steps: int,
    second_order: bool = False,
) -> Array:
    """Return the points (..., k, d) of clients (..., k) after the local steps that ``PerFedAvg`` states."""
    for _ in range(local_steps):
        ahead = personal_step(task, points, clients, generator, inner_step_size)
        gradient = task.gradients(ahead, clients, generator)
        if second_order:
            product = task.hessian_products(points, gradient, clients, generator)
            gradient = gradient - inner_step_size * product
        points = points - step_size * gradient
    return points


@dataclass(frozen=True, kw_only=True)
class PerFedAvg(Algorithm[State]):
    """FedAvg on the losses after one step of descent, phi_i(w - alpha grad phi_i(w)).

    A local step draws three independent batches D, D', D''::

        v = w - alpha grad phi_i(w; D)
        w <- w - step_size * (I - alpha hessian phi_i(w; D'')) grad phi_i(v; D')

    Parameters
    ----------
    step_size
        Step size of the local descent (beta), positive.
    inner_step_size
        Step size of the personal step (alpha), positive. If None, half of ``step_size``. At 1 / L the gradient
        of a perfectly conditioned client vanishes after the personal step.
    local_steps
        Local steps of a client in a round (tau).
    participation
        Fraction of clients in a round, in (0, 1].
    gradient
        ``"first-order"`` (FO) leaves the factor with the Hessian out; ``"second-order"`` keeps it,
        by a Hessian-vector product, which HF approximates by a difference of two gradients of D''.
    weighting
        Weight of a client in an average: ``"clients"`` (equal) or ``"samples"`` (n_i / n).

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range; in the first round, if the task has no ``hessian_products`` for the
        second-order gradient.

    Notes
    -----
    Fallah, Mokhtari and Ozdaglar (2020), Algorithm 1 and (8)-(10). The model
    array has P = 1: the server's model before the personal step, which ``personalise`` takes.
    """

    name: ClassVar[str] = "per-fedavg"
    target: ClassVar[str] = "pooled"

    step_size: float
    inner_step_size: float | None = None
    local_steps: int = 1
    participation: float = 1.0
    gradient: str = "first-order"
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_averaging(self)
        if self.inner_step_size is not None:
            remedy = "leave it out for half of step_size"
            check_number("inner_step_size", self.inner_step_size, above=0, remedy=remedy)
        kinds = ("first-order", "second-order")
        check_choice("gradient", self.gradient, kinds, remedy="'second-order' is exact")

    def model_count(self, task: Task) -> int:
        """Return 1."""
        require_sizes(self.weighting, task)
        return 1

    def initialise(self, models: Array, task: Task) -> State:
        """Start from the given model (..., 1, d)."""
        return State(models, None, None)

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        models = state.models
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        cluster = array_namespace(clients).zeros_like(clients)  # all clients train model 0
        points = meta_descent(
            task,
            rows(models, cluster),
            clients,
            randomness.gradient,
            step_size=self.step_size,
            inner_step_size=self._inner,
            local_steps=self.local_steps,
            second_order=self.gradient == "second-order",
        )
        weights = client_weights(self.weighting, task, clients, models)
        return State(average_by_cluster(points, cluster, models, weights), clients, cluster)

    @property
    def has_personal_step(self) -> bool:
        """True."""
        return True

    def personalise(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Take the personal step from the received models ``points`` (..., k, d)."""
        return personal_step(task, points, clients, randomness.gradient, self._inner)

    @property
    def _inner(self) -> float:
        return self.step_size / 2 if self.inner_step_size is None else self.inner_step_size
