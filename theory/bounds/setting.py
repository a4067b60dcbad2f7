"""The settings on which the repaired bounds are checked, and what a bound needs to know of one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import CFLMGD, InvalidArgument, Trace
from clusterproof.synthetic import LogCoshMixture, Mixture, RegressionMixture
from clusterproof.synthetic.misclassification import worst_case_error
from clusterproof.theory.bounds.dynamics import dynamics_of


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The numbers from which a bound on option I is computed (audit of CFL-MGD, section 6).

    Attributes
    ----------
    proportions
        l_p, one a cluster.
    clients, samples, rounds
        m, n' and T.
    smoothness, strong_convexity
        L and mu of the clusters' expected losses.
    separation, diameter
        Smallest and largest distance of two optima (Delta, D).
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
        (delta_1, delta_2, delta_3): allowed for misclassification counts, for leaving the basin,
        and for the last round.
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

    @property
    def quadratic(self) -> bool:
        """Whether the clusters' expected losses are quadratic."""
        return True

    def with_radius(self, radius: float) -> Setting:
        """Give the same setting with another basin radius and its misclassification probability."""
        pairwise = worst_case_error(
            self.smoothness, self.strong_convexity, self.separation, self.noise, radius, self.samples
        )
        return replace(self, radius=radius, misclassification=pairwise)

    @property
    def own_noise(self) -> tuple[float, float]:
        """(v_*^2, v_1^2) with E||grad f - grad phi_p||^2 <= v_*^2 + v_1^2 ||e||^2 for own clients."""
        return (
            self.noise**2 * self.trace,
            self.smoothness * self.trace + self.smoothness**2,
        )

    @property
    def intruder_noise(self) -> float:
        """v_x^2: the same for clients of other clusters at a model within the basin."""
        reach = self.diameter + self.radius
        residual = self.noise**2 + self.smoothness * reach**2
        return self.trace * residual + (self.smoothness * reach) ** 2


@dataclass(frozen=True, kw_only=True)
class AdditiveSetting(Setting):
    """A setting whose gradient noise is the same everywhere: the log-cosh mixture.

    Attributes
    ----------
    dimension
        d: one row's loss at chi varies by noise^2 ||chi - chi*||^2 / d.
    """

    dimension: int

    @property
    def quadratic(self) -> bool:
        """Not quadratic."""
        return False

    def with_radius(self, radius: float) -> Setting:
        """Give the same setting with another radius; the losses' difference is Gaussian.

        Its mean is at least (mu (Delta - B)^2 - L B^2) / 2, its deviation at most
        nu (D + 2B) / sqrt(d n').
        """
        from scipy.special import ndtr

        gap = self.strong_convexity * (self.separation - radius) ** 2 - self.smoothness * radius**2
        deviation = self.noise * (self.diameter + 2 * radius) / math.sqrt(self.dimension * self.samples)
        pairwise = float(ndtr(-gap / 2 / deviation)) if deviation > 0 else 0.0
        return replace(self, radius=radius, misclassification=pairwise)

    @property
    def own_noise(self) -> tuple[float, float]:
        """(nu^2, 0)."""
        return self.noise**2, 0.0

    @property
    def intruder_noise(self) -> float:
        """nu^2."""
        return self.noise**2


def largest_radius(task: Mixture) -> float:
    """End of the admissible basin radii, Delta / (1 + sqrt(kappa)), not included."""
    return task.separation / (1 + math.sqrt(task.condition_number))


def setting_of(
    task: Mixture, algorithm: CFLMGD, start: np.ndarray, rounds: int, radius: float | None = None
) -> Setting:
    """Collect what a bound needs from a task, an algorithm and the first models.

    Parameters
    ----------
    task
        A Gaussian regression mixture or a log-cosh mixture, with fresh data.
    algorithm
        Option I at full participation, server momentum, division by m, and a step of at most 1/L.
    start
        ||e_0|| of each cluster, (P,).
    rounds
        T.
    radius
        B; the paper's where None.

    Raises
    ------
    InvalidArgument
        If the repaired theorems do not speak of such a run.
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
    common: dict[str, Any] = {
        "proportions": tuple(task.proportions.tolist()),
        "clients": task.clients,
        "samples": task.samples,
        "rounds": rounds,
        "smoothness": task.smoothness,
        "strong_convexity": task.strong_convexity,
        "separation": task.separation,
        "diameter": task.diameter,
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
    """Collect what a bound needs from a run; replicates share the widest start.

    Parameters
    ----------
    task, trace
        The run.
    failure_probability
        delta_1 + delta_2, of which delta_1 is a third; the setting's own where None.

    Raises
    ------
    InvalidArgument
        If the repaired theorems do not speak of such a run.
    """
    algorithm = dynamics_of(trace)
    if not isinstance(algorithm, CFLMGD) or trace.errors is None:
        raise InvalidArgument(
            "trace", algorithm.name, "must have the dynamics of cfl-mgd and known optima", "use such a run"
        )
    start = trace.errors[0]
    if start.ndim == 2:
        start = start.max(axis=0)
    found = setting_of(task, algorithm, start, trace.rounds)
    if failure_probability is None:
        return found
    parts = (failure_probability / 3, 2 * failure_probability / 3, 2 * failure_probability / 3)
    return replace(found, failure=parts)
