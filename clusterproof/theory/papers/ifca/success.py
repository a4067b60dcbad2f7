"""Success probability of a run on a regression mixture, over separation, noise and start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import CFLMGD, IFCA, generator, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import make_labels
from clusterproof.theory.claims.statistics import CLAIM_SIGNIFICANCE, Confidence, clopper_pearson

ROUNDS = 60
"""T: after it only single clients near a tie change their clusters."""

PAPER_RADIUS = 0.25
"""Distance of a start from its optimum, in units of the separation, that the papers allow at kappa = 1."""


@dataclass(frozen=True)
class Cell:
    """One setting: ten clients a cluster, 20 fresh rows each, standard Gaussian features.

    Attributes
    ----------
    separation, noise
        Delta and s, in the units of the parameters (features have variance 1).
    start
        Distance of every first model from its own optimum, in units of the separation.
    clusters
        P, with twice as many parameters (d = 2P).
    """

    separation: float
    noise: float
    start: float = PAPER_RADIUS
    clusters: int = 2

    @property
    def task(self) -> RegressionMixture:
        """Optima at the corners of a regular simplex."""
        optima = np.zeros((self.clusters, 2 * self.clusters))
        np.fill_diagonal(optima, self.separation / np.sqrt(2))
        return RegressionMixture(
            optima=optima,
            covariance=np.ones(2 * self.clusters),
            noise=self.noise,
            labels=make_labels(10 * self.clusters, self.clusters),
            samples=20,
        )

    def starts(self, replicates: int, seed: int) -> np.ndarray:
        """First models in random directions, the same directions in every cell, (replicates, P, d)."""
        task = self.task
        stream = generator(seed, "basin", self.clusters)
        directions = stream.standard_normal((replicates, self.clusters, task.dimension))
        directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
        return np.asarray(task.optima + self.start * self.separation * directions)


def succeeds(algorithm: IFCA | CFLMGD, cell: Cell, replicates: int, seed: int) -> np.ndarray:
    """Whether the last assignment of each replicate is the true partition, up to the names, (replicates,)."""
    trace = run(
        algorithm,
        cell.task,
        rounds=ROUNDS,
        seed=seed,
        replicates=replicates,
        initial=cell.starts(replicates, seed),
    )
    return np.asarray(trace.adjusted_rand_index == 1)


def interval(success: np.ndarray) -> Confidence:
    """Clopper-Pearson interval of the success probability, of which forty together have a claim's error."""
    return clopper_pearson(int(success.sum()), success.size, CLAIM_SIGNIFICANCE / 40)
