"""Numbers of rounds that GL-CFL and IFCA need on a regression mixture, on the same data.

IFCA is GL-CFL with weight 0, so that both see the same mini-batches, one local step, and the same
pinning of devices to empty clusters, without which either may lose a cluster for good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import GradientLoss, Randomness, generator, purity
from clusterproof.algorithms.gradient_loss import MovingState
from clusterproof.synthetic import RegressionMixture

LIMIT = 60
"""Rounds after which a race is stopped; a run that has not arrived by then counts as LIMIT + 1."""


@dataclass(frozen=True)
class Setting:
    """A regression mixture of 40 devices in 4 clusters, and a start of the four models.

    Attributes
    ----------
    distance
        Typical distance of each model from the pooled optimum, in units of the separation of the
        clusters; next to 0, the models start from one point.
    step_size
        alpha; the largest curvature is 1.
    rows
        Rows of a mini-batch.
    noise
        Standard deviation of the noise; the separation is 1.
    """

    distance: float
    step_size: float = 0.1
    rows: int = 20
    noise: float = 0.5

    def task(self, seed: int) -> RegressionMixture:
        """Return the mixture, in 20 dimensions."""
        return RegressionMixture.random(
            clusters=4,
            clients=40,
            dimension=20,
            separation=1.0,
            noise=self.noise,
            samples=self.rows,
            seed=seed,
        )

    def starts(self, task: RegressionMixture, seed: int, replicates: int) -> np.ndarray:
        """Draw the models, (replicates, 4, d): normal around the pooled optimum."""
        stream = generator(seed, "race", "starts")
        drawn = stream.standard_normal((replicates, task.clusters, task.dimension))
        return np.asarray(task.pooled_optimum + self.distance * drawn / np.sqrt(task.dimension))


Goal = Callable[[RegressionMixture, MovingState], np.ndarray]
"""Returns whether each replicate has arrived, booleans (replicates,), from the state after a round."""


def purity_goal(level: float) -> Goal:
    """Return a goal that is reached when the purity of the votes reaches a level."""

    def arrived(task: RegressionMixture, state: MovingState) -> np.ndarray:
        return purities(task, state) >= level

    return arrived


def purities(task: RegressionMixture, state: MovingState) -> np.ndarray:
    """Return the purity of the votes of the round, (replicates,)."""
    return np.array([purity(votes, task.labels) for votes in np.asarray(state.assignments)])


def first_rounds(
    algorithm: GradientLoss, task: RegressionMixture, starts: np.ndarray, goal: Goal, seed: int
) -> np.ndarray:
    """Return the round in which each replicate arrives, counted from 1, integers (replicates,)."""
    randomness = Randomness.from_seed(seed, "race")
    state = algorithm.initialise(starts, task)
    arrivals = np.full(len(starts), LIMIT + 1)
    for t in range(1, LIMIT + 1):
        state = algorithm.step(state, task, randomness)
        arrivals = np.where((arrivals > LIMIT) & goal(task, state), t, arrivals)
        if (arrivals <= LIMIT).all():
            break
    return arrivals


def entrant(setting: Setting, weight: float) -> GradientLoss:
    """Return GL-CFL with this weight; 0 is IFCA. Corrected sign, mean loss, pinning when a cluster is empty."""
    return GradientLoss(step_size=setting.step_size, weight=weight, empty_cluster="when-empty")


def race(
    setting: Setting, *, seed: int, replicates: int, goal: Goal, weight: float = 0.2
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounds that IFCA and GL-CFL need in each replicate, from the same starts on the same data.

    Returns
    -------
    tuple
        Two integer arrays (replicates,).
    """
    task = setting.task(seed)
    starts = setting.starts(task, seed, replicates)
    baseline, proposed = (
        first_rounds(entrant(setting, similarity_weight), task, starts, goal, seed)
        for similarity_weight in (0.0, weight)
    )
    return baseline, proposed


def reduction(baseline: np.ndarray, proposed: np.ndarray) -> np.ndarray:
    """Return the share of the baseline's rounds that is saved, negative if more are needed."""
    return np.asarray(1 - proposed / baseline)
