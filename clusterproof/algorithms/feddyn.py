"""FedDyn: local losses with linear terms that learn the clients' gradients (Acar et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace

from clusterproof.algorithms.aggregation import average_by_cluster, local_descent
from clusterproof.algorithms.arrays import Array, replace_rows, rows
from clusterproof.algorithms.bodies.one_model import PooledModel
from clusterproof.algorithms.client_arrays import zeros_for_clients
from clusterproof.algorithms.finiteness import check_finite
from clusterproof.algorithms.protocol import State, Task
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import check_number


@dataclass(frozen=True)
class DynamicState(State):
    """State of FedDyn.

    Attributes
    ----------
    control
        h, the mean of all clients' h_i, (..., 1, d).
    controls
        The linear term h_i of every client, in the unit of a gradient, (..., m, d).
    """

    control: Array
    controls: Array


@dataclass(frozen=True, kw_only=True)
class FedDyn(PooledModel[DynamicState]):
    """FedProx whose clients also learn a linear term, so that it rests at the minimiser of the mean loss.

    In a round a participant i of the set S descends from the received x by K gradient steps on
    phi_i(y) - <h_i, y> + alpha / 2 ||y - x||^2, which ends at y_i. Then::

        h_i <- h_i - alpha (y_i - x)
        h <- h - alpha / m * sum over S of (y_i - x)
        x <- mean over S of y_i - h / alpha

    Absent clients keep their h_i, and the sum is divided by the number of all clients m. All start at 0.

    Parameters
    ----------
    step_size
        Step size of the clients, positive.
    alpha
        Strength of the quadratic term, positive.
    local_steps
        Gradient steps of a client in a round (K); the exact minimisation of the algorithm as published is K =
        infinity.
    participation
        Fraction of clients in a round, in (0, 1].

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range; during a run, if a client's model is not finite.

    Notes
    -----
    Acar et al. (2021), Algorithm 1, restated after public codes and notes: the paper was not read. The model array
    has P = 1.
    """

    name: ClassVar[str] = "feddyn"

    step_size: float
    alpha: float = 0.1
    local_steps: int = 1
    participation: float = 1.0

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_number("alpha", self.alpha, above=0, remedy="0.01 to 0.1 is common")

    def initialise(self, models: Array, task: Task) -> DynamicState:
        """Start from the given model (..., 1, d) with linear terms of 0."""
        zero = array_namespace(models).zeros_like(models)
        return DynamicState(models, None, None, zero, zeros_for_clients(models, task.clients))

    def step(self, state: DynamicState, task: Task, randomness: Randomness) -> DynamicState:
        """Carry out one round."""
        xp = array_namespace(state.models)
        models = state.models
        clients, assignments = self._participants(models, task, randomness)
        received = rows(models, assignments)
        before = rows(state.controls, clients)
        # -<h_i, y> + alpha/2 ||y - x||^2 is alpha/2 ||y - (x + h_i / alpha)||^2 up to a constant
        points = local_descent(
            task,
            received,
            clients,
            randomness.gradient,
            anchors=received + before / self.alpha,
            step_size=self.step_size,
            proximal=self.alpha,
            local_steps=self.local_steps,
        )
        check_finite(points, clients, self.step_size)
        changes = self.alpha * (points - received)
        control = state.control - xp.sum(changes, axis=-2, keepdims=True) / task.clients
        return DynamicState(
            models=average_by_cluster(points, assignments, fallback=models) - control / self.alpha,
            clients=clients,
            assignments=assignments,
            control=control,
            controls=replace_rows(state.controls, clients, before - changes),
        )
