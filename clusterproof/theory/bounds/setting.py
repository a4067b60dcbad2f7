"""The quantities of a task, an algorithm and a start from which the repaired bounds are computed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace
from clusterproof.synthetic import LogCoshMixture, Mixture, RegressionMixture
from clusterproof.synthetic.misclassification import worst_case_error
from clusterproof.theory.bounds.dynamics import cfl_mgd_of
from clusterproof.theory.bounds.rows import AdditiveGaussianRows


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The numbers from which a bound on option I is computed (audit of CFL-MGD, section 6).

    Attributes
    ----------
    proportions
        l_p of each cluster, (P,).
    clients, samples, rounds
        m, n' and T.
    smoothness, strong_convexity
        L and mu of the clusters' expected losses.
    separation, diameter
        Smallest and largest distance between two optima (Delta, D).
    noise, trace
        Standard deviation s of the noise, and the largest trace of a covariance.
    step_size, momentum
        eta and beta.
    radius
        Basin radius B < Delta / (1 + sqrt(kappa)).
    start
        ||e_0|| for each cluster: distances of the first models to their optima.
    misclassification
        Bound pi on the probability that a client in the basin prefers a given wrong model.
    failure
        (delta_1, delta_2, delta_3), the failure probabilities of misclassification counts, of leaving the
        basin, and of the last round.
    """

    proportions: tuple[float, ...]
    clients: int
    samples: int
    rounds: int
    smoothness: float
    strong_convexity: float
    separation: float
    diameter: float
    noise: float
    trace: float
    step_size: float
    momentum: float
    radius: float
    start: tuple[float, ...]
    misclassification: float
    failure: tuple[float, float, float] = (0.01, 0.02, 0.02)

    @property
    def clusters(self) -> int:
        """P."""
        return len(self.proportions)

    def with_radius(self, radius: float) -> Setting:
        """Return the same setting with another basin radius and its misclassification probability."""
        pairwise = worst_case_error(
            self.smoothness, self.strong_convexity, self.separation, self.noise, radius, self.samples
        )
        return replace(self, radius=radius, misclassification=pairwise)

    @property
    def own_noise(self) -> tuple[float, float]:
        """Return (v_*^2, v_1^2) with E||grad f - grad phi_p||^2 <= v_*^2 + v_1^2 ||e||^2 for the cluster's clients."""
        return self.noise**2 * self.trace, self.smoothness * self.trace + self.smoothness**2

    @property
    def foreign_noise(self) -> float:
        """Return v_x^2, the same bound for false members: clients of other clusters at a model within the basin."""
        reach = self.diameter + self.radius
        residual = self.noise**2 + self.smoothness * reach**2
        return self.trace * residual + (self.smoothness * reach) ** 2


@dataclass(frozen=True, kw_only=True)
class AdditiveSetting(Setting):
    """A setting whose gradient noise is the same everywhere: the log-cosh mixture.

    Attributes
    ----------
    dimension
        d: one row's loss at chi has the variance noise^2 ||chi - chi*||^2 / d.
    """

    dimension: int

    def with_radius(self, radius: float) -> Setting:
        """Return the same setting with another basin radius and its misclassification probability."""
        names = ("smoothness", "strong_convexity", "separation", "diameter", "samples", "dimension", "noise")
        rows = AdditiveGaussianRows(**{name: getattr(self, name) for name in names})
        return replace(self, radius=radius, misclassification=rows.misclassification(radius))

    @property
    def own_noise(self) -> tuple[float, float]:
        """(nu^2, 0)."""
        return self.noise**2, 0.0

    @property
    def foreign_noise(self) -> float:
        """nu^2."""
        return self.noise**2


def largest_radius(task: Mixture) -> float:
    """Return the upper end of the basin radii, Delta / (1 + sqrt(kappa)); this radius itself is not admissible."""
    return task.separation / (1 + math.sqrt(task.condition_number))


def setting_of(
    task: Mixture, algorithm: CFLMGD, start: np.ndarray, rounds: int, radius: float | None = None
) -> Setting:
    """Collect the quantities of a bound from a task, an algorithm and the first models.

    Parameters
    ----------
    task
        A Gaussian regression mixture or a log-cosh mixture, with fresh data.
    algorithm
        Option I at full participation, server momentum, division by m, and a step size of at most 1/L.
    start
        ||e_0|| of each cluster, (P,).
    rounds
        T.
    radius
        B; the paper's radius if None.

    Raises
    ------
    InvalidArgument
        If the repaired theorems do not apply to such a run.
    """
    if not isinstance(task, RegressionMixture | LogCoshMixture) or task.data != "fresh":
        raise InvalidArgument(
            "task",
            type(task).__name__,
            "must be a regression or log-cosh mixture with fresh data",
            "choose such a task",
        )
    required = CFLMGD(step_size=algorithm.step_size, momentum=algorithm.momentum)
    if replace(algorithm, clusters=None) != required:
        raise InvalidArgument(
            "algorithm", algorithm, "must be option I with full participation and division by m", "use it"
        )
    if task.clusters < 2 or len(start) != task.clusters:
        raise InvalidArgument(
            "clusters", len(start), "must be the task's number, at least 2", "keep one model a cluster"
        )
    if algorithm.step_size * task.smoothness > 1 + 1e-12:
        raise InvalidArgument(
            "step_size", algorithm.step_size, f"must be at most 1/L = {1 / task.smoothness:g}", "lower it"
        )
    basin = task.basin_radius if radius is None else radius
    if not 0 < basin < largest_radius(task):
        raise InvalidArgument(
            "radius", basin, f"must be in (0, {largest_radius(task):g})", "a larger basin contains ties"
        )
    sizes = ("clients", "samples", "smoothness", "strong_convexity", "separation", "diameter")
    common: dict[str, Any] = {
        **{name: getattr(task, name) for name in sizes},
        "proportions": tuple(task.proportions.tolist()),
        "rounds": rounds,
        "noise": float(task.noise),
        "step_size": float(algorithm.step_size),
        "momentum": float(algorithm.momentum),
        "radius": basin,
        "start": tuple(np.asarray(start, dtype=float).tolist()),
        "misclassification": 1.0,
    }
    if isinstance(task, LogCoshMixture):
        return AdditiveSetting(**common, trace=1.0, dimension=task.dimension).with_radius(basin)
    trace = float(task.covariances.eigenvalues.sum(axis=-1).max())
    return Setting(**common, trace=trace).with_radius(basin)


def setting_of_trace(task: Mixture, trace: Trace, failure_probability: float | None = None) -> Setting:
    """Collect the quantities of a bound from a run, with the replicates' largest starting distances.

    Parameters
    ----------
    task, trace
        The run.
    failure_probability
        delta_1 + delta_2, where delta_1 is a third of the sum; the setting's default if None.

    Raises
    ------
    InvalidArgument
        If the repaired theorems do not apply to such a run.
    """
    algorithm = cfl_mgd_of(trace)
    start = np.asarray(trace.errors)[0]
    start = start.max(axis=0) if start.ndim == 2 else start
    setting = setting_of(task, algorithm, start, trace.rounds)
    if failure_probability is None:
        return setting
    parts = (failure_probability / 3, 2 * failure_probability / 3, 2 * failure_probability / 3)
    return replace(setting, failure=parts)
