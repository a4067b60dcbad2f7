"""Laws of rows: covariance and tail of one row's gradient, and the probability of choosing a wrong model."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.synthetic.misclassification import worst_case_error


@dataclass(frozen=True, kw_only=True)
class Rows(ABC):
    """Fresh rows of P clusters.

    Attributes
    ----------
    smoothness, strong_convexity
        L and mu of the clusters' expected losses.
    separation
        Smallest distance of two optima (Delta); infinite for one cluster.
    samples
        Rows of one client for one purpose in one round (n').
    """

    smoothness: float
    strong_convexity: float
    separation: float
    samples: int

    @property
    def largest_radius(self) -> float:
        """B* = Delta / (1 + sqrt(kappa)): below it, the cluster's model has the smaller expected loss."""
        return self.separation / (1 + math.sqrt(self.smoothness / self.strong_convexity))

    @abstractmethod
    def misclassification(self, radius: float) -> float:
        """Return pi: a client prefers a given wrong model, if all models are within radius < B*."""


@dataclass(frozen=True, kw_only=True)
class GaussianRows(Rows):
    """x ~ N(0, Sigma_p), eps ~ N(0, s^2): the row lemma, and the exact worst pairwise error (Lemma P).

    *Lemma P.* If all models are within B < B*, a client prefers a given wrong model with probability at most pi(B) of
    ``synthetic.misclassification.worst_case_error``. *Proof.* The difference of the two sums of squares is ((Q + A) X -
    (Q - A) Y) / 2 with independent chi^2_n' variables, A = tau_q^2 - tau_p^2, Q^2 = (tau_p^2 + tau_q^2)^2 - 4 c^2.
    Hence the error decreases in A / Q. Let a = ||e_p||_Sigma, b = ||chi_q - theta_p||_Sigma and c >= s^2 - a b. The
    least A / Q is (b^2 - a^2) / (2 s^2 + a^2 + b^2) if a b >= s^2, and otherwise (b - a) / sqrt(4 s^2 + (b - a)^2).
    Both decrease in a and increase in b, so that the worst pair is a = sqrt(L) B, b = sqrt(mu) (Delta - B).

    Attributes
    ----------
    noise
        Standard deviation s of eps.
    """

    noise: float

    def variance(self, error: Any) -> np.ndarray:
        """Return tau^2 = s^2 + L ||e||^2: a row's gradient has covariance at most tau^2 Sigma + a rank-one part."""
        return np.asarray(self.noise**2 + self.smoothness * np.square(error))

    def rank_one(self, error: Any) -> np.ndarray:
        """Return ||e||^2: the rank-one part is at most ||e||^2 Sigma u u' Sigma for some unit vector u."""
        return np.asarray(np.square(error))

    def tail(self, error: Any) -> np.ndarray:
        """Return z = 2 sqrt(L) tau: the cumulant at nu is at most nu' C nu gamma(z ||nu||) / 2, Lemma R."""
        return np.asarray(2 * math.sqrt(self.smoothness) * np.sqrt(self.variance(error)))

    def misclassification(self, radius: float) -> float:
        """Return pi: a client prefers a given wrong model, if all models are within radius < B* (Lemma P)."""
        if not math.isfinite(self.separation):
            return 0.0
        return worst_case_error(
            self.smoothness, self.strong_convexity, self.separation, self.noise, radius, self.samples
        )


@dataclass(frozen=True, kw_only=True)
class AdditiveGaussianRows(Rows):
    """The log-cosh mixture: a loss plus y . (chi - theta), y ~ N(0, nu^2 I / d).

    Attributes
    ----------
    diameter
        Largest distance of two optima (D).
    dimension
        d.
    noise
        nu.
    """

    diameter: float
    dimension: int
    noise: float

    def misclassification(self, radius: float) -> float:
        """Return pi: a client prefers a given wrong model, if all models are within radius < B*.

        The difference of the two losses is Gaussian. Its mean is at least (mu (Delta - B)^2 - L B^2) / 2 and its
        deviation at most nu (D + 2 B) / sqrt(d n').
        """
        from scipy.special import ndtr

        if not math.isfinite(self.separation):
            return 0.0
        gap = (self.strong_convexity * (self.separation - radius) ** 2 - self.smoothness * radius**2) / 2
        deviation = self.noise * (self.diameter + 2 * radius) / math.sqrt(self.dimension * self.samples)
        return float(ndtr(-gap / deviation)) if deviation > 0 else 0.0
