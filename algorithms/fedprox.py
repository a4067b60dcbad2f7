"""FedProx: local objectives with a proximal term (Li et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array
from clusterproof.algorithms.ifca import check_descent
from clusterproof.algorithms.parts.model_averaging import LocalMotion, average_local_training, descend_alone
from clusterproof.algorithms.parts.participation import check_participation, participants_of_round
from clusterproof.algorithms.parts.weighting import check_weighting, client_weights, require_sizes
from clusterproof.algorithms.protocol import Algorithm, State, Task
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import check_number


@dataclass(frozen=True, kw_only=True)
class FedProx(Algorithm[State]):
    """FedAvg whose clients descend on phi_i(w) + proximal / 2 ||w - w^t||^2.

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    proximal
        Strength of the pull towards the server's model (mu), at least 0; 0 is FedAvg.
    local_steps
        Gradient steps of a client in a round (H); the paper's exact minimisation is H = infinity.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        What a client counts in an average: ``"clients"``, one, or ``"samples"``, n_i / n.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range; during a run, if a client's model is not finite.

    Notes
    -----
    Li et al. (2020), Algorithm 2; the default strength is that of SoFL, 5.1.
    The first local step starts where the pull is zero, so that one local step is FedAvg. The
    model array has P = 1.
    """

    name: ClassVar[str] = "fedprox"
    target: ClassVar[str] = "pooled"

    step_size: float
    proximal: float = 0.1
    local_steps: int = 1
    participation: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, None, "model", self.local_steps)
        check_proximal(self.proximal)
        check_participation(self.participation)
        check_weighting(self.weighting)

    def model_count(self, task: Task) -> int:
        """Give 1."""
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
        averages = average_local_training(
            task,
            models,
            clients,
            randomness,
            self._motion,
            assignments=assignments,
            weights=client_weights(self.weighting, task, clients, models),
            checked=True,
        )
        return State(averages.models, clients, assignments)

    def descend(self, received: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Carry out the clients' part of a round: from models received (..., k, d) to models sent."""
        return descend_alone(task, received, clients, randomness, self._motion)

    @property
    def _motion(self) -> LocalMotion:
        return LocalMotion(step_size=self.step_size, local_steps=self.local_steps, proximal=self.proximal)


def check_proximal(proximal: float) -> None:
    """Require a strength of at least 0.

    Raises
    ------
    InvalidArgument
        If it is negative or not a finite number.
    """
    check_number("proximal", proximal, at_least=0, remedy="0 switches the proximal term off, 0.1 is common")
