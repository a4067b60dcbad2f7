"""The dynamics of Theorem D: CFL-MGD or IFCA on Gaussian regression with new samples in every round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import CFLMGD, IFCA
from clusterproof.common import InvalidArgument
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.bounds.rows import GaussianRows

SHARES = (0.2, 0.4, 0.4)
"""Default shares of delta_1, delta_2 and delta_3 in a failure probability."""

DEFAULT_FAILURE = 1e-9
"""Failure probability so small that a single violation refutes the bound."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianDynamics:
    """The quantities of Theorem D for a task and an algorithm.

    Attributes
    ----------
    rows
        Distribution of the samples.
    own
        Number of clients of each cluster, l_p m, integers (P,).
    spectra
        Eigenvalues of the covariances, (P, d).
    common_covariance
        Whether all clusters have the same covariance.
    diameter
        Largest distance between two optima (D).
    algorithm
        The algorithm's parameters.
    """

    rows: GaussianRows
    own: np.ndarray
    spectra: np.ndarray
    common_covariance: bool
    diameter: float
    algorithm: CFLMGD

    @property
    def clusters(self) -> int:
        """Number of clusters P."""
        return len(self.own)

    @property
    def clients(self) -> int:
        """Number of clients m."""
        return int(self.own.sum())

    @property
    def participants(self) -> int:
        """Number K of clients that take part in a round."""
        return max(1, round(self.algorithm.participation * self.clients))

    @property
    def local_steps(self) -> int:
        """Number of local steps H."""
        return self.algorithm.local_steps


def fresh_regression(task: Mixture) -> RegressionMixture:
    """Check that a task is a Gaussian regression with fresh samples, and return the task.

    Raises
    ------
    InvalidArgument
        If the task is not a Gaussian regression with fresh samples.
    """
    if not isinstance(task, RegressionMixture) or task.data != "fresh":
        raise InvalidArgument(
            "task",
            type(task).__name__,
            "must be a Gaussian regression mixture with fresh data",
            "use RegressionMixture with data='fresh': the proof needs new, independent samples in every round",
        )
    return task


def gaussian_dynamics(task: RegressionMixture, algorithm: CFLMGD | IFCA) -> GaussianDynamics:
    """Collect the quantities of Theorem D for a task with fresh samples.

    Raises
    ------
    InvalidArgument
        If a hypothesis of the theorem is not satisfied. The message names the hypothesis.
    """
    if isinstance(algorithm, IFCA):
        algorithm = CFLMGD(momentum=0.0, **vars(algorithm))
    if algorithm.momentum_owner != "server" or algorithm.update_order != "momentum-first":
        raise InvalidArgument(
            "algorithm",
            algorithm,
            "must store its momentum on the server and update it before the models",
            "use momentum_owner='server' and update_order='momentum-first'",
        )
    if algorithm.clusters not in (None, task.clusters):
        raise InvalidArgument(
            "clusters",
            algorithm.clusters,
            f"must be the number of the task's clusters, {task.clusters}",
            "leave it out",
        )
    matrices = task.covariances.matrices
    return GaussianDynamics(
        rows=GaussianRows(
            smoothness=task.smoothness,
            strong_convexity=task.strong_convexity,
            separation=task.separation,
            noise=float(task.noise),
            samples=task.samples,
        ),
        own=np.bincount(task.labels, minlength=task.clusters),
        spectra=np.linalg.eigvalsh(matrices),
        common_covariance=bool((matrices == matrices[0]).all()),
        diameter=task.diameter,
        algorithm=algorithm,
    )


def along_eigenvectors(task: RegressionMixture, models: np.ndarray) -> np.ndarray:
    """Return the errors of models (..., P, d) along the eigenvectors of the clusters' covariances, (..., P, d)."""
    _, vectors = np.linalg.eigh(task.covariances.matrices)
    return np.asarray(np.einsum("...pd,pdj->...pj", models - task.optima, vectors))


def reference_models(task: RegressionMixture, start: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Return the noise-free models, (rounds + 1, ..., P, d).

    Parameters
    ----------
    task
        Task with the optima and eigenvectors.
    start
        Components of e_0 along the eigenvectors, (..., P, d).
    response
        Response to the initial error along the eigenvectors, broadcastable to (rounds + 1, ..., P, d).
    """
    _, vectors = np.linalg.eigh(task.covariances.matrices)
    return np.asarray(task.optima + np.einsum("...pj,pdj->...pd", response * start, vectors))


def divide_failure(failure_probability: float) -> tuple[float, float, float]:
    """Divide a total failure probability into delta_1, delta_2 and delta_3."""
    first, second, third = (share * failure_probability for share in SHARES)
    return first, second, third
