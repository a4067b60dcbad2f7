"""pFedMe: personal models by Moreau envelopes (T. Dinh et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.aggregation import local_descent
from clusterproof.algorithms.arrays import Array
from clusterproof.algorithms.bodies.one_model import OneModelSent
from clusterproof.algorithms.protocol import State, Task
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import check_count, check_number


@dataclass(frozen=True, kw_only=True)
class PFedMe(OneModelSent):
    """FedAvg on the clients' Moreau envelopes, min over theta of phi_i(theta) + lam / 2 ||theta - w||^2.

    In a round a participant starts at w_i = theta_i = x and does, R times, n inner steps and an outer one::

        theta_i <- theta_i - step_size * (grad phi_i(theta_i) + lam (theta_i - w_i))     n times
        w_i <- w_i - outer_step_size * lam * (w_i - theta_i)

    Then x <- (1 - mix) x + mix * mean of w_i.

    Parameters
    ----------
    step_size
        Of the inner steps, positive.
    lam
        Strength of the pull of the personal model towards the local one (lambda), positive.
    inner_steps
        Inner gradient steps (n); the paper's exact personal model is n = infinity.
    outer_step_size
        Of the local model (eta), positive; ``step_size`` if None.
    mix
        Of the server (beta), positive; 1 takes the mean.
    local_steps
        Outer steps of a client in a round (R).
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
    T. Dinh, Tran and Nguyen (2020), Algorithm 1, restated: the paper was not read. theta_i continues from one outer
    step to the next. The model array has P = 1; a client deploys what ``personalise`` makes of x.
    """

    name: ClassVar[str] = "pfedme"

    step_size: float
    lam: float = 0.1
    inner_steps: int = 5
    outer_step_size: float | None = None
    mix: float = 1.0
    local_steps: int = 1
    participation: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_number("lam", self.lam, above=0, remedy="a large one is FedAvg")
        check_count("inner_steps", self.inner_steps, at_least=1, remedy="5 is common")
        if self.outer_step_size is not None:
            remedy = "leave it out for the step size of the inner steps"
            check_number("outer_step_size", self.outer_step_size, above=0, remedy=remedy)
        check_number("mix", self.mix, above=0, remedy="1 takes the clients' mean")

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        mean = super().step(state, task, randomness)
        moved = (1 - self.mix) * state.models + self.mix * mean.models
        return State(moved, mean.clients, mean.assignments)

    def descend(self, received: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Carry out the clients' part of a round: from models received (..., k, d) to models sent."""
        step_size = self.step_size if self.outer_step_size is None else self.outer_step_size
        local = personal = received
        for _ in range(self.local_steps):
            personal = self._approach(personal, local, clients, task, randomness)
            local = local - step_size * self.lam * (local - personal)
        return local

    @property
    def has_personal_step(self) -> bool:
        """Always."""
        return True

    def personalise(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Give the personal models (..., k, d) of clients that have received ``points`` (..., k, d)."""
        return self._approach(points, points, clients, task, randomness)

    def _approach(
        self, personal: Array, local: Array, clients: Array, task: Task, randomness: Randomness
    ) -> Array:
        """Take the inner steps of personal models towards the minimisers of the pulled losses."""
        return local_descent(
            task,
            personal,
            clients,
            randomness.gradient,
            anchors=local,
            step_size=self.step_size,
            proximal=self.lam,
            local_steps=self.inner_steps,
        )
