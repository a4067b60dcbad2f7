"""Runs of option I with momentum and all clients' buffers, on which the appendix of CFL-MGD is checked."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.checker import reals
from clusterproof.theory.exact.recorded_run import RecordedRun, record
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import basin_models

Momentum = Annotated[float, reals(Fraction(1, 20), Fraction(19, 20))]
"""Range of the momentum beta."""


@dataclass(frozen=True)
class MomentumRun:
    """A recorded run of option I as printed; the paper's cluster 1 has index 0.

    The first axis of arrays is the round, 0 .. T - 1; replicates, if any, are the second.

    Attributes
    ----------
    task, momentum
        The task and beta; the step size is 1 / L.
    seen
        The recorded run.
    """

    task: RegressionMixture
    momentum: float
    seen: RecordedRun

    @property
    def weight(self) -> float:
        """Eta / m."""
        return 1 / (self.task.smoothness * self.task.clients)

    @property
    def models(self) -> np.ndarray:
        """chi_1^t, (rounds, ..., d)."""
        return self.seen.models[:-1, ..., 0, :]

    @property
    def following(self) -> np.ndarray:
        """chi_1^(t+1), (rounds, ..., d)."""
        return self.seen.models[1:, ..., 0, :]

    @property
    def gradients(self) -> np.ndarray:
        """g_i^t, (rounds, ..., m, d)."""
        return self.seen.gradients

    @property
    def buffers(self) -> np.ndarray:
        """u_i^t as it enters round t, (rounds, ..., m, d)."""
        return self.seen.buffers[:-1]

    @property
    def past_gradients(self) -> np.ndarray:
        """S_i^t = sum_(k < t) beta^(t-1-k) g_i^k, the right side of (A19), (rounds, ..., m, d)."""
        sums = np.zeros_like(self.gradients)
        for t in range(1, len(sums)):
            sums[t] = self.momentum * sums[t - 1] + self.gradients[t - 1]
        return sums

    def shared(self, cluster: int) -> np.ndarray:
        """Whether a client is in C_1 n C*_p, (rounds, ..., m)."""
        return np.asarray((self.seen.assignments == 0) & (self.task.labels == cluster))

    def sum_over(self, values: np.ndarray, *, own: bool) -> np.ndarray:
        """Sum values (rounds, ..., m, d) over C_1 n C*_1, or over the false members in C_1, (rounds, ..., d)."""
        chosen = (self.seen.assignments == 0) & ((self.task.labels == 0) == own)
        return np.asarray((values * chosen[..., None]).sum(axis=-2))


def momentum_run(
    task: RegressionMixture,
    momentum: float,
    stream: np.random.Generator,
    *,
    rounds: int = 5,
    replicates: int | None = None,
) -> MomentumRun:
    """Run from random models in the basin; all replicates start from the same models."""
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=momentum, momentum_owner="client")
    models = basin_models(task, stream)
    initial = models if replicates is None else np.broadcast_to(models, (replicates, *models.shape))
    seen = record(task, algorithm, rounds=rounds, initial=initial, seed=int(stream.integers(2**31)))
    return MomentumRun(task, momentum, seen)
