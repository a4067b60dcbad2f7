"""The quantities of a task, an algorithm and initial models on which the repaired bounds depend."""

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
    """The quantities on which a bound for option I depends (audit of CFL-MGD, section 6).

    Attributes
    ----------
    proportions
        Proportion l_p of each cluster, (P,).
    clients, samples, rounds
        m, n' and T.
    smoothness, strong_convexity
        L and mu of the clusters' expected losses.
    separation, diameter
        Smallest and largest distance between two optima (Delta, D).
    noise, trace
        Standard deviation s of the noise, and the largest trace of a covariance.
    step_size, momentum
        Step size eta, and momentum beta.
    radius
        Radius B of the basin, B < Delta / (1 + sqrt(kappa)).
    start
        ||e_0|| for each cluster, the distance between the initial model and the optimum.
    misclassification
        Bound pi on the probability that a client prefers a given wrong model, if all models are in the basin.
    failure
        Failure probabilities: delta_1 for the counts of misclassified clients, delta_2 for models that leave the
        basin, and delta_3 for the last round.
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
        """Number P of clusters."""
        return len(self.proportions)

    def with_radius(self, radius: float) -> Setting:
        """Return the setting with another radius of the basin, and with its misclassification probability."""
        pairwise = worst_case_error(
            self.smoothness, self.strong_convexity, self.separation, self.noise, radius, self.samples
        )
        return replace(self, radius=radius, misclassification=pairwise)

    @property
    def own_noise(self) -> tuple[float, float]:
        """Return (v_*^2, v_1^2); the gradient variance of a cluster's clients is at most v_*^2 + v_1^2 ||e||^2."""
        return self.noise**2 * self.trace, self.smoothness * self.trace + self.smoothness**2

    @property
    def foreign_noise(self) -> float:
        """Return v_x^2, the bound on the gradient variance of clients of other clusters at a model in the basin."""
        reach = self.diameter + self.radius
        residual = self.noise**2 + self.smoothness * reach**2
        return self.trace * residual + (self.smoothness * reach) ** 2


@dataclass(frozen=True, kw_only=True)
class AdditiveSetting(Setting):
    """A setting in which the gradient noise is the same at every model, as for the log-cosh mixture.

    Attributes
    ----------
    dimension
        Dimension d. The loss of one sample at chi has the variance noise^2 ||chi - chi*||^2 / d.
    """

    dimension: int

    def with_radius(self, radius: float) -> Setting:
        """Return the setting with another radius of the basin, and with its misclassification probability."""
        names = ("smoothness", "strong_convexity", "separation", "diameter", "samples", "dimension", "noise")
        rows = AdditiveGaussianRows(**{name: getattr(self, name) for name in names})
        return replace(self, radius=radius, misclassification=rows.misclassification(radius))

    @property
    def own_noise(self) -> tuple[float, float]:
        """Return the gradient variance nu^2 of a cluster's clients, and 0, because it does not grow with the error."""
        return self.noise**2, 0.0

    @property
    def foreign_noise(self) -> float:
        """Return the gradient variance nu^2 of clients from other clusters."""
        return self.noise**2


def largest_radius(task: Mixture) -> float:
    """Return Delta / (1 + sqrt(kappa)). Every smaller positive number is an admissible radius of the basin."""
    return task.separation / (1 + math.sqrt(task.condition_number))


def setting_of(
    task: Mixture, algorithm: CFLMGD, start: np.ndarray, rounds: int, radius: float | None = None
) -> Setting:
    """Compute the quantities on which a bound depends from a task, an algorithm and the initial models.

    Parameters
    ----------
    task
        A Gaussian regression mixture or a log-cosh mixture, with fresh samples.
    algorithm
        Option I with full participation, server momentum, divisor m, and a step size of at most 1/L.
    start
        Initial error ||e_0|| of each cluster, (P,).
    rounds
        Number of rounds T.
    radius
        Radius B of the basin. If None, it is the paper's radius.

    Raises
    ------
    InvalidArgument
        If the repaired theorems do not apply to the run.
    """
    if not isinstance(task, RegressionMixture | LogCoshMixture) or task.data != "fresh":
        raise InvalidArgument(
            "task",
            type(task).__name__,
            "must be a regression or log-cosh mixture with fresh data",
            "use RegressionMixture or LogCoshMixture",
        )
    required = CFLMGD(step_size=algorithm.step_size, momentum=algorithm.momentum)
    if replace(algorithm, clusters=None) != required:
        raise InvalidArgument(
            "algorithm",
            algorithm,
            "must be option I with full participation and division by m",
            "change only step_size, momentum and clusters",
        )
    if task.clusters < 2 or len(start) != task.clusters:
        raise InvalidArgument(
            "clusters",
            len(start),
            "must be the number of the task's clusters, at least 2",
            "use one model per cluster",
        )
    if algorithm.step_size * task.smoothness > 1 + 1e-12:
        raise InvalidArgument(
            "step_size", algorithm.step_size, f"must be at most 1/L = {1 / task.smoothness:g}", "lower it"
        )
    basin = task.basin_radius if radius is None else radius
    if not 0 < basin < largest_radius(task):
        raise InvalidArgument(
            "radius",
            basin,
            f"must be in (0, {largest_radius(task):g})",
            "give a smaller radius; for a larger one, a client's loss can be equal at two models",
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
    """Compute the quantities on which a bound depends from a run, with the largest initial errors of all replicates.

    Parameters
    ----------
    task, trace
        The run, and its task.
    failure_probability
        The sum delta_1 + delta_2, where delta_1 is a third of the sum. If None, the defaults of ``Setting`` apply.

    Raises
    ------
    InvalidArgument
        If the repaired theorems do not apply to the run.
    """
    algorithm = cfl_mgd_of(trace)
    start = np.asarray(trace.errors)[0]
    start = start.max(axis=0) if start.ndim == 2 else start
    setting = setting_of(task, algorithm, start, trace.rounds)
    if failure_probability is None:
        return setting
    parts = (failure_probability / 3, 2 * failure_probability / 3, 2 * failure_probability / 3)
    return replace(setting, failure=parts)
