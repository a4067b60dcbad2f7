"""The two lemmas behind Theorems D and E: the cumulant of one row's gradient, and the norm of a sum of them."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from clusterproof.theory.bounds.logarithmic.norm_inequality import norm_bound
from clusterproof.theory.bounds.logarithmic.row_lemma import gamma, gradient_cumulant
from clusterproof.theory.statement import (
    Family,
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    reals,
    suppose,
)

PAPER = Family("cfl-mgd")
Spread = Annotated[float, reals(1e-4, 0.49999)]
Correlation = Annotated[float, reals(-1, 1)]
Argument = Annotated[float, reals(0, 0.999)]
Dimension = Annotated[int, choice(1, 2, 10, 100)]
Rows = Annotated[int, choice(1, 5, 1000)]
Failure = Annotated[float, choice(0.5, 0.1, 0.01)]


@PAPER.claim("row-lemma", label="Lemma R (ours)", kind="tight", part="Gaussian rows", budget=2000)
def row_lemma(spread: Spread, correlation: Correlation, *, scale: float = 2.0) -> Sides:
    """One Gaussian row's gradient is sub-Gaussian with its own covariance, up to a factor gamma.

    Hypotheses
        x ~ N(0, Sigma), y = x' theta + N(0, s^2), g = x (x' e - eps), tau^2 = s^2 + e' Sigma e,
        2 tau sqrt(nu' Sigma nu) < 1.

    Statement
        log E exp<nu, g - E g> <= (nu' C_e nu / 2) gamma(2 tau sqrt(nu' Sigma nu)), where C_e = tau^2 Sigma +
        Sigma e e' Sigma and gamma(z) = 2 (-log(1 - z) - z) / z^2.

    Proof
        <nu, g> is a product of two Gaussians; the left side is [psi(c + x) + psi(c - x)] / 2 with c = nu' Sigma e,
        x = tau sqrt(nu' Sigma nu), psi(z) = -log(1 - z) - z, and psi(z) / z^2 increases.

    Symbols
        e = chi - theta, s ``noise``.

    Source
        Ours. Tight: equal to second order at nu = 0, and the 2 in the argument cannot be a 1.

    Checked
        On spreads x up to 0.49999 and all correlations c / x, the left side in closed form; besides it gamma against
        its pole, and the same lemma for rows whose <nu, g - E g> is bounded by z: gamma(z / 2), by Bennett.
    """
    covariance, x = correlation * spread, spread
    return at_most(
        gradient_cumulant(covariance, x), gamma=(covariance**2 + x**2) * float(gamma(scale * x)) / 2
    )


@row_lemma.step("gamma", budget=500)
def pole(argument: Argument) -> Sides:
    """gamma(z) is at most 1 / (1 - z)."""
    return at_most(float(gamma(argument)), pole=1 / (1 - argument))


@row_lemma.step("bounded rows", budget=500)
def bounded_rows(argument: Argument) -> Sides:
    """Bennett's 2 (e^z - 1 - z) / z^2 is at most gamma(z / 2)."""
    suppose("z is not lost in rounding", argument > 1e-4)
    z = 2 * argument
    return at_most(2 * (math.expm1(z) - z) / z**2, gamma=float(gamma(z / 2)), rounding=1e-9)


@PAPER.claim("norm-inequality", label="Lemma N (ours)", kind="probability", part="sums of rows",
             budget=36, replicates=2000)  # fmt: skip
def norm_inequality(
    dimension: Dimension, rows: Rows, failure: Failure, replicates: Replicates, stream: Stream
) -> Sides:
    """The norm of a sum of heavy-tailed rows pays the root of the logarithm of the failure probability.

    Hypotheses
        S = sum_k xi_k in R^d with log E[exp<theta, xi_k> | past] <= (theta' V_k theta / 2) gamma(Gamma ||theta||)
        wherever Gamma ||theta|| < 1, sum_k V_k <= diag(v) + E, tr E <= eps_1.

    Statement
        P(||S|| > W(tr, op, Gamma, u, d; v, eps_1)) <= e^-u, W the least of three explicit forms N1, N2, N3; for
        Gamma = 0 at most sqrt(tr) + sqrt(2 op u').

    Proof
        A supermartingale for each direction; a Gaussian posterior cut to a ball (N1: Donsker-Varadhan) or a cut
        Gaussian prior that is even (N2: method of mixtures); Chernoff in one dimension (N3).

    Symbols
        tr, op trace and largest eigenvalue of the covariance, u = log(1 / failure).

    Source
        Ours, after Catoni and Giulini (2017) and Chugg, Wang and Ramdas (2023). Upper bound.

    Checked
        Sums of N real rows' gradients at their optimum, N from 1 to 1000 and d from 1 to 100: how often the norm is
        larger. Without Gamma one row in 100 dimensions breaks it in 22 % of the draws at e^-u = 0.01.
    """
    residuals = stream.chisquare(rows, replicates)
    norms = np.sqrt(residuals / rows * stream.chisquare(dimension, replicates))
    bound = norm_bound(
        dimension, 1.0, 2 / math.sqrt(rows), -math.log(failure), dimension, profile=np.ones(dimension)
    )
    return at_most(norms, norm=float(bound.radius), failure=failure)
