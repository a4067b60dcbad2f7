"""Random tasks on which the appendix of CFL-MGD is checked."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.synthetic import Mixture, RegressionMixture, TwoPointMixture
from clusterproof.theory.claims import choice, drawn, suppose
from clusterproof.theory.exact.random_tasks import random_mixture

AnyTask = Annotated[Mixture, drawn(random_mixture)]
"""A regression, quadratics or ridge-logistic losses."""


def noisy_regression(stream: np.random.Generator) -> RegressionMixture:
    """Draw a regression on which clients do choose wrong clusters, with max ||chi*|| <= 1.

    Two or three clusters of 24 to 80 clients in all, dimension 1 to 4, 1 to 12 rows, noise 0.3 to 1.5, a
    covariance of its own for each cluster with eigenvalues in [0.2, 1].
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
"""The same, and losses with two values where they are tried first."""


def two_values(own: int, foreign: int, jump: float) -> TwoPointMixture:
    """Return clusters at 1 and -1 whose gradients differ from their means by +-jump on every row, one row a client."""
    return TwoPointMixture(
        optima=np.array([[1.0], [-1.0]]),
        slopes=np.array([jump]),
        centers=np.array([0.0]),
        rarity=0.5,
        labels=np.repeat([0, 1], (own, foreign)),
        samples=1,
    )


def suppose_units(task: Mixture) -> None:
    """State the hypothesis max ||chi*_p|| <= 1: the constant 1 where Assumption 4 says <~ 1."""
    suppose("max ||chi*|| <= 1", np.linalg.norm(task.optima, axis=-1).max() <= 1 + 1e-12)


def with_samples(task: RegressionMixture, samples: int) -> RegressionMixture:
    """Return the task with another number of rows."""
    return RegressionMixture(
        optima=task.optima,
        covariance=task.covariances.matrices,
        noise=task.noise,
        labels=task.labels,
        samples=samples,
    )


Place = Annotated[str, choice("random", "apart", "towards", "optima")]
"""Where the models of a round are: anywhere in the basin, on its rim away from the other optima or towards
them, or at their own optima."""


def basin_models(task: Mixture, stream: np.random.Generator, place: str = "random") -> np.ndarray:
    """Return models within the paper's basin, (P, d); random ones are on its rim half of the time."""
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
