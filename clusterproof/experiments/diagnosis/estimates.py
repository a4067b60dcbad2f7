"""Means and variances over sampled clients, with standard errors and confidence bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Estimate:
    """Measured numbers, of any shape.

    Attributes
    ----------
    value
        The numbers.
    error
        Standard errors, of the same shape; 0 for values over the whole population.
    count
        Independent values behind each; 0 for values over the whole population.
    """

    value: np.ndarray
    error: np.ndarray
    count: int

    def upper(self, failure: float) -> np.ndarray:
        """Upper bound that is too low with probability ``failure`` (Student's t)."""
        return np.asarray(self.value + self._margin(failure))

    def lower(self, failure: float) -> np.ndarray:
        """Lower bound that is too high with probability ``failure`` (Student's t)."""
        return np.asarray(self.value - self._margin(failure))

    def _margin(self, failure: float) -> np.ndarray:
        from scipy.special import stdtrit

        if self.count == 0:
            return np.zeros_like(self.error)
        if self.count == 1:
            return np.full_like(self.error, np.inf)
        return np.asarray(-stdtrit(self.count - 1, failure) * self.error)


def exact(value: np.ndarray | float) -> Estimate:
    """Make an estimate over the whole population, without error."""
    known = np.asarray(value, dtype=float)
    return Estimate(known, np.zeros_like(known), 0)


def mean_over(values: np.ndarray, population: int) -> Estimate:
    """Return the mean of values (n, ...) of n clients drawn without replacement from ``population`` clients."""
    count = len(values)
    if count == population:
        return exact(values.mean(axis=0))
    if count == 1:
        return Estimate(values[0], np.full_like(values[0], np.inf), 1)
    remaining = 1 - count / population
    return Estimate(values.mean(axis=0), values.std(axis=0, ddof=1) * np.sqrt(remaining / count), count)


def variance_over(values: np.ndarray, *, complete: bool) -> Estimate:
    """Return the variance of values (n, ...): the whole population if ``complete``, else independent draws.

    The standard error is that of a mean of squared deviations, sqrt((m_4 - variance^2) / n).
    """
    deviations = (values - values.mean(axis=0)) ** 2
    if complete:
        return exact(deviations.mean(axis=0))
    count = len(values)
    variance = deviations.sum(axis=0) / (count - 1)
    fourth = (deviations**2).mean(axis=0)
    return Estimate(variance, np.sqrt(np.maximum(fourth - variance**2, 0) / count), count)
