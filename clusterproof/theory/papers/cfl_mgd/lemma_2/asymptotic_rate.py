"""The factor 1 - l mu / 8L of (A39) without its floor, after many rounds: where the rate is slower, exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.theory.claims import Sides, at_most, choice, claim, equal, rationals, suppose
from clusterproof.theory.exact.heavy_ball import spectral_rate
from clusterproof.theory.exact.two_clusters import run_two_clusters


def claimed_rate(proportion: float, condition_number: float) -> float:
    """1 - l mu / 8L."""
    return 1 - proportion / (8 * condition_number)


def rate_of_a_run(momentum: float, rounds: int) -> float:
    """Rate of a run of two equal scalar clusters.

    With a = l_p and beta, W_t = e_t^2 - (1 + beta - a) e_t e_(t-1) + beta e_(t-1)^2 satisfies
    W_(t+1) = beta W_t and is positive definite where underdamped: its growth is the exact rate,
    without a transient.
    """
    algorithm = CFLMGD(step_size=1.0, momentum=momentum)
    errors = run_two_clusters(2, 1, algorithm, 0.5, rounds).models[:, 0, 0] - 1.0
    energy = errors[1:] ** 2 - (0.5 + momentum) * errors[1:] * errors[:-1] + momentum * errors[:-1] ** 2
    return float((energy[-1] / energy[0]) ** (0.5 / (len(energy) - 1)))


@claim(
    "cfl-mgd/asymptotic-rate",
    label="(A39) without its floor, many rounds",
    judges="ours",
    repaired_by="cfl-mgd/lemma-h",
)
def asymptotic_rate(momentum: Annotated[float, choice(0.9)], rounds: Annotated[int, choice(80)]) -> Sides:
    """After many rounds the error falls at least as fast as (1 - l mu / 8L)^T, for every momentum.

    Hypotheses
        Assumptions 1 to 5 with exact losses and gradients, eta = 1/L; the paper's momentum 0.9.

    Statement
        lim sup ||chi_p^T - chi*_p||^(1/T) <= 1 - l mu / 8L.

    Symbols
        l ``proportions``, mu / L = 1 / ``condition_number``, beta ``momentum``.

    Source
        Ours. (A39) of Zhao et al. (2023) adds (8L / l mu) rho_0 >= 8 kappa c_4 > 0, so that it bounds no rate of
        decrease: an error that tends to 0, as here, ends below it.
    """
    measured, claimed = rate_of_a_run(momentum, rounds), claimed_rate(0.5, 1.0)
    words = (
        f"kappa = 1, l = 1/2, beta = {momentum:g}: the run's rate is {measured:.5f} (sqrt(beta) = "
        f"{math.sqrt(momentum):.5f}), slower than 1 - l mu / 8L = {claimed:.5f}"
    )
    return at_most(measured, claimed=claimed, words=words)


MOMENTA = (*(Fraction(k, 20) for k in range(20)), Fraction(99, 100), Fraction(999, 1000))


@claim("cfl-mgd/asymptotic-region", label="(A39) without its floor, region", judges="ours")
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

    Source
        Ours.
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
