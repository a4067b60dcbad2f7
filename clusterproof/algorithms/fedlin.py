"""FedLin: local steps on losses whose gradient at the server's model is the common one (Mitra et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.averaging import average_by_cluster
from clusterproof.algorithms.base import Algorithm, Descent, State, Task
from clusterproof.algorithms.participation import check_participation, draw_participants
from clusterproof.common.arrays import Array, array_namespace, rows
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import check_descent


@dataclass(frozen=True, kw_only=True)
class FedLin(Algorithm[State]):
    """Two exchanges a round: of the gradients at the server's model x, then of the clients' models.

    With g_i = grad phi_i(x) and g, their mean over the participants, a participant starts at y = x and takes K steps::

        y <- y - step_size * (grad phi_i(y) - g_i + g)

    and the server takes the mean of their models.

    Parameters
    ----------
    step_size
        Step size of the clients, positive.
    local_steps
        Gradient steps of a client in a round (K).
    participation
        Fraction of clients in a round, in (0, 1]; both means are over the participants.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    FedLin (Mitra, Jaafar, Pappas and Hassani, 2021) without compression, of which an abstract was read: the
    equations are restated, with equal step sizes and numbers of steps, and all clients take part there. It is
    SCAFFOLD whose control variates are the gradients at x. The model array has P = 1.
    """

    name: ClassVar[str] = "fedlin"
    target: ClassVar[str] = "pooled"

    step_size: float
    local_steps: int = 1
    participation: float = 1.0

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, None, "model", self.local_steps)
        check_participation(self.participation)

    def model_count(self, task: Task) -> int:
        """Return 1."""
        return 1

    def initialise(self, models: Array, task: Task) -> State:
        """Start from the given model (..., 1, d)."""
        return State(models, None, None)

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        xp, x = array_namespace(state.models), state.models
        clients = draw_participants(self.participation, task.clients, x, randomness.participation)
        cluster = xp.zeros_like(clients)  # all clients train model 0
        received = rows(x, cluster)
        g_i = task.gradients(received, clients, randomness.gradient)
        g = xp.mean(g_i, axis=-2, keepdims=True)
        descent = Descent(self.step_size, self.local_steps)
        y, _, _ = task.local_steps(received, clients, randomness.gradient, descent, corrections=g - g_i)
        return State(average_by_cluster(y, cluster, fallback=x), clients, cluster)
