"""What algorithms with one server model share, and the round of those whose server averages the clients' models."""

from __future__ import annotations

from typing import ClassVar

from array_api_compat import array_namespace

from clusterproof.algorithms.aggregation import average_by_cluster, average_local_training, local_descent
from clusterproof.algorithms.arrays import Array, rows
from clusterproof.algorithms.finiteness import check_finite
from clusterproof.algorithms.participation import check_participation, participants_of_round
from clusterproof.algorithms.protocol import Algorithm, State, StateT, Task
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import check_descent, check_number
from clusterproof.algorithms.weighting import check_weighting, client_weights, require_sizes


class PooledModel(Algorithm[StateT]):
    """A server with one model (P = 1); subclasses declare the parameters named here, and their own."""

    target: ClassVar[str] = "pooled"

    step_size: float
    local_steps: int
    participation: float

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, None, "model", self.local_steps)
        check_participation(self.participation)

    def model_count(self, task: Task) -> int:
        """Return 1."""
        return 1

    def _participants(self, models: Array, task: Task, randomness: Randomness) -> tuple[Array, Array]:
        """Draw the participants, and return them and their assignments, zeros, both integers (..., k)."""
        clients = participants_of_round(self.participation, task, models, randomness.participation)
        return clients, array_namespace(models).zeros_like(clients)


class WeightedModel(PooledModel[StateT]):
    """A ``PooledModel`` whose server takes weighted means over the participants."""

    checks_models: ClassVar[bool] = True
    """Whether a participant's model that is not finite ends the run."""

    weighting: str

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_weighting(self.weighting)

    def model_count(self, task: Task) -> int:
        """Return 1."""
        require_sizes(self.weighting, task)
        return 1

    def _mean_trained(
        self, models: Array, clients: Array, assignments: Array, task: Task, randomness: Randomness
    ) -> Array:
        """Train the participants from the server's model, and return the mean of their models, (..., 1, d)."""
        return average_local_training(
            task,
            models,
            clients,
            randomness,
            step_size=self.step_size,
            local_steps=self.local_steps,
            proximal=self._proximal,
            assignments=assignments,
            weights=client_weights(self.weighting, task, clients, models),
            checked=self.checks_models,
        )[0]

    @property
    def _proximal(self) -> float:
        """Coefficient of a proximal term around the received model."""
        return 0.0


class OneModel(WeightedModel[State]):
    """A server that averages the participants' models and keeps nothing else."""

    def initialise(self, models: Array, task: Task) -> State:
        """Start from the given model (..., 1, d)."""
        return State(models, None, None)

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        clients, assignments = self._participants(state.models, task, randomness)
        mean = self._average(state.models, clients, assignments, task, randomness)
        return State(mean, clients, assignments)

    def descend(self, received: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Train the participants: map the received models (..., k, d) to the models that they send."""
        return local_descent(
            task,
            received,
            clients,
            randomness.gradient,
            step_size=self.step_size,
            local_steps=self.local_steps,
            proximal=self._proximal,
        )

    def _average(
        self, models: Array, clients: Array, assignments: Array, task: Task, randomness: Randomness
    ) -> Array:
        """Average the models that the participants send, (..., 1, d)."""
        return self._mean_trained(models, clients, assignments, task, randomness)


class OneModelSent(OneModel):
    """A ``OneModel`` whose ``descend`` is its own: every participant's model is computed and averaged."""

    def _average(
        self, models: Array, clients: Array, assignments: Array, task: Task, randomness: Randomness
    ) -> Array:
        points = self.descend(rows(models, assignments), clients, task, randomness)
        if self.checks_models:
            check_finite(points, clients, self.step_size)
        weights = client_weights(self.weighting, task, clients, models)
        return average_by_cluster(points, assignments, fallback=models, weights=weights)


def check_server_step_size(server_step_size: float) -> None:
    """Require a positive number, or raise ``InvalidArgument``."""
    check_number("server_step_size", server_step_size, above=0, remedy="1 takes the clients' mean")
