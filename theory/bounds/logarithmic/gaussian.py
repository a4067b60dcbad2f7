"""The dynamics that Theorems D and E speak of: CFL-MGD or IFCA on Gaussian regression with fresh rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import CFLMGD, IFCA, InvalidArgument, Trace
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.bounds.logarithmic.rows import GaussianRows

SHARES = (0.2, 0.4, 0.4)
"""How a failure probability is divided among delta_1, delta_2 and delta_3."""

DEFAULT_FAILURE = 1e-9
"""Failure probability at which one breaking run is a verdict."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianDynamics:
    """Which recursion, which normalisation, which participation; what a bound needs of a task and an algorithm.

    Attributes
    ----------
    rows
        The law of the rows.
    own
        Clients of each cluster, l_p m, integers (P,).
    spectra
        Eigenvalues of the covariances, (P, d).
    common_covariance
        Whether all clusters have the same covariance.
    diameter
        Largest distance of two optima (D).
    algorithm
        Its parameters.
    """

    rows: GaussianRows
    own: np.ndarray
    spectra: np.ndarray
    common_covariance: bool
    diameter: float
    algorithm: CFLMGD

    @property
    def clusters(self) -> int:
        """P."""
        return len(self.own)

    @property
    def clients(self) -> int:
        """m."""
        return int(self.own.sum())

    @property
    def participants(self) -> int:
        """K: clients that take part in a round."""
        return max(1, round(self.algorithm.participation * self.clients))

    @property
    def local_steps(self) -> int:
        """H."""
        return self.algorithm.local_steps


def fresh_regression(task: Mixture) -> RegressionMixture:
    """Give a task back if it is a Gaussian regression with fresh rows.

    Raises
    ------
    InvalidArgument
        If it is not.
    """
    if not isinstance(task, RegressionMixture) or task.data != "fresh":
        raise InvalidArgument(
            "task",
            type(task).__name__,
            "must be a Gaussian regression mixture with fresh data",
            "choose one: the proof needs independent rows in every round and for every purpose",
        )
    return task


def gaussian_dynamics(task: RegressionMixture, algorithm: CFLMGD | IFCA) -> GaussianDynamics:
    """Collect what Theorems D and E need of a task with fresh rows.

    Raises
    ------
    InvalidArgument
        If the theorems do not speak of such a run; the message names the hypothesis that fails.
    """
    if isinstance(algorithm, IFCA):
        algorithm = CFLMGD(momentum=0.0, **vars(algorithm))
    if algorithm.momentum_owner != "server" or algorithm.update_order != "momentum-first":
        raise InvalidArgument(
            "algorithm",
            algorithm,
            "must keep its momentum on the server and update it first",
            "use momentum_owner='server' and update_order='momentum-first'",
        )
    if algorithm.clusters not in (None, task.clusters):
        raise InvalidArgument(
            "clusters", algorithm.clusters, f"must be the task's number, {task.clusters}", "leave it out"
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


def algorithm_of(trace: Trace) -> CFLMGD:
    """Give the dynamics of a run.

    Raises
    ------
    InvalidArgument
        If they are not those of CFL-MGD, of which IFCA is one with momentum 0.
    """
    algorithm = dynamics_of(trace)
    if not isinstance(algorithm, CFLMGD) or trace.errors is None:
        raise InvalidArgument(
            "trace", algorithm.name, "must have the dynamics of cfl-mgd and known optima", "use such a run"
        )
    return algorithm


def along_eigenvectors(task: RegressionMixture, models: np.ndarray) -> np.ndarray:
    """Errors of models (..., P, d) along the eigenvectors of their clusters' covariances, (..., P, d)."""
    _, vectors = np.linalg.eigh(task.covariances.matrices)
    return np.asarray(np.einsum("...pd,pdj->...pj", models - task.optima, vectors))


def reference_models(task: RegressionMixture, start: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Noise-free models, (rounds + 1, ..., P, d).

    Parameters
    ----------
    task
        Gives optima and eigenvectors.
    start
        e_0 along the eigenvectors, (..., P, d).
    response
        Response to the start along them, broadcastable to (rounds + 1, ..., P, d).
    """
    _, vectors = np.linalg.eigh(task.covariances.matrices)
    return np.asarray(task.optima + np.einsum("...pj,pdj->...pd", response * start, vectors))


def divide_failure(failure_probability: float) -> tuple[float, float, float]:
    """delta_1, delta_2 and delta_3 of a total."""
    first, second, third = (share * failure_probability for share in SHARES)
    return first, second, third
