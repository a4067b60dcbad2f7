"""A measured number with its standard error, and what that bounds."""

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
        Standard errors, of the same shape; 0 where nothing was left out.
    count
        Independent values behind each; 0 where nothing was left out.
    """

    value: np.ndarray
    error: np.ndarray
    count: int

    def upper(self, failure: float) -> np.ndarray:
        """Bound from above that is too low with probability ``failure`` (Student's t)."""
        return np.asarray(self.value + self._margin(failure))

    def lower(self, failure: float) -> np.ndarray:
        """Bound from below that is too high with probability ``failure`` (Student's t)."""
        return np.asarray(self.value - self._margin(failure))

    def _margin(self, failure: float) -> np.ndarray:
        from scipy.special import stdtrit

        if self.count == 0:
            return np.zeros_like(self.error)
        if self.count == 1:
            return np.full_like(self.error, np.inf)
        return np.asarray(-stdtrit(self.count - 1, failure) * self.error)


def exact(value: np.ndarray | float) -> Estimate:
    """Make an estimate that nothing was left out of."""
    known = np.asarray(value, dtype=float)
    return Estimate(known, np.zeros_like(known), 0)


def mean_over(values: np.ndarray, population: int) -> Estimate:
    """Mean of values (n, ...), one a client, of ``population`` clients of which n were drawn without return."""
    count = len(values)
    if count == population:
        return exact(values.mean(axis=0))
    if count == 1:
        return Estimate(values[0], np.full_like(values[0], np.inf), 1)
    left_out = 1 - count / population
    return Estimate(values.mean(axis=0), values.std(axis=0, ddof=1) * np.sqrt(left_out / count), count)


def variance_over(values: np.ndarray, *, complete: bool) -> Estimate:
    """Variance of values (n, ...): independent draws, or all that there are.

    The standard error is that of a mean of squared deviations, sqrt((m_4 - variance^2) / n).
    """
    deviations = (values - values.mean(axis=0)) ** 2
    if complete:
        return exact(deviations.mean(axis=0))
    count = len(values)
    variance = deviations.sum(axis=0) / (count - 1)
    fourth = (deviations**2).mean(axis=0)
    return Estimate(variance, np.sqrt(np.maximum(fourth - variance**2, 0) / count), count)
