"""LOCAL: every client trains alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.base import State, Task
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.algorithms.participation import check_participation
from clusterproof.common.validation import check_descent
from clusterproof.methods.declaration import METHODS, Method
from clusterproof.methods.personal import local


@dataclass(frozen=True, kw_only=True)
class Local(MethodAlgorithm[State]):
    """Every client carries out gradient descent on its own data, without any communication.

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    local_steps
        Number of gradient steps that a client takes per round.
    participation
        Fraction of clients that work in a round, in (0, 1].

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    The baseline LOCAL of FPFC, Table 1. The model array has one row per client (P = m).
    """

    name: ClassVar[str] = "local"
    method: ClassVar[Method] = METHODS[local]
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
