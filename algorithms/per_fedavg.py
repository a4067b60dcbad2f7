"""Per-FedAvg: a model that is good after one local step (Fallah et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array, rows
from clusterproof.algorithms.ifca import check_descent
from clusterproof.algorithms.parts.aggregation import average_by_cluster
from clusterproof.algorithms.parts.finiteness import check_finite
from clusterproof.algorithms.parts.participation import check_participation, participants_of_round
from clusterproof.algorithms.parts.weighting import check_weighting, client_weights, require_sizes
from clusterproof.algorithms.protocol import Algorithm, CurvedTask, MetaTrainingTask, State, Task
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_number


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
        Step size of the personal step (alpha), positive; half of ``step_size`` where None. At 1 / L a
        perfectly conditioned client needs no more than that step, and its gradient vanishes.
    local_steps
        Local steps of a client in a round (tau).
    participation
        Fraction of clients in a round, in (0, 1].
    gradient
        ``"first-order"`` (FO) leaves the factor with the Hessian out; ``"second-order"`` keeps it,
        by a Hessian-vector product, which HF approximates by a difference of two gradients of D''.
    weighting
        What a client counts in an average: ``"clients"``, one, or ``"samples"``, n_i / n.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range, or the task has no ``hessian_products`` for the
        second-order gradient; during a run, if a client's model is not finite.

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
        check_descent(self.step_size, None, "model", self.local_steps)
        if self.inner_step_size is not None:
            check_number(
                "inner_step_size",
                self.inner_step_size,
                above=0,
                remedy="leave it out for half of that of the local descent",
            )
        check_participation(self.participation)
        check_weighting(self.weighting)
        check_choice(
            "gradient", self.gradient, ("first-order", "second-order"), remedy="'second-order' is exact"
        )

    def model_count(self, task: Task) -> int:
        """Give 1."""
        if self.gradient == "second-order":
            self._curved(task)
        require_sizes(self.weighting, task)
        return 1

    def initialise(self, models: Array, task: Task) -> State:
        """Start from the given model (..., 1, d)."""
        return State(models, None, None)

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        xp = array_namespace(state.models)
        models = state.models
        clients = participants_of_round(self.participation, task, models, randomness.participation)
        assignments = xp.zeros_like(clients)
        points = self.descend(rows(models, assignments), clients, task, randomness)
        check_finite(points, clients, self.step_size)
        weights = client_weights(self.weighting, task, clients, models)
        averages = average_by_cluster(points, assignments, fallback=models, weights=weights)
        return State(averages, clients, assignments)

    def descend(self, received: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Carry out the clients' part of a round: from models received (..., k, d) to models sent."""
        if isinstance(task, MetaTrainingTask):
            return task.meta_training(
                received,
                clients,
                randomness.gradient,
                step_size=self.step_size,
                inner_step_size=self._inner,
                local_steps=self.local_steps,
                second_order=self.gradient == "second-order",
            )
        points = received
        for _ in range(self.local_steps):
            ahead = self.personalise(points, clients, task, randomness)
            slope = task.gradients(ahead, clients, randomness.gradient)
            if self.gradient == "second-order":
                bent = self._curved(task).hessian_products(points, slope, clients, randomness.gradient)
                slope = slope - self._inner * bent
            points = points - self.step_size * slope
        return points

    @property
    def has_personal_step(self) -> bool:
        """Always."""
        return True

    @property
    def asks_single_gradients(self) -> bool:
        """Always, as a local step takes two or three."""
        return True

    def personalise(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Take the personal step: what a client deploys when it has received ``points`` (..., k, d)."""
        return points - self._inner * task.gradients(points, clients, randomness.gradient)

    def _curved(self, task: Task) -> CurvedTask:
        """Require that the task answers Hessian-vector products."""
        if not isinstance(task, CurvedTask):
            raise InvalidArgument(
                "gradient",
                self.gradient,
                "asks for a task that answers `hessian_products`",
                "use 'first-order' on this task",
            )
        return task

    @property
    def _inner(self) -> float:
        return self.step_size / 2 if self.inner_step_size is None else self.inner_step_size
