"""FedAvg: one model for all (McMahan et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, cast

from clusterproof.algorithms.arrays import Array
from clusterproof.algorithms.bodies.one_model import OneModelSent, check_server_step_size
from clusterproof.algorithms.protocol import State, Task, TrainingTask
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import InvalidArgument


@dataclass(frozen=True, kw_only=True)
class FedAvg(OneModelSent):
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
        If a parameter is outside its range, or the task has no samples to reshuffle.

    Notes
    -----
    McMahan et al. (2017), Algorithm 1, whose weights are n_k / n. NASTYA is that of Sadiev et al. (2022), Algorithm 3
    without compression, which was read. The model array has P = 1.
    """

    name: ClassVar[str] = "fedavg"
    checks_models: ClassVar[bool] = False

    step_size: float
    local_steps: int = 1
    participation: float = 1.0
    weighting: str = "clients"
    server_step_size: float = 1.0
    reshuffle: bool = False

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_server_step_size(self.server_step_size)
        if not isinstance(self.reshuffle, bool):
            raise InvalidArgument(
                "reshuffle", self.reshuffle, "must be True or False", "leave it out for False"
            )

    def model_count(self, task: Task) -> int:
        """Return 1."""
        if self.reshuffle and not hasattr(task, "reshuffled_training"):
            rule = "asks for a task that answers `reshuffled_training`"
            raise InvalidArgument("reshuffle", True, rule, "leave it out, or choose a task with samples")
        return super().model_count(task)

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        mean = super().step(state, task, randomness)
        if self.server_step_size == 1:  # without the rounding of x + (mean - x)
            return mean
        return replace(mean, models=state.models + self.server_step_size * (mean.models - state.models))

    def descend(self, received: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Carry out the clients' part of a round: from models received (..., k, d) to models sent."""
        if not self.reshuffle:
            return super().descend(received, clients, task, randomness)
        return cast(TrainingTask, task).reshuffled_training(
            received, clients, randomness.gradient, step_size=self.step_size, passes=self.local_steps
        )

    def _average(
        self, models: Array, clients: Array, assignments: Array, task: Task, randomness: Randomness
    ) -> Array:
        average = super()._average if self.reshuffle else self._mean_trained
        return average(models, clients, assignments, task, randomness)
