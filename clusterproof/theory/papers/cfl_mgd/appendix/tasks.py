"""Random tasks, replicates of one round of option I, and recorded runs, to check the appendix of CFL-MGD."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms import CFLMGD, Task
from clusterproof.checker.claims import among, drawn, suppose
from clusterproof.common.randomness import Randomness
from clusterproof.synthetic import Mixture, RegressionMixture, TwoPointMixture
from clusterproof.synthetic.wrapped import WrappedTask


@dataclass(eq=False)
class RecordedTask(WrappedTask):
    """A task that records every gradient that it returns.

    Attributes
    ----------
    task
        The task to record.
    drawn
        Recorded gradients (..., m, d), one array per round.
    """

    task: Task
    drawn: list[np.ndarray] = field(default_factory=list)

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the losses of the task, (..., k, P)."""
        return np.asarray(self.task.losses(models, clients, generator))

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the gradients of the task, (..., k, d), and record them."""
        drawn = np.asarray(self.task.gradients(points, clients, generator))
        self.drawn.append(drawn)
        return drawn


@dataclass(frozen=True)
class RecordedRun:
    """A run with the gradients and momentum of every client. A single run has no axis for replicates.

    Attributes
    ----------
    models
        Models before each round and after the last, (rounds + 1, replicates, P, d).
    assignments
        Chosen clusters, which define the sets C_p^t, (rounds, replicates, m).
    gradients
        Gradients g_i^t, (rounds, replicates, m, d).
    buffers
        Buffers u_i^t before round t, after line 15 of the previous round, (rounds + 1, replicates, m, d).
    """

    models: np.ndarray
    assignments: np.ndarray
    gradients: np.ndarray
    buffers: np.ndarray


def record(
    task: Any,
    algorithm: CFLMGD,
    *,
    rounds: int,
    initial: np.ndarray,
    seed: int = 0,
) -> RecordedRun:
    """Run option I with clients' momentum and full participation, and record everything.

    Parameters
    ----------
    task
        A mixture, or a task with the attribute ``drawn`` of ``RecordedTask``.
    algorithm
        The algorithm, with ``momentum_owner="client"``.
    rounds
        Number of rounds T, at least 1.
    initial
        Initial models, (P, d) or (replicates, P, d).
    seed
        Seed of the run.
    """
    recorded = task if hasattr(task, "drawn") else RecordedTask(task)
    randomness = Randomness.from_seed(seed, "recorded", algorithm.name)
    state = algorithm.initialise(initial, recorded)
    models, buffers, assignments = [state.models], [state.buffers], []
    for _ in range(rounds):
        state = algorithm.step(state, recorded, randomness)
        models.append(state.models)
        buffers.append(state.buffers)
        assignments.append(np.asarray(state.assignments))
    return RecordedRun(
        models=np.stack(models),
        assignments=np.stack(assignments),
        gradients=np.stack(recorded.drawn),
        buffers=np.stack(buffers),
    )


def noisy_regression(stream: np.random.Generator) -> RegressionMixture:
    """Draw a regression with max ||chi*|| <= 1, on which some clients choose wrong clusters.

    The task has two or three clusters with 24 to 80 clients in total, dimension 1 to 4, 1 to 12 samples, and noise 0.3
    to 1.5. The covariances differ between clusters and have eigenvalues in [0.2, 1].
    """
    clusters, dimension = int(stream.integers(2, 4)), int(stream.integers(2, 5))
    separation = 0.0
    while separation < 0.7:
        optima = stream.standard_normal((clusters, dimension))
        optima *= stream.uniform(0.6, 1, (clusters, 1)) / np.linalg.norm(optima, axis=-1, keepdims=True)
        gaps = np.linalg.norm(optima[:, None] - optima[None], axis=-1)
        separation = float(gaps[~np.eye(clusters, dtype=bool)].min())
    rotations = np.linalg.qr(stream.standard_normal((clusters, dimension, dimension)))[0]
    spectra = stream.uniform(0.2, 1, (clusters, dimension))
    covariance = (rotations * spectra[:, None, :]) @ np.swapaxes(rotations, -1, -2)
    clients = int(stream.integers(24, 81))
    return RegressionMixture(
        optima=optima,
        covariance=(covariance + np.swapaxes(covariance, -1, -2)) / 2,
        noise=float(stream.uniform(0.3, 1.5)),
        labels=np.arange(clients) % clusters,
        samples=int(stream.integers(1, 13)),
    )


NoisyTask = Annotated[RegressionMixture, drawn(noisy_regression)]
ExtremeTask = Annotated[RegressionMixture | TwoPointMixture, drawn(noisy_regression)]
"""Draw a task with two-valued losses, which comes first, or a regression as in ``draw_regression``."""


def two_values(own: int, foreign: int, jump: float) -> TwoPointMixture:
    """Return clusters with optima 1 and -1 and one sample per client. The gradient noise is +-jump."""
    return TwoPointMixture(
        optima=np.array([[1.0], [-1.0]]),
        noise_gradients=np.array([jump]),
        centers=np.array([0.0]),
        rarity=0.5,
        labels=np.repeat([0, 1], (own, foreign)),
        samples=1,
    )


def suppose_units(task: Mixture) -> None:
    """Suppose max ||chi*_p|| <= 1. Assumption 4 has max ||chi*_p|| <~ 1, and we take the constant 1."""
    suppose("max ||chi*|| <= 1", np.linalg.norm(task.optima, axis=-1).max() <= 1 + 1e-12)


def with_samples(task: RegressionMixture, samples: int) -> RegressionMixture:
    """Return the task with another number of samples per client."""
    return replace(task, covariance=task.covariances.matrices, samples=samples)


Place = Annotated[str, among("random", "apart", "towards", "optima")]
"""Positions of models: in the basin, on its boundary (away from or towards other optima), or at the optima."""


def basin_models(task: Mixture, stream: np.random.Generator, place: str = "random") -> np.ndarray:
    """Return models in the paper's basin, (P, d). Half of the random models are on its boundary."""
    if place == "optima":
        return task.optima
    if place == "random":
        directions = stream.standard_normal(task.optima.shape)
        lengths = task.basin_radius * stream.choice([1.0, stream.uniform()], (task.clusters, 1))
    else:
        directions = (task.optima - task.optima.mean(axis=0)) * (1 if place == "apart" else -1)
        lengths = np.full((task.clusters, 1), task.basin_radius)
    directions = directions / np.linalg.norm(directions, axis=-1, keepdims=True)
    return np.asarray(task.optima + lengths * directions)


