"""IFCA, the iterative federated clustering algorithm (Ghosh et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from clusterproof.algorithms.arrays import Array
from clusterproof.algorithms.parts.aggregation import choose_clusters
from clusterproof.algorithms.parts.model_averaging import LocalMotion, average_local_training
from clusterproof.algorithms.parts.participation import check_participation, participants_of_round
from clusterproof.algorithms.parts.starts import Starts, draw_starts
from clusterproof.algorithms.protocol import Algorithm, State, Task, resolve_clusters
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_count, check_number


@dataclass(frozen=True, kw_only=True)
class IFCA(Algorithm[State]):
    """Each round, clients join the model of smallest loss, and each model descends on its own.

    Parameters
    ----------
    step_size
        Step size (gamma in IFCA, eta in CFL-MGD), positive.
    clusters
        Number of models; as many as the task has clusters where None.
    averaging
        ``"gradient"``: the model moves by step_size / m times the sum of its clients'
        gradients. ``"model"``: clients descend on their own and the server averages the
        members' models.
    local_steps
        Gradient steps of a client in a round (tau in IFCA, H in CFL-MGD); 1 under gradient
        averaging.
    participation
        Fraction of clients in a round, in (0, 1]. The sum of the participants' gradients is
        divided by the number of all clients (m), as published.
    least_share
        Starting models are drawn again until each has the least loss of them for at least this share of the
        participants, as IFCA's public code does; as they come where None.
    restarts, trial_rounds
        How many starts are tried, and for how many rounds each; the one that leads to the least mean of the
        clients' least losses is taken.

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

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, self.clusters, self.averaging, self.local_steps)
        check_participation(self.participation)
        self._starts.check()

    @property
    def dynamics(self) -> Algorithm[Any]:
        """CFL-MGD with momentum 0."""
        from clusterproof.algorithms.cfl_mgd import CFLMGD  # which is built on this module

        return CFLMGD(momentum=0.0, **{field.name: getattr(self, field.name) for field in fields(self)})

    def model_count(self, task: Task) -> int:
        """Give the number of models."""
        return resolve_clusters(self.clusters, task)

    @property
    def asks_single_gradients(self) -> bool:
        """With gradient averaging."""
        return self.averaging == "gradient"

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
        clients = participants_of_round(self.participation, task, models, randomness.participation)
        if self.averaging == "model":
            motion = LocalMotion(step_size=self.step_size, local_steps=self.local_steps)
            averages = average_local_training(task, models, clients, randomness, motion)
            return State(averages.models, clients, averages.assignments)
        assignments = choose_clusters(task, models, clients, randomness.assignment)
        sums = task.gradient_sums(models, clients, assignments, randomness.gradient)
        return State(models - self.step_size * (sums / task.clients), clients, assignments)


def check_descent(step_size: float, clusters: int | None, averaging: str, local_steps: int) -> None:
    """Check what IFCA and CFL-MGD have in common.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range, or ``local_steps > 1`` with gradient averaging.
    """
    check_number("step_size", step_size, above=0, remedy="1 / task.smoothness is a safe choice")
    if clusters is not None:
        check_count("clusters", clusters, at_least=1, remedy="leave it out to use the task's number")
    check_choice(
        "averaging", averaging, ("gradient", "model"), remedy="option I is 'gradient', II is 'model'"
    )
    check_count("local_steps", local_steps, at_least=1, remedy="1 is one gradient step a round")
    if averaging == "gradient" and local_steps > 1:
        raise InvalidArgument(
            "local_steps",
            local_steps,
            "must be 1 with averaging = 'gradient', where a client sends one gradient",
            "choose averaging = 'model' for local steps",
        )
