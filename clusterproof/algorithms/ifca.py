"""IFCA, the iterative federated clustering algorithm (Ghosh et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from clusterproof.algorithms.arrays import Array
from clusterproof.algorithms.bodies.clustered import ClusteredDescent
from clusterproof.algorithms.cfl_mgd import CFLMGD, MomentumState
from clusterproof.algorithms.protocol import Algorithm, State, Task
from clusterproof.algorithms.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class IFCA(ClusteredDescent[State]):
    """In each round, clients choose the model of smallest loss, and each model is trained by its clients.

    Parameters
    ----------
    step_size
        Step size (gamma in IFCA, eta in CFL-MGD), positive.
    clusters
        Number of models. If None, the task's number of clusters.
    averaging
        ``"gradient"``: the model moves by step_size / m times the sum of its clients'
        gradients. ``"model"``: clients train locally, and the server averages the
        members' models.
    local_steps
        Gradient steps of a client in a round (tau in IFCA, H in CFL-MGD); 1 under gradient
        averaging.
    participation
        Fraction of clients in a round, in (0, 1]. The sum of the participants' gradients is
        divided by the number of all clients (m), as published.
    least_share
        Draw the starting models again until each of them has the smallest loss for at least this share of the
        participants, as IFCA's public code does. If None, use the first draw.
    restarts, trial_rounds
        Number of starts, and the rounds for which each of them is tried; the start with the smallest mean of the
        clients' smallest losses is used.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range, or ``local_steps > 1`` with gradient averaging.

    Notes
    -----
    Ghosh et al. (2020), Algorithm 1. Equal to CFL-MGD with momentum 0.
    """

    name: ClassVar[str] = "ifca"

    step_size: float
    clusters: int | None = None
    averaging: str = "gradient"
    local_steps: int = 1
    participation: float = 1.0
    least_share: float | None = None
    restarts: int = 1
    trial_rounds: int = 10

    @property
    def dynamics(self) -> Algorithm[Any]:
        """CFL-MGD with momentum 0."""
        return self._descent

    @property
    def _descent(self) -> CFLMGD:
        return CFLMGD(momentum=0.0, **{field.name: getattr(self, field.name) for field in fields(IFCA)})

    def initialise(self, models: Array, task: Task) -> State:
        """Start from the given models (..., P, d)."""
        return State(models, None, None)

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        after = self._descent.step(MomentumState(state.models, None, None, None, None), task, randomness)
        return State(after.models, after.clients, after.assignments)
