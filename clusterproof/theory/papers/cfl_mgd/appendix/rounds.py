"""Replicates of one round of option I, on which the appendix of CFL-MGD is checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.synthetic import RegressionMixture, TwoPointMixture
from clusterproof.theory.claims import choice
from clusterproof.theory.exact.recorded_run import record
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import basin_models

Level = Annotated[Fraction, choice(*map(Fraction, ("1/10", "1/2", "9/10", "2/5")))]
"""lambda_0 .. lambda_4: the larger, the sharper Markov's inequality."""


@dataclass(frozen=True)
class Round:
    """Replicates of one round of option I from given models; the paper's cluster 1 has index 0.

    Attributes
    ----------
    task
        With max ||chi*|| <= 1.
    models
        chi^t within the basin, (P, d).
    members
        Whether a client is in C_1, (replicates, m).
    gradients
        g_i^t, (replicates, m, d).
    """

    task: RegressionMixture | TwoPointMixture
    models: np.ndarray
    members: np.ndarray
    gradients: np.ndarray

    def with_clients_of(self, cluster: int) -> Round:
        """Keep the replicates in which some client of a cluster joined C_1, for statements given the clusters."""
        some = (self.members & (self.task.labels == cluster)).any(axis=-1)
        return replace(self, members=self.members[some], gradients=self.gradients[some])

    def shared(self, cluster: int) -> np.ndarray:
        """|C_1 n C*_p|, (replicates,)."""
        return np.asarray((self.members & (self.task.labels == cluster)).sum(axis=-1))

    def deviation(self, cluster: int) -> np.ndarray:
        """Sum over C_1 n C*_p of g_i - grad phi_p(chi_1), (replicates, d)."""
        chosen = self.members & (self.task.labels == cluster)
        mean = self.task.expected_gradient(self.models[0], cluster)
        return np.asarray(((self.gradients - mean) * chosen[..., None]).sum(axis=-2))

    def total(self, cluster: int) -> np.ndarray:
        """T_2p, the sum over C_1 n C*_p of g_i, (replicates, d)."""
        chosen = self.members & (self.task.labels == cluster)
        return np.asarray((self.gradients * chosen[..., None]).sum(axis=-2))

    def gradient_deviation(self, cluster: int) -> float:
        """The v of one row at chi_1 for clients of a cluster."""
        return float(np.sqrt(self.task.gradient_variance(self.models[0], cluster)))

    def loss_variance(self, cluster: int) -> float:
        """The sigma^2 of one row for a client of a cluster at its own model and at chi_1."""
        return float(self.task.loss_variance(self.models[[0, cluster]], cluster).max())


def simulate_round(
    task: RegressionMixture | TwoPointMixture, place: str, replicates: int, stream: np.random.Generator
) -> Round:
    """Run one round from models in the basin, in all replicates.

    Parameters
    ----------
    task
        Task of the round.
    place
        Position of the models, an argument of ``basin_models``.
    replicates
        Number of repetitions.
    stream
        Generator of the models and of the run's seed.
    """
    models = basin_models(task, stream, place)
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.0, momentum_owner="client")
    initial = np.broadcast_to(models, (replicates, *models.shape))
    seen = record(task, algorithm, rounds=1, initial=initial, seed=int(stream.integers(2**31)))
    return Round(task, models, seen.assignments[0] == 0, seen.gradients[0])
