"""The cumulant of one row's gradient in Gaussian regression, and the function gamma that bounds it.

A row has x ~ N(0, Sigma), y = x' theta + eps, eps ~ N(0, s^2); its gradient at the error e = chi - theta is
g = x (x' e - eps). With tau^2 = s^2 + e' Sigma e its covariance is C_e = tau^2 Sigma + Sigma e e' Sigma.

**Lemma R** (``cfl-mgd/row-lemma``). log E exp<nu, g - E g> <= (nu' C_e nu / 2) gamma(2 tau sqrt(nu' Sigma nu)) wherever
the argument of gamma is below 1.

*Proof.* <nu, g> = a w with a = nu' x and w = x' e - eps jointly Gaussian, of variances q^2 and tau^2 and covariance c =
nu' Sigma e, |c| <= x := q tau. E e^(aw) = ((1 - c)^2 - x^2)^(-1/2), finite iff 1 - c > x. Hence the left side is [psi(c
+ x) + psi(c - x)] / 2 with psi(z) = -log(1 - z) - z. psi(z) / z^2 increases on (-inf, 1) and c +- x <= 2x. Hence the
left side is at most [(c + x)^2 + (c - x)^2] psi(2x) / (2 (2x)^2) = (c^2 + x^2) gamma(2x) / 2, and c^2 + x^2 = nu' C_e
nu.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SERIES_BELOW = 1e-3
"""Argument below which gamma is summed as a series, because the closed form loses digits."""


def gamma(argument: Any) -> np.ndarray:
    """Return gamma(z) = 2 (-log(1 - z) - z) / z^2 = 2 sum_i z^i / (i + 2), the factor of one row's tail.

    gamma(0) = 1, it increases, and gamma(z) <= 1 / (1 - z).

    Parameters
    ----------
    argument
        z >= 0, any shape.

    Returns
    -------
    numpy.ndarray
        gamma(z); infinite for z >= 1 and for NaN.
    """
    z = np.asarray(argument, dtype=float)
    inside, in_series = z < 1, z < SERIES_BELOW
    safe = np.where(inside & ~in_series, z, 0.5)
    closed = 2 * (-np.log1p(-safe) - safe) / safe**2
    if in_series.any():
        small = np.where(in_series, z, 0.0)
        series = 1 + small * (2 / 3 + small * (1 / 2 + small * (2 / 5 + small * (1 / 3 + small * (2 / 7)))))
        closed = np.where(in_series, series, closed)
    return np.where(inside, closed, np.inf)


def gradient_cumulant(covariance: float, spread: float) -> float:
    """Return log E exp<nu, g - E g> of one Gaussian row, exactly.

    Parameters
    ----------
    covariance
        c = nu' Sigma e, in [-spread, spread].
    spread
        x = tau sqrt(nu' Sigma nu) >= 0.

    Returns
    -------
    float
        [psi(c + x) + psi(c - x)] / 2; infinite if c + x >= 1.
    """
    ends = np.array([covariance + spread, covariance - spread])
    if ends[0] >= 1:
        return float("inf")
    return float((-np.log1p(-ends) - ends).sum() / 2)
