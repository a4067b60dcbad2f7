"""The factor by which the error of a run falls in a round, measured before its noise floor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ABOVE_FLOOR = 4
"""Rounds count while the root mean square error is at least so many times the floor."""

FEWEST_ROUNDS = 5
"""A factor is measured over at least so many rounds."""

CLOSE = 0.1
"""The floor is reached where two successive windows differ by at most this share."""


@dataclass(frozen=True)
class MeasuredFactor:
    """The factor a round of one cluster, over R runs from one start.

    Attributes
    ----------
    rounds
        tau: rounds 0 to tau count; at least 5, or ``value`` is None.
    value
        ((M_tau - N^2) / M_0)^(1 / 2 tau), M_t the mean of ||e_t||^2 and N^2 what noise adds to M_tau: F^2, or the
        variance of e_tau over the runs where that is larger; None without a linear phase.
    interval
        With 95 % coverage; None for one run, or where ``value`` is None.
    floor
        F, the root mean square error over the last rounds.
    floor_reached
        Whether it is within 10 % of that over as many rounds before.
    falls
        Whether the floor is below the start.
    """

    rounds: int
    value: float | None
    interval: tuple[float, float] | None
    floor: float
    floor_reached: bool
    falls: bool


def last_rounds(rounds: int) -> int:
    """Return the number of last rounds over which the floor is a mean, max(2, T // 8)."""
    return max(2, rounds // 8)


def measured_factor(errors: np.ndarray, variances: np.ndarray | None = None) -> MeasuredFactor:
    """Measure the factor a round of one cluster.

    Constant noise adds at most F^2 to M_tau, noise that grows with the error its variance then: the interval's low end
    subtracts the larger of both, its high end neither.

    Parameters
    ----------
    errors
        ||e_t|| of R runs from one start, (rounds + 1, R).
    variances
        Variance of e_t over the runs, summed over coordinates, (rounds + 1,); None where it is at most F^2.
    """
    squares = np.square(errors)
    means, window = squares.mean(axis=1), last_rounds(len(errors) - 1)
    floor_square = float(means[-window:].mean())
    before = means[-2 * window : -window]
    reached = len(before) == window and abs(np.sqrt(floor_square / before.mean()) - 1) <= CLOSE
    below = np.flatnonzero(~(means >= ABOVE_FLOOR**2 * floor_square))
    tau = int(below[0]) - 1 if len(below) else len(errors) - 1
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
    from scipy.special import stdtrit

    runs = len(start)
    if runs < 2:
        return None
    half = float(stdtrit(runs - 1, 0.975) * np.std(end - start, ddof=1) / np.sqrt(runs))
    low = max(means[tau] * np.exp(-half) - noise, 0.0) / means[0]
    high = means[tau] * np.exp(half) / means[0]
    return float(low ** (1 / (2 * tau))), float(high ** (1 / (2 * tau)))
