"""Exact probability that a client prefers a wrong model, for Gaussian linear regression.

The residuals of two models on one sample are Gaussian with covariance ((a, c), (c, b)). After a rotation to
independence, the comparison of two mean squares is an F variable with n and n degrees of freedom. Source: audit of
CFL-MGD, Lemma 1. The tests check this law by inverting characteristic functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clusterproof.common import InvalidArgument


def pairwise_error(own: Any, other: Any, cross: Any, samples: int) -> np.ndarray:
    """Return the probability that the true model's loss is at least the other model's on n' fresh samples.

    Here n' is ``samples``, ``own`` and ``other`` are the residual variances of the two models, and ``cross`` is their
    covariance. The probability is P(F >= (Q + A) / (Q - A)) with A = other - own and Q^2 = (own + other)^2 - 4 cross^2.
    The probability is 1 if the two losses are equal with certainty.
    """
    from scipy.special import betainc

    own, other, cross = np.broadcast_arrays(own, other, cross)
    gap = np.asarray(other - own, dtype=float)
    determinant = np.maximum(own * other - cross * cross, 0.0)
    width = np.sqrt(gap * gap + 4 * determinant)
    equal = width == 0
    width = np.where(equal, 1.0, width)
    # 1 / (1 + threshold) = (Q - A) / 2Q, written without cancellation on either side of 1
    fraction = np.where(
        gap > 0, 2 * determinant / (width * np.where(gap > 0, width + gap, 1.0)), (width - gap) / (2 * width)
    )
    tail = betainc(samples / 2, samples / 2, np.clip(fraction, 0.0, 1.0))
    return np.where(equal, 1.0, tail)


def worst_case_threshold(
    smoothness: float, strong_convexity: float, separation: float, noise: float, radius: float
) -> float:
    """Return the threshold rho of the F variable at the worst pair of models within ``radius``.

    With a = sqrt(L) B and b = sqrt(mu) (Delta - B), rho is (s^2 + b^2) / (s^2 + a^2) if s^2 <= a b. Otherwise rho is
    (1 + u) / (1 - u) with u = (b - a) / r, r^2 = (b - a)^2 + 4 s^2. For exact models without noise, rho is infinite,
    because then no client errs.

    Raises
    ------
    InvalidArgument
        If the radius is not in [0, Delta / (1 + sqrt(kappa))), where the worst case is a tie.
    """
    noise = float(noise)  # Python's floats overflow to infinity without a warning
    near = float(math.sqrt(smoothness) * radius)
    far = float(math.sqrt(strong_convexity) * (separation - radius))
    if not 0 <= near < far:
        largest = separation / (1 + math.sqrt(smoothness / strong_convexity))
        raise InvalidArgument(
            "radius", radius, f"must be in [0, {largest:g})", "a larger basin contains ties between clusters"
        )
    own = noise**2 + near**2
    if own == 0:
        return math.inf
    if noise**2 <= near * far:
        return (noise**2 + far**2) / own
    # (1 + u) / (1 - u) = ((r + b - a) / 2 s)^2, without cancellation if s is small
    gap = far - near
    root = (math.hypot(gap, 2 * noise) + gap) / (2 * noise)
    return root * root


def worst_case_error(
    smoothness: float, strong_convexity: float, separation: float, noise: float, radius: float, samples: int
) -> float:
    """Return the largest pairwise error over all models within ``radius`` B of their optima (pi_F).

    The features' covariance has eigenvalues from mu to L, and Delta is the smallest distance between two true
    parameters. s is the standard deviation of the noise, and n' the number of samples in the batch.

    Raises
    ------
    InvalidArgument
        If the radius is not below Delta / (1 + sqrt(kappa)), where the worst case is a tie.
    """
    from scipy.special import betainc

    threshold = worst_case_threshold(smoothness, strong_convexity, separation, noise, radius)
    return float(betainc(samples / 2, samples / 2, 1 / (1 + threshold)))
