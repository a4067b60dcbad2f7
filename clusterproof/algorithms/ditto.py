"""Ditto: FedAvg, and personal models that are pulled towards its model (Li et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.aggregation import local_descent
from clusterproof.algorithms.arrays import Array, replace_rows, rows
from clusterproof.algorithms.bodies.one_model import WeightedModel
from clusterproof.algorithms.client_arrays import copies_for_clients
from clusterproof.algorithms.fedbcd import PersonalState
from clusterproof.algorithms.finiteness import check_finite
from clusterproof.algorithms.protocol import Task
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import check_count, check_number


@dataclass(frozen=True, kw_only=True)
class Ditto(WeightedModel[PersonalState]):
    """FedAvg for the server's model w, and a personal model v_i of every client.

    In a round a participant trains w as in FedAvg, and moves its own v_i by s steps that are pulled towards the
    model w that it received::

        v_i <- v_i - personal_step_size * (grad phi_i(v_i) + lam (v_i - w))

    Absent clients keep their v_i. All v_i start at the server's model.

    Parameters
    ----------
    step_size
        Step size of FedAvg (eta), positive.
    lam
        Strength of the pull (lambda), at least 0; 0 trains the personal models alone.
    personal_step_size
        Of the personal models (eta_p), positive; ``step_size`` if None.
    personal_epochs
        Steps of a personal model in a round (s), in the unit of ``local_steps``.
    local_steps
        Gradient steps of a client in a round of FedAvg.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        What a client counts in the mean: ``"clients"``, one, or ``"samples"``, n_i / n.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range; during a run, if a client's model is not finite.

    Notes
    -----
    Li, Hu, Beirami and Smith (2021), Algorithm 1, restated: the paper was not read. ``models`` holds w, P = 1; the
    personal models are in the state.
    """

    name: ClassVar[str] = "ditto"

    step_size: float
    lam: float = 0.1
    personal_step_size: float | None = None
    personal_epochs: int = 1
    local_steps: int = 1
    participation: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_number("lam", self.lam, at_least=0, remedy="0.1 to 1 is common")
        if self.personal_step_size is not None:
            remedy = "leave it out for the step size of FedAvg"
            check_number("personal_step_size", self.personal_step_size, above=0, remedy=remedy)
        check_count("personal_epochs", self.personal_epochs, at_least=1, remedy="1 is a step a round")

    def initialise(self, models: Array, task: Task) -> PersonalState:
        """Start from the given model (..., 1, d), of the server and of all clients."""
        return PersonalState(models, None, None, copies_for_clients(models, task.clients))

    def step(self, state: PersonalState, task: Task, randomness: Randomness) -> PersonalState:
        """Carry out one round."""
        models = state.models
        clients, assignments = self._participants(models, task, randomness)
        mean = self._mean_trained(models, clients, assignments, task, randomness)
        points = local_descent(
            task,
            rows(state.personal, clients),
            clients,
            randomness.gradient,
            anchors=rows(models, assignments),
            step_size=self.step_size if self.personal_step_size is None else self.personal_step_size,
            proximal=self.lam,
            local_steps=self.personal_epochs,
        )
        check_finite(points, clients, self.step_size)
        return PersonalState(mean, clients, assignments, replace_rows(state.personal, clients, points))
