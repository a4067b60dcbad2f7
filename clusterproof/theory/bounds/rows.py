"""Distributions of samples: covariance, cumulant and tail of a gradient, and probability of a wrong choice.

A sample has x ~ N(0, Sigma), y = x' theta + eps, eps ~ N(0, s^2). Its gradient at the error e = chi - theta is g = x
(x' e - eps). With tau^2 = s^2 + e' Sigma e, the covariance of g is C_e = tau^2 Sigma + Sigma e e' Sigma.

**Lemma R** (``cfl-mgd/row-lemma``). log E exp<nu, g - E g> <= (nu' C_e nu / 2) gamma(2 tau sqrt(nu' Sigma nu)) wherever
the argument of gamma is below 1.

*Proof.* <nu, g> = a w with a = nu' x and w = x' e - eps jointly Gaussian, of variances q^2 and tau^2 and covariance c =
nu' Sigma e, |c| <= x := q tau. E e^(aw) = ((1 - c)^2 - x^2)^(-1/2), finite iff 1 - c > x. Hence the left side is [psi(c
+ x) + psi(c - x)] / 2 with psi(z) = -log(1 - z) - z. psi(z) / z^2 increases on (-inf, 1) and c +- x <= 2x. Hence the
left side is at most [(c + x)^2 + (c - x)^2] psi(2x) / (2 (2x)^2) = (c^2 + x^2) gamma(2x) / 2, and c^2 + x^2 = nu' C_e
nu.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.synthetic.misclassification import worst_case_error


@dataclass(frozen=True, kw_only=True)
class Rows(ABC):
    """Fresh samples of P clusters.

    Attributes
    ----------
    smoothness, strong_convexity
        L and mu of the clusters' expected losses.
    separation
        Smallest distance between two optima (Delta), or infinity for one cluster.
    samples
        Number of samples in a client's batch (n').
    """

    smoothness: float
    strong_convexity: float
    separation: float
    samples: int

    @property
    def largest_radius(self) -> float:
        """B* = Delta / (1 + sqrt(kappa)).

        If all models are within a smaller radius, a client's own model has the smallest expected loss of all models.
        """
        return self.separation / (1 + math.sqrt(self.smoothness / self.strong_convexity))

    @abstractmethod
    def misclassification(self, radius: float) -> float:
        """Bound the probability pi of a given wrong choice if models are within ``radius`` < B* of the optima."""


@dataclass(frozen=True, kw_only=True)
class GaussianRows(Rows):
    """Samples of Gaussian regression, x ~ N(0, Sigma_p), eps ~ N(0, s^2), with Lemma R and Lemma P (exact error).

    *Lemma P.* If all models are within B < B*, a client prefers a given wrong model with probability at most pi(B) of
    ``synthetic.misclassification.worst_case_error``. *Proof.* The difference of the two sums of squares is ((Q + A) X
    - (Q - A) Y) / 2 with independent chi^2_n' variables, A = tau_q^2 - tau_p^2, Q^2 = (tau_p^2 + tau_q^2)^2 - 4 c^2.
    Hence the error decreases in A / Q. Let a = ||e_p||_Sigma, b = ||chi_q - theta_p||_Sigma and c >= s^2 - a b. The
    smallest A / Q is (b^2 - a^2) / (2 s^2 + a^2 + b^2) if a b >= s^2, and otherwise (b - a) / sqrt(4 s^2 + (b -
    a)^2). Both values decrease in a and increase in b, so the worst case is a = sqrt(L) B, b = sqrt(mu) (Delta - B).

    Attributes
    ----------
    noise
        Standard deviation s of eps.
    """

    noise: float

    def variance(self, error: Any) -> np.ndarray:
        """Return tau^2 = s^2 + L ||e||^2.

        The covariance of one sample's gradient is at most tau^2 Sigma plus a matrix of rank one.
        """
        return np.asarray(self.noise**2 + self.smoothness * np.square(error))

    def rank_one(self, error: Any) -> np.ndarray:
        """Return ||e||^2. The matrix of rank one is at most ||e||^2 Sigma u u' Sigma for some unit vector u."""
        return np.asarray(np.square(error))

    def tail(self, error: Any) -> np.ndarray:
        """Return z = 2 sqrt(L) tau. By Lemma R, the cumulant at nu is at most nu' C nu gamma(z ||nu||) / 2."""
        return np.asarray(2 * math.sqrt(self.smoothness) * np.sqrt(self.variance(error)))

    def misclassification(self, radius: float) -> float:
        """Bound the probability pi of a wrong choice if models are within ``radius`` < B* of the optima (Lemma P)."""
        if not math.isfinite(self.separation):
            return 0.0
        return worst_case_error(
            self.smoothness, self.strong_convexity, self.separation, self.noise, radius, self.samples
        )


@dataclass(frozen=True, kw_only=True)
class AdditiveGaussianRows(Rows):
    """Samples of the log-cosh mixture, whose loss has the random term y . (chi - theta) with y ~ N(0, nu^2 I / d).

    Attributes
    ----------
    diameter
        Largest distance between two optima (D).
    dimension
        Dimension d.
    noise
        Size nu of the noise.
    """

    diameter: float
    dimension: int
    noise: float

    def misclassification(self, radius: float) -> float:
        """Bound the probability pi of a given wrong choice if models are within ``radius`` < B* of the optima.

        The difference of the two losses is Gaussian. Its mean is at least (mu (Delta - B)^2 - L B^2) / 2, and its
        standard deviation is at most nu (D + 2 B) / sqrt(d n').
        """
        from scipy.special import ndtr

        if not math.isfinite(self.separation):
            return 0.0
        gap = (self.strong_convexity * (self.separation - radius) ** 2 - self.smoothness * radius**2) / 2
        deviation = self.noise * (self.diameter + 2 * radius) / math.sqrt(self.dimension * self.samples)
        return float(ndtr(-gap / deviation)) if deviation > 0 else 0.0


SERIES_BELOW = 1e-3
"""For arguments below this value, gamma is computed as a series, because the closed form loses digits."""


def gamma(argument: Any) -> np.ndarray:
    """Return gamma(z) = 2 (-log(1 - z) - z) / z^2 = 2 sum_i z^i / (i + 2), the factor in a gradient's tail.

    gamma(0) = 1, gamma increases, and gamma(z) <= 1 / (1 - z).

    Parameters
    ----------
    argument
        Argument z >= 0, any shape.

    Returns
    -------
    numpy.ndarray
        gamma(z), which is infinite for z >= 1 and for NaN.
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
    """Return the exact value of log E exp<nu, g - E g> for one Gaussian sample.

    Parameters
    ----------
    covariance
        c = nu' Sigma e, in [-spread, spread].
    spread
        x = tau sqrt(nu' Sigma nu) >= 0.

    Returns
    -------
    float
        [psi(c + x) + psi(c - x)] / 2, which is infinite if c + x >= 1.
    """
    ends = np.array([covariance + spread, covariance - spread])
    if ends[0] >= 1:
        return float("inf")
    return float((-np.log1p(-ends) - ends).sum() / 2)
