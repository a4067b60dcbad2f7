"""IFCA, the iterative federated clustering algorithm (Ghosh et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from clusterproof.algorithms.array_clients import ArrayClients
from clusterproof.algorithms.base import Algorithm, State, Task, resolve_clusters
from clusterproof.algorithms.cfl_mgd import CFLMGD
from clusterproof.algorithms.participation import check_participation, draw_participants
from clusterproof.algorithms.starts import Starts, draw_starts
from clusterproof.common.arrays import Array
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import check_descent
from clusterproof.methods.clustered import ifca


@dataclass(frozen=True, kw_only=True)
class IFCA(Algorithm[State]):
    """In each round, each client chooses the model with the smallest loss, and trains this model.

    Parameters
    ----------
    step_size
        Step size (gamma in IFCA, eta in CFL-MGD), positive.
    clusters
        Number of models. If None, it is the task's number of clusters.
    averaging
        With ``"gradient"``, each model moves by -step_size / m times the sum of its clients' gradients. With
        ``"model"``, clients train locally, and the server averages the models of each cluster's members.
    local_steps
        Number of gradient steps that a client takes per round (tau in IFCA, H in CFL-MGD). With gradient averaging it
        must be 1.
    participation
        Fraction of clients in a round, in (0, 1]. With gradient averaging, the divisor is always the number of all
        clients (m), as published.
    least_share
        Share of the participants for which every starting model must have the smallest loss. Clusterproof redraws all
        other starts, as in IFCA's public code. If None, it uses the first draw.
    restarts
        Number of starts to try. The run uses the start for which the mean of the clients' smallest losses is smallest.
    trial_rounds
        Number of rounds in the trial of each start, if there are several starts.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range, or ``local_steps > 1`` with gradient averaging.

    Notes
    -----
    Ghosh et al. (2020), Algorithm 1. IFCA equals CFL-MGD with momentum 0.
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

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, self.clusters, self.averaging, self.local_steps)
        check_participation(self.participation)
        self._starts.check()

    @property
    def dynamics(self) -> Algorithm[Any]:
        """The algorithm CFL-MGD with momentum 0, which has the same recursion as IFCA."""
        return CFLMGD(momentum=0.0, **{field.name: getattr(self, field.name) for field in fields(IFCA)})

    def model_count(self, task: Task) -> int:
        """Return the number of models."""
        return resolve_clusters(self.clusters, task)

    def draw_models(self, task: Task, shape: tuple[int, ...], randomness: Randomness) -> Array:
        """Draw starting points (*shape, P, d), see ``least_share`` and ``restarts``."""
        return draw_starts(self._starts, self, task, shape, randomness)

    @property
    def _starts(self) -> Starts:
        return Starts(self.least_share, self.restarts, self.trial_rounds)

    def initialise(self, models: Array, task: Task) -> State:
        """Start from the given models (..., P, d)."""
        return State(models, None, None)

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        models = state.models
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        on = ArrayClients(task, clients, randomness, local_steps=self.local_steps)
        chosen = on.chosen(models, and_sum=self.averaging == "gradient")
        after = ifca(on, models, step_size=self.step_size, averaging=self.averaging, chosen=chosen)
        return State(after, clients, chosen)
