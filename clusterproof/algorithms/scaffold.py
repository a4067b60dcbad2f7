"""SCAFFOLD: control variates against client drift (Karimireddy et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace

from clusterproof.algorithms.aggregation import average_by_cluster, local_descent
from clusterproof.algorithms.arrays import Array, replace_rows, rows
from clusterproof.algorithms.bodies.one_model import WeightedModel, check_server_step_size
from clusterproof.algorithms.client_arrays import zeros_for_clients
from clusterproof.algorithms.finiteness import check_finite
from clusterproof.algorithms.protocol import State, Task
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import check_choice
from clusterproof.algorithms.weighting import client_weights


@dataclass(frozen=True)
class ControlState(State):
    """State of SCAFFOLD.

    Attributes
    ----------
    control
        The server's control variate c, the mean of all clients' c_i, (..., 1, d).
    controls
        Every client's control variate c_i, (..., m, d).
    """

    control: Array
    controls: Array


@dataclass(frozen=True, kw_only=True)
class Scaffold(WeightedModel[ControlState]):
    """FedAvg whose clients correct their gradients by control variates.

    In a round a participant i of the set S starts at y = x and takes K steps
    y <- y - step_size * (grad phi_i(y) - c_i + c). Then::

        c_i+ = grad phi_i(x)                         option I
        c_i+ = c_i - c + (x - y_i) / (K step_size)   option II
        x <- x + server_step_size * mean over S of (y_i - x)
        c <- c + 1/m * sum over S of (c_i+ - c_i)

    and c_i <- c_i+; absent clients keep theirs. All control variates start at 0.

    Parameters
    ----------
    step_size
        Step size of the clients (eta_l), positive.
    local_steps
        Gradient steps of a client in a round (K).
    participation
        Fraction of clients in a round, in (0, 1].
    option
        ``"II"`` reuses the local gradients, whose mean its c_i+ is; ``"I"`` takes one more gradient, at x.
        With server_step_size = 1 option I can diverge at step sizes at which FedAvg converges.
    server_step_size
        Of the server (eta_g), positive.
    weighting
        What a client counts in the mean of the models: ``"clients"``, one, or ``"samples"``, n_i / n.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range; during a run, if a client's model is not finite.

    Notes
    -----
    Karimireddy, Kale, Mohri, Reddi, Stich and Suresh (2020), arXiv 1910.06378, Algorithm 1, which was read. Its
    means are unweighted. The model array has P = 1.
    """

    name: ClassVar[str] = "scaffold"

    step_size: float
    local_steps: int = 1
    participation: float = 1.0
    option: str = "II"
    server_step_size: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_choice("option", self.option, ("I", "II"), remedy="'II' needs no further gradient")
        check_server_step_size(self.server_step_size)

    @property
    def asks_single_gradients(self) -> bool:
        """Always, as every gradient is corrected."""
        return True

    def initialise(self, models: Array, task: Task) -> ControlState:
        """Start from the given model (..., 1, d) with control variates of 0."""
        zero = array_namespace(models).zeros_like(models)
        return ControlState(models, None, None, zero, zeros_for_clients(models, task.clients))

    def step(self, state: ControlState, task: Task, randomness: Randomness) -> ControlState:
        """Carry out one round."""
        xp = array_namespace(state.models)
        models, control = state.models, state.control
        clients, assignments = self._participants(models, task, randomness)
        received = rows(models, assignments)
        before = rows(state.controls, clients)
        points = local_descent(
            task,
            received,
            clients,
            randomness.gradient,
            corrections=control - before,
            step_size=self.step_size,
            local_steps=self.local_steps,
        )
        check_finite(points, clients, self.step_size)
        if self.option == "I":
            after = task.gradients(received, clients, randomness.gradient)
        else:
            after = before - control + (received - points) / (self.local_steps * self.step_size)
        weights = client_weights(self.weighting, task, clients, models)
        mean = average_by_cluster(points, assignments, fallback=models, weights=weights)
        return ControlState(
            models=models + self.server_step_size * (mean - models),
            clients=clients,
            assignments=assignments,
            control=control + xp.sum(after - before, axis=-2, keepdims=True) / task.clients,
            controls=replace_rows(state.controls, clients, after),
        )
