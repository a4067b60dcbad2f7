"""LOCAL: every client trains alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.base import Algorithm, Descent, State, Task
from clusterproof.algorithms.participation import check_participation, draw_participants
from clusterproof.common.arrays import Array, replace_rows, rows
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import check_descent


@dataclass(frozen=True, kw_only=True)
class Local(Algorithm[State]):
    """Gradient descent of every client on its own data, without any communication.

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    local_steps
        Gradient steps of a client in a round.
    participation
        Fraction of clients that work in a round, in (0, 1].

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    The baseline LOCAL of FPFC, Table 1. The model array has P = m.
    """

    name: ClassVar[str] = "local"
    target: ClassVar[str] = "clients"

    step_size: float
    local_steps: int = 1
    participation: float = 1.0

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, None, "model", self.local_steps)
        check_participation(self.participation)

    def model_count(self, task: Task) -> int:
        """Return the number of clients."""
        return task.clients

    def initialise(self, models: Array, task: Task) -> State:
        """Start from the given models (..., m, d)."""
        return State(models, None, None)

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        models = state.models
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        descent = Descent(self.step_size, self.local_steps)
        points, _, _ = task.local_steps(rows(models, clients), clients, randomness.gradient, descent)
        return State(replace_rows(models, clients, points), clients, clients)
