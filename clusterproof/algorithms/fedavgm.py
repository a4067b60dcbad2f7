"""FedAvgM: FedAvg with momentum on the server (Hsu et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array
from clusterproof.algorithms.bodies.one_model import WeightedModel, check_server_step_size
from clusterproof.algorithms.protocol import State, Task
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import check_number


@dataclass(frozen=True)
class MomentumState(State):
    """State of FedAvgM.

    Attributes
    ----------
    buffers
        The server's momentum, (..., 1, d).
    """

    buffers: Array


@dataclass(frozen=True, kw_only=True)
class FedAvgM(WeightedModel[MomentumState]):
    """FedAvg whose server takes a heavy-ball step along the mean change of the clients' models.

    With the models y_i that FedAvg's participants send when they have received x::

        m <- momentum * m + mean of (x - y_i)
        x <- x - server_step_size * m

    from m = 0.

    Parameters
    ----------
    step_size
        Step size of the clients (eta), positive.
    local_steps
        Gradient steps of a client in a round.
    participation
        Fraction of clients in a round, in (0, 1].
    momentum
        Of the server (beta), in [0, 1); 0 is FedAvg.
    server_step_size
        Of the server (eta_g), positive.
    weighting
        What a client counts in the mean: ``"clients"``, one, or ``"samples"``, n_i / n.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range; during a run, if a client's model is not finite.

    Notes
    -----
    Hsu, Qi and Brown (2019), FedAvgM, restated: the paper was not read. It rests where FedAvg does. The model
    array has P = 1.
    """

    name: ClassVar[str] = "fedavgm"

    step_size: float
    local_steps: int = 1
    participation: float = 1.0
    momentum: float = 0.9
    server_step_size: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_number(
            "momentum", self.momentum, at_least=0, below=1, remedy="0 is plain descent, 0.9 is common"
        )
        check_server_step_size(self.server_step_size)

    def initialise(self, models: Array, task: Task) -> MomentumState:
        """Start from the given model (..., 1, d) without momentum."""
        return MomentumState(models, None, None, array_namespace(models).zeros_like(models))

    def step(self, state: MomentumState, task: Task, randomness: Randomness) -> MomentumState:
        """Carry out one round."""
        models = state.models
        clients, assignments = self._participants(models, task, randomness)
        mean = self._mean_trained(models, clients, assignments, task, randomness)
        buffers = self.momentum * state.buffers + (models - mean)
        return MomentumState(models - self.server_step_size * buffers, clients, assignments, buffers)
