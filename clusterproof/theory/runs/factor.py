"""Measure the factor by which the error decreases per round, before it reaches the level caused by noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.hypotheses import all_met
from clusterproof.theory.runs.gaussian_regression import Recursion, recursion_needs, recursion_of
from clusterproof.theory.runs.run import Run

ABOVE_FLOOR = 4
"""Smallest ratio of the root mean square error to the noise level in the rounds over which a factor is measured."""

FEWEST_ROUNDS = 5
"""Smallest number of rounds over which a factor is measured."""

CLOSE = 0.1
"""Largest relative difference between the errors in two successive windows at the noise level."""


@dataclass(frozen=True)
class MeasuredFactor:
    """The factor per round of one cluster, from R runs with the same initial models.

    Attributes
    ----------
    rounds
        The last round tau. The factor is measured over the rounds 0, ..., tau. For tau below 5, ``value`` is None.
    value
        ((M_tau - N^2) / M_0)^(1 / 2 tau), where M_t is the mean of ||e_t||^2, and N^2 estimates the contribution of
        noise to M_tau. It is the larger of F^2 and the variance of e_tau over the runs. The value is None if there is
        no linear phase.
    interval
        Confidence interval with 95 % coverage, or None for one run, or if ``value`` is None.
    floor
        The noise level F, the root mean square error over the last rounds.
    floor_reached
        Whether F is within 10 % of the root mean square error over equally many earlier rounds.
    falls
        Whether F is below the initial error.
    """

    rounds: int
    value: float | None
    interval: tuple[float, float] | None
    floor: float
    floor_reached: bool
    falls: bool


def rounds_above(values: np.ndarray, least: float) -> int:
    """Return the last round before the first value below ``least``, or the last round if there is none."""
    below = np.flatnonzero(~(values >= least))
    return int(below[0]) - 1 if len(below) else len(values) - 1


def last_rounds(rounds: int) -> int:
    """Return the number of last rounds over which the noise level is averaged, max(2, T // 8)."""
    return max(2, rounds // 8)


def measured_factor(errors: np.ndarray, variances: np.ndarray | None = None) -> MeasuredFactor:
    """Measure the factor per round of one cluster.

    Constant noise adds at most F^2 to M_tau. Noise that grows with the error adds the variance of e_tau. For the
    lower end of the interval, the function subtracts the larger of both numbers. For the upper end, it subtracts
    nothing.

    Parameters
    ----------
    errors
        Errors ||e_t|| of R runs with the same initial models, (rounds + 1, R).
    variances
        Variance of e_t over the runs, summed over coordinates, (rounds + 1,), or None if it is at most F^2.
    """
    squares = np.square(errors)
    means, window = squares.mean(axis=1), last_rounds(len(errors) - 1)
    floor_square = float(means[-window:].mean())
    before = means[-2 * window : -window]
    reached = len(before) == window and abs(np.sqrt(floor_square / before.mean()) - 1) <= CLOSE
    tau = rounds_above(means, ABOVE_FLOOR**2 * floor_square)
    falls = bool(floor_square < means[0])
    value, interval = None, None
    if falls and tau >= FEWEST_ROUNDS:
        noise = floor_square if variances is None else max(floor_square, float(variances[tau]))
        value = float((max(means[tau] - noise, 0.0) / means[0]) ** (1 / (2 * tau)))
        interval = _interval(squares[0] / means[0], squares[tau] / means[tau], means, noise, tau)
    return MeasuredFactor(tau, value, interval, float(np.sqrt(floor_square)), bool(reached), falls)


def _interval(
    start: np.ndarray, end: np.ndarray, means: np.ndarray, noise: float, tau: int
) -> tuple[float, float] | None:
    runs = len(start)
    if runs < 2:
        return None
    from scipy.special import stdtrit  # this import takes 0.3 s, and a single run does not need it

    half = float(stdtrit(runs - 1, 0.975) * np.std(end - start, ddof=1) / np.sqrt(runs))
    low = max(means[tau] * np.exp(-half) - noise, 0.0) / means[0]
    high = means[tau] * np.exp(half) / means[0]
    return float(low ** (1 / (2 * tau))), float(high ** (1 / (2 * tau)))


@dataclass(frozen=True)
class SlowestFactor:
    """The factor of the slowest cluster, and quantities computed for the same rounds.

    Attributes
    ----------
    cluster
        Index of the cluster, counted from 0.
    measured
        Measured factor of the cluster.
    exact
        The factor of the same rounds without noise, or None if it is unknown.
    floor
        The computed noise level, or None if it is unknown, or if the error may leave this level.
    of_all
        Whether every cluster has a factor.
    limit
        The exact factor without noise after many rounds, or None if it is unknown.
    without_noise
        Error of every cluster without noise, (rounds + 1, P), or None if it is unknown.
    """

    cluster: int
    measured: MeasuredFactor
    exact: float | None
    floor: float | None
    of_all: bool
    limit: float | None
    without_noise: np.ndarray | None


def slowest_factor(run: Run) -> SlowestFactor | None:
    """Measure the factor of every cluster, and return the largest, or None if initial models differ.

    Clusters whose error does not decrease count as slowest, followed by clusters without a linear phase. Clusters
    whose error is smaller than the noise count as fastest.
    """
    task, errors, models = run.task, run.errors, run.models
    if not run.same_start:
        return None
    variances = models.var(axis=1, ddof=min(1, run.runs - 1)).sum(axis=-1)
    factors = [
        measured_factor(errors[:, :, cluster], variances[:, cluster]) for cluster in range(task.clusters)
    ]
    recursion = _followed(run)
    lengths = None if recursion is None else np.linalg.norm(recursion.path(run.rounds), axis=-1)
    rests = [False] * task.clusters
    if lengths is not None and isinstance(task, RegressionMixture) and task.data == "fresh":
        rests = [bool(part <= one.floor / 2) for part, one in zip(lengths[-1], factors, strict=True)]

    def speed(cluster: int) -> tuple[bool, bool, float]:
        one = factors[cluster]
        value = -1.0 if one.value is None else one.value
        return not one.falls, one.value is None and not rests[cluster], value

    slowest = max(range(task.clusters), key=speed)
    measured, exact, floor = factors[slowest], None, None
    if lengths is not None and measured.value is not None:
        ratio = lengths[measured.rounds, slowest] / lengths[0, slowest]
        exact = float(ratio ** (1 / measured.rounds))
    if recursion is not None and rests[slowest] and measured.falls and measured.floor_reached:
        floor = _computed_floor(recursion, slowest, run.rounds)
    of_all = all(one.value is not None for one in factors)
    limit = None if recursion is None else recursion.limit(slowest)
    return SlowestFactor(slowest, measured, exact, floor, of_all, limit, lengths)


def _followed(run: Run) -> Recursion | None:
    """Return the recursion of the errors, or None if it is unknown, or if a client was misassigned."""
    if not all_met(recursion_needs(run.task, run.trace)) or (run.votes != run.trace.labels).any():
        return None
    assert isinstance(run.task, RegressionMixture)
    return recursion_of(run.task, run.trace)


def _computed_floor(recursion: Recursion, cluster: int, rounds: int) -> float:
    """Return the exact root mean square error over the last rounds."""
    path = np.square(recursion.path(rounds)[1:, cluster]).sum(axis=-1)
    variance = np.array([np.trace(each[cluster]) for each, _ in recursion.covariances(rounds)])
    return float(np.sqrt((path + variance)[-last_rounds(rounds) :].mean()))
