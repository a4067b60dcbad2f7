"""FedLin: local steps on losses whose gradient at the server's model is the common one (Mitra et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace

from clusterproof.algorithms.aggregation import average_by_cluster, local_descent
from clusterproof.algorithms.arrays import Array, rows
from clusterproof.algorithms.bodies.one_model import PooledModel
from clusterproof.algorithms.finiteness import check_finite
from clusterproof.algorithms.protocol import State, Task
from clusterproof.algorithms.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class FedLin(PooledModel[State]):
    """Two exchanges a round: of the gradients at the server's model x, then of the clients' models.

    With g = mean over participants of grad phi_i(x), a participant starts at y = x and takes K steps::

        y <- y - step_size * (grad phi_i(y) - grad phi_i(x) + g)

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
        If a parameter is outside its range; during a run, if a client's model is not finite.

    Notes
    -----
    FedLin (Mitra, Jaafar, Pappas and Hassani, 2021) without compression, of which an abstract was read: the
    equations are restated, with equal step sizes and numbers of steps, and all clients take part there. It is
    SCAFFOLD whose control variates are the gradients at x. The model array has P = 1.
    """

    name: ClassVar[str] = "fedlin"

    step_size: float
    local_steps: int = 1
    participation: float = 1.0

    @property
    def asks_single_gradients(self) -> bool:
        """Always, as every gradient is corrected."""
        return True

    def initialise(self, models: Array, task: Task) -> State:
        """Start from the given model (..., 1, d)."""
        return State(models, None, None)

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        models = state.models
        clients, assignments = self._participants(models, task, randomness)
        received = rows(models, assignments)
        gradients = task.gradients(received, clients, randomness.gradient)
        mean = array_namespace(models).mean(gradients, axis=-2, keepdims=True)
        points = local_descent(
            task,
            received,
            clients,
            randomness.gradient,
            corrections=mean - gradients,
            step_size=self.step_size,
            local_steps=self.local_steps,
        )
        check_finite(points, clients, self.step_size)
        return State(average_by_cluster(points, assignments, fallback=models), clients, assignments)
