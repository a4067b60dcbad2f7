"""Theorem C: exact second moments instead of inequalities, for Gaussian regression."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import CFLMGD, InvalidArgument, Trace
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.synthetic.misclassification import worst_case_error
from clusterproof.theory.bounds.bound_parts import BoundParts
from clusterproof.theory.bounds.dynamics import cfl_mgd_of
from clusterproof.theory.bounds.setting import largest_radius, setting_of
from clusterproof.theory.checker.trace_bound import TraceBound
from clusterproof.theory.exact.exact_moments import error_moments


@dataclass(frozen=True)
class OracleMoments:
    """Moments of the chain in which every client is in its true cluster.

    Attributes
    ----------
    mean
        ||Pi_t(alpha_p Sigma) e_0||, (T + 1, ..., P).
    variance
        Var_{p,t}, of the same shape.
    """

    mean: np.ndarray
    variance: np.ndarray


def oracle_moments(
    task: RegressionMixture, algorithm: CFLMGD, models: np.ndarray, rounds: int
) -> OracleMoments:
    """Evaluate the exact recursion along each cluster's eigenvectors.

    Parameters
    ----------
    task, algorithm
        Gaussian regression with fresh data, option I with division by m.
    models
        First models, (..., P, d).
    rounds
        T.
    """
    means, variances = [], []
    for cluster, proportion in enumerate(task.proportions):
        values, vectors = np.linalg.eigh(task.covariances.matrices[cluster])
        squared_mean, variance = error_moments(
            values,
            (models[..., cluster, :] - task.optima[cluster]) @ vectors,
            step=algorithm.step_size * proportion,
            momentum=algorithm.momentum,
            noise=task.noise,
            rows=proportion * task.clients * task.samples,
            rounds=rounds,
        )
        means.append(np.sqrt(squared_mean))
        variances.append(variance)
    return OracleMoments(np.stack(means, axis=-1), np.stack(variances, axis=-1))


def departure_probability(task: RegressionMixture, moments: OracleMoments) -> np.ndarray:
    """Bound the probability delta_cl that the run ever departs from the chain of the true clusters, (...).

    sum_t sum_p Var_{p,t} / (B - ||Pi_t e_0||)_+^2 + T m (P - 1) pi_F(B), at the best of 60 radii B:
    Chebyshev for leaving the basin, a union over clients, wrong models and rounds within it.
    """
    mean, variance = moments.mean[:-1], moments.variance[:-1]
    rounds, clusters = len(mean), mean.shape[-1]
    best = np.full(mean.shape[1:-1], np.inf)
    for radius in np.linspace(0, largest_radius(task), 62)[1:-1]:
        inside = radius > mean
        distance = np.where(inside, radius - mean, 1.0)
        leaving = np.where(inside, variance / distance**2, np.inf).sum(axis=(0, -1))
        pairwise = worst_case_error(
            task.smoothness, task.strong_convexity, task.separation, float(task.noise), radius, task.samples
        )
        best = np.minimum(best, leaving + rounds * task.clients * (clusters - 1) * pairwise)
    return best


def theorem_c_parts(
    task: RegressionMixture, algorithm: CFLMGD, models: np.ndarray, rounds: int, failure: float = 0.05
) -> BoundParts:
    """Compute the bound for given first models.

    Parameters
    ----------
    task, algorithm
        Gaussian regression with fresh data; option I with full participation and division by m.
    models
        First models, (..., P, d).
    rounds
        T.
    failure
        delta, of the last step.

    Raises
    ------
    InvalidArgument
        If the theorem does not apply to such a run.
    """
    setting_of(task, algorithm, np.zeros(task.clusters), rounds)
    moments = oracle_moments(task, algorithm, models, rounds)
    departing = float(np.max(departure_probability(task, moments)))
    deviation = np.sqrt(moments.variance)
    clusters = task.clusters
    return BoundParts(
        mean=moments.mean,
        variance=moments.variance,
        all_rounds=moments.mean + math.sqrt(clusters * max(rounds, 1) / failure) * deviation,
        last_round=moments.mean[-1] + math.sqrt(clusters / failure) * deviation[-1],
        all_rounds_failure=failure + departing,
        last_round_failure=failure + departing,
        applicable=failure + departing < 1,
    )


def bound_trace(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound all rounds of a run by Theorem C.

    Parameters
    ----------
    task, trace
        The run.
    failure_probability
        delta; 0.05 if None. The probability of leaving the basin is added to it.

    Raises
    ------
    InvalidArgument
        If the theorem does not apply to such a run, or its probability is not positive.
    """
    algorithm = cfl_mgd_of(trace)
    if not isinstance(task, RegressionMixture):
        raise InvalidArgument("task", type(task).__name__, "must be a regression mixture", "use one")
    delta = {} if failure_probability is None else {"failure": failure_probability}
    parts = theorem_c_parts(task, algorithm, trace.models[0], trace.rounds, **delta)
    if not parts.applicable:
        raise InvalidArgument(
            "trace",
            f"failure probability {parts.all_rounds_failure:.3g}",
            "must have one below 1",
            "raise the clients or the samples, or start nearer",
        )
    return TraceBound(parts.all_rounds, parts.all_rounds_failure)
