"""The rate 1 - l mu / 8L after many rounds: where it is slower than claimed, exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.theory.checker import Family, Sides, at_most, choice, equal, rationals, suppose
from clusterproof.theory.exact.heavy_ball import spectral_rate
from clusterproof.theory.exact.two_clusters import run_two_clusters

PAPER = Family("cfl-mgd")


def claimed_rate(proportion: float, condition_number: float) -> float:
    """1 - l mu / 8L."""
    return 1 - proportion / (8 * condition_number)


def rate_of_a_run(momentum: float, rounds: int) -> float:
    """Rate of a run of two equal scalar clusters of 17 clients.

    With a = l_p and beta, W_t = e_t^2 - (1 + beta - a) e_t e_(t-1) + beta e_(t-1)^2 satisfies
    W_(t+1) = beta W_t and is positive definite where underdamped: its growth is the exact rate,
    without a transient.
    """
    algorithm = CFLMGD(step_size=1.0, momentum=momentum)
    errors = run_two_clusters(34, 17, algorithm, 0.5, rounds).models[:, 0, 0] - 1.0
    energy = errors[1:] ** 2 - (0.5 + momentum) * errors[1:] * errors[:-1] + momentum * errors[:-1] ** 2
    return float((energy[-1] / energy[0]) ** (0.5 / (len(energy) - 1)))


@PAPER.claim("asymptotic-rate", label="Theorem 1, (A39)", kind="upper", repaired_by="cfl-mgd/lemma-h")
def asymptotic_rate(momentum: Annotated[float, choice(0.9)], rounds: Annotated[int, choice(80)]) -> Sides:
    """After many rounds the error falls at least as fast as (1 - l mu / 8L)^T, for every momentum.

    Hypotheses
        As Lemma 2 without noise; eta = 1/L; the paper's momentum 0.9. The printed probabilities of Lemma 2 and of
        Theorem 1 as meant, 1 - ... - 4 exp(-clm), are positive.

    Statement
        lim sup ||chi_p^T - chi*_p||^(1/T) <= 1 - l mu / 8L.

    Symbols
        l ``proportions``, mu / L = 1 / ``condition_number``, beta ``momentum``.

    Source
        Zhao et al. (2023), Theorem 1 through (A39) with rho_0 = 0. Upper bound.

    Checked
        By a run of the algorithm at kappa = 1, l = 1/2, beta = 0.9, 34 clients, 80 rounds: the rate of the
        conserved quadratic form, which has no transient, against 1 - l mu / 8L.
    """
    measured, claimed = rate_of_a_run(momentum, rounds), claimed_rate(0.5, 1.0)
    words = (
        f"m = 34, kappa = 1, l = 1/2, beta = {momentum:g}: the run's rate is {measured:.5f} (sqrt(beta) = "
        f"{math.sqrt(momentum):.5f}), the claimed {claimed:.5f}; slower than claimed"
    )
    return at_most(measured, claimed=claimed, words=words)


MOMENTA = (*(Fraction(k, 20) for k in range(20)), Fraction(99, 100), Fraction(999, 1000))


@PAPER.claim("asymptotic-region", label="ours, on (A39)", kind="identity")
def asymptotic_region(
    proportion: Annotated[Fraction, rationals(Fraction(1, 100), Fraction(99, 100), 6)],
    condition_number: Annotated[int, choice(1, 2, 10, 100, 1000)],
    momentum: Annotated[Fraction, choice(*MOMENTA)],
) -> dict[str, Sides]:
    """The true rate is slower than 1 - l mu / 8L exactly where sqrt(beta) > 1 - l mu / 8L.

    Hypotheses
        Quadratic expected losses with mu and L among the eigenvalues of the smallest cluster,
        no noise, eta = 1/L.

    Statement
        max over the spectrum of the rate r(eta l lambda) exceeds 1 - l mu / 8L iff
        sqrt(beta) > 1 - l mu / 8L.

    Proof
        r(a) = sqrt(beta) where underdamped; where overdamped, r(a) <= 1 - a, and
        1 - l mu / L < 1 - l mu / 8L.

    Symbols
        l ``proportions``, beta ``momentum``.

    Source
        Ours. Identity of two regions.

    Checked
        On a grid of (l, kappa, beta): spectral radius of the companion matrices of the spectrum's
        ends and of 20 eigenvalues between, by numpy's eigenvalue solver, against the inequality.
    """
    curvatures = float(proportion) * np.geomspace(1 / condition_number, 1, 22)
    companions = np.zeros((22, 2, 2))
    companions[:, 0, 0] = 1 + float(momentum) - curvatures
    companions[:, 0, 1] = -float(momentum)
    companions[:, 1, 0] = 1
    radius = float(np.abs(np.linalg.eigvals(companions)).max())
    claimed, root = claimed_rate(float(proportion), condition_number), math.sqrt(momentum)
    suppose("sqrt(beta) is not 1 - l mu / 8L to six digits", abs(root - claimed) >= 1e-6)
    return {
        "region": equal((int(radius > claimed), int(root > claimed))),
        "closed form": equal(
            (float(spectral_rate(curvatures, float(momentum)).max()), radius), rounding=1e-6
        ),
    }