Level = Annotated[Fraction, among(*map(Fraction, ("1/10", "1/2", "9/10", "2/5")))]
"""Values of lambda_0 .. lambda_4; for larger values, Markov's inequality is closer to equality."""


@dataclass(frozen=True)
class Round:
    """Replicates of one round of option I from given models, where the paper's cluster 1 has index 0.

    Attributes
    ----------
    task
        A task with max ||chi*|| <= 1.
    models
        Models chi^t in the basin, (P, d).
    members
        For each client, whether it is in C_1, (replicates, m).
    gradients
        Gradients g_i^t, (replicates, m, d).
    """

    task: RegressionMixture | TwoPointMixture
    models: np.ndarray
    members: np.ndarray
    gradients: np.ndarray

    def with_clients_of(self, cluster: int) -> Round:
        """Return the replicates in which some client of a cluster joined C_1."""
        some = (self.members & (self.task.labels == cluster)).any(axis=-1)
        return replace(self, members=self.members[some], gradients=self.gradients[some])

    def shared(self, cluster: int) -> np.ndarray:
        """Return |C_1 n C*_p|, (replicates,)."""
        return np.asarray((self.members & (self.task.labels == cluster)).sum(axis=-1))

    def deviation(self, cluster: int) -> np.ndarray:
        """Return the sum over C_1 n C*_p of g_i - grad phi_p(chi_1), (replicates, d)."""
        chosen = self.members & (self.task.labels == cluster)
        mean = self.task.expected_gradient(self.models[0], cluster)
        return np.asarray(((self.gradients - mean) * chosen[..., None]).sum(axis=-2))

    def total(self, cluster: int) -> np.ndarray:
        """Return T_2p, the sum over C_1 n C*_p of g_i, (replicates, d)."""
        chosen = self.members & (self.task.labels == cluster)
        return np.asarray((self.gradients * chosen[..., None]).sum(axis=-2))

    def gradient_deviation(self, cluster: int) -> float:
        """Return v, the standard deviation of a one-sample gradient at chi_1, for clients of a cluster."""
        return float(np.sqrt(self.task.gradient_variance(self.models[0], cluster)))

    def loss_variance(self, cluster: int) -> float:
        """Return sigma^2, the variance of a one-sample loss at a client's own model and at chi_1, for a cluster."""
        return float(self.task.loss_variance(self.models[[0, cluster]], cluster).max())


def simulate_round(
    task: RegressionMixture | TwoPointMixture, place: str, replicates: int, stream: np.random.Generator
) -> Round:
    """Run one round in all replicates, from models at the given ``place`` in the basin."""
    models = basin_models(task, stream, place)
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.0, momentum_owner="client")
    initial = np.broadcast_to(models, (replicates, *models.shape))
    seen = record(task, algorithm, rounds=1, initial=initial, seed=int(stream.integers(2**31)))
    return Round(task, models, seen.assignments[0] == 0, seen.gradients[0])
