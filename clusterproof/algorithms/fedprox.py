"""FedProx: local objectives with a proximal term (Li et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.averaging import check_averaging, mean_of_round
from clusterproof.algorithms.base import Algorithm, Descent, State, Task
from clusterproof.algorithms.weighting import require_sizes
from clusterproof.common.arrays import Array
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import check_number


@dataclass(frozen=True, kw_only=True)
class FedProx(Algorithm[State]):
    """FedAvg whose clients minimise phi_i(w) + proximal / 2 ||w - w^t||^2.

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    proximal
        Coefficient of the proximal term (mu), at least 0; 0 is FedAvg.
    local_steps
        Gradient steps of a client in a round (H); the paper's exact minimisation is H = infinity.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        Weight of a client in an average: ``"clients"`` (equal) or ``"samples"`` (n_i / n).

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    Li et al. (2020), Algorithm 2; the default coefficient is that of SoFL, 5.1. The gradient of the proximal
    term is zero in the first local step, so that one local step is FedAvg. The model array has P = 1.
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
        check_averaging(self)
        check_proximal(self.proximal)

    def model_count(self, task: Task) -> int:
        """Return 1."""
        require_sizes(self.weighting, task)
        return 1

    def initialise(self, models: Array, task: Task) -> State:
        """Start from the given model (..., 1, d)."""
        return State(models, None, None)

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        descent = Descent(self.step_size, self.local_steps, proximal=self.proximal)
        return mean_of_round(self, state.models, task, randomness, descent)


def check_proximal(proximal: float) -> None:
    """Raise ``InvalidArgument`` if the coefficient is negative."""
    check_number("proximal", proximal, at_least=0, remedy="0 removes the proximal term, 0.1 is common")
