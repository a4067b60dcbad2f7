"""Exact probability that a client prefers a wrong model, for Gaussian linear regression.

The residuals of two models on one sample are Gaussian with covariance ((a, c), (c, b)). A rotation makes the residuals
independent. The ratio of the two mean squares is then an F variable with n and n degrees of freedom. Source: audit of
CFL-MGD, Lemma 1. The tests check this distribution with characteristic functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clusterproof.common import InvalidArgument


def pairwise_error(own: Any, other: Any, cross: Any, samples: int) -> np.ndarray:
    """Return the probability that, on n' fresh samples, the true model's loss is not smaller than the other model's.

    Here n' is ``samples``, ``own`` and ``other`` are the variances of the two models' residuals, and ``cross`` is the
    covariance of the residuals. The probability is P(F >= (Q + A) / (Q - A)) with A = other - own and Q^2 = (own +
    other)^2 - 4 cross^2. If the two losses are always equal, the probability is 1.
    """
    from scipy.special import betainc

    own, other, cross = np.broadcast_arrays(own, other, cross)
    gap = np.asarray(other - own, dtype=float)
    determinant = np.maximum(own * other - cross * cross, 0.0)
    width = np.sqrt(gap * gap + 4 * determinant)
    equal = width == 0
    width = np.where(equal, 1.0, width)
    # 1 / (1 + threshold) = (Q - A) / 2Q, in a form without cancellation for thresholds below and above 1
    fraction = np.where(
        gap > 0, 2 * determinant / (width * np.where(gap > 0, width + gap, 1.0)), (width - gap) / (2 * width)
    )
    tail = betainc(samples / 2, samples / 2, np.clip(fraction, 0.0, 1.0))
    return np.where(equal, 1.0, tail)


def worst_case_threshold(
    smoothness: float, strong_convexity: float, separation: float, noise: float, radius: float
) -> float:
    """Return the threshold rho of the F variable for the worst pair of models within ``radius`` B of their optima.

    With a = sqrt(L) B and b = sqrt(mu) (Delta - B), rho is (s^2 + b^2) / (s^2 + a^2) if s^2 <= a b. Otherwise rho is (1
    + u) / (1 - u) with u = (b - a) / r, r^2 = (b - a)^2 + 4 s^2. For exact models without noise, rho is infinite,
    because no client chooses a wrong model.

    Raises
    ------
    InvalidArgument
        If the radius is not in [0, Delta / (1 + sqrt(kappa))). At the upper end of this range, the losses of two models
        can be equal.
    """
    noise = float(noise)  # Python's floats overflow to infinity without a warning
    near = float(math.sqrt(smoothness) * radius)
    far = float(math.sqrt(strong_convexity) * (separation - radius))
    if not 0 <= near < far:
        largest = separation / (1 + math.sqrt(smoothness / strong_convexity))
        raise InvalidArgument(
            "radius",
            radius,
            f"must be in [0, {largest:g})",
            "give a smaller radius, so that losses cannot be equal",
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
    """Return pi_F, the largest pairwise error over all models within ``radius`` B of their optima.

    The features' covariance has eigenvalues from mu to L, and Delta is the smallest distance between two true
    parameters. The noise has the standard deviation s, and a batch has n' samples.

    Raises
    ------
    InvalidArgument
        If the radius is at least Delta / (1 + sqrt(kappa)), where the losses of two models can be equal.
    """
    from scipy.special import betainc

    threshold = worst_case_threshold(smoothness, strong_convexity, separation, noise, radius)
    return float(betainc(samples / 2, samples / 2, 1 / (1 + threshold)))
