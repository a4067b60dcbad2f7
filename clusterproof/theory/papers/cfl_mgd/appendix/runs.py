"""Runs of option I with momentum and all clients' buffers, on which the appendix of CFL-MGD is checked."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.claims import Sides, equal, reals
from clusterproof.theory.exact.algebra import Client
from clusterproof.theory.exact.placed import Placed, placed
from clusterproof.theory.exact.recorded_run import RecordedRun, record
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import basin_models, noisy_regression

Momentum = Annotated[float, reals(Fraction(1, 20), Fraction(19, 20))]
"""Range of the momentum beta."""
Start = Placed[RegressionMixture]
NoisyStart = Annotated[Start, placed(RegressionMixture, noisy_regression, basin_models)]
"""A regression on which clients do choose wrong clusters, and models in the basin."""


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

    def deviations(self, values: np.ndarray) -> Sides:
        """Conclude for p >= 2 that the sum of values (rounds, m, d) over C_1 n C*_p is that of distances plus means."""
        left, right = [], []
        for cluster in range(1, self.task.clusters):
            chosen = self.shared(cluster)[..., None]
            mean = self.task.expected_gradient(self.models, cluster)
            left.append((values * chosen).sum(axis=-2))
            right.append(((values - mean[:, None]) * chosen).sum(axis=-2) + chosen.sum(axis=-2) * mean)
        return equal((np.stack(left), np.stack(right)), rounding=1e-10)

    def each_deviation(self, values: np.ndarray) -> list[list[dict[str, Any]]]:
        """Give what ``Client.of_deviations`` needs for each p >= 2, round and coordinate."""
        clusters = range(1, self.task.clusters)
        means = np.stack([self.task.expected_gradient(self.models, p)[:, None] for p in clusters])
        return Client.each(
            np.stack([values] * len(clusters)), np.stack([self.shared(p) for p in clusters]), mean=means
        )


def momentum_run(
    start: Start, momentum: float, seed: int, *, rounds: int = 5, replicates: int | None = None
) -> MomentumRun:
    """Run from models (P, d); all replicates start from the same models."""
    task, models = start.task, start.points
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=momentum, momentum_owner="client")
    initial = models if replicates is None else np.broadcast_to(models, (replicates, *models.shape))
    return MomentumRun(task, momentum, record(task, algorithm, rounds=rounds, initial=initial, seed=seed))
