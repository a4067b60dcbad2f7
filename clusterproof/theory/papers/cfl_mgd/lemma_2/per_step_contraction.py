"""The contraction factor of (31) without its floor rho_0 and without noise: where it fails, exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.theory.claims import Sides, at_most, claim, equal, integers, rationals, suppose
from clusterproof.theory.exact.two_clusters import exact_path, run_two_clusters

Momentum = Annotated[Fraction, rationals(0, Fraction(99, 100), 20)]
Round = Annotated[int, integers(0, 12)]


def run_next(momentum: Fraction, round_: int) -> float:
    """|e_(t+1)| of the algorithm."""
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum))
    return float(np.asarray(run_two_clusters(2, 1, algorithm, 0.5, round_ + 1).errors)[-1, 0])


@claim(
    "cfl-mgd/per-step-contraction",
    label="(31) without its floor rho_0",
    judges="ours",
    confirm=run_next,
    repaired_by="cfl-mgd/per-step-region",
)
def per_step_contraction(momentum: Momentum, round_: Round) -> Sides:
    """Without noise every round shrinks the error by 1 - l mu / 8L, for every momentum.

    Hypotheses
        Assumptions 1 to 5 with exact losses and gradients, eta = 1/L, beta in [0, 1).

    Statement
        ||chi_p^(t+1) - chi*_p|| <= (1 - l mu / 8L) ||chi_p^t - chi*_p||.

    Source
        Ours. (31) of Zhao et al. (2023) adds rho_0, which is at least c_4 l > 0 without noise, too: with the
        appendix's c_4 = 1/4 it holds where this fails, since 0 + 1/8 = |e_3|. What breaks (31) is
        ``cfl-mgd/lemma-2``.
    """
    path = exact_path(Fraction(1, 2), momentum, Fraction(1, 2), round_ + 1)
    return at_most(abs(path[round_ + 1]), contraction=Fraction(15, 16) * abs(path[round_]))


def fails(proportion: float, momentum: float, rounds: int) -> bool:
    """Whether some round of a noise-free run in the steepest direction fails to contract.

    The ratio z_t = e_(t+1) / e_t obeys z_(t+1) = (1 + beta - a) - beta / z_t, a = l_p; the
    contraction by 1 - l mu / 8L fails for every kappa where |z_t| > 1.
    """
    ratio = 1 - proportion
    for _ in range(rounds):
        if abs(ratio) > 1:
            return True
        if ratio == 0:
            return momentum > 0
        ratio = (1 + momentum - proportion) - momentum / ratio
    return False


HORIZON = 4000
"""Rounds in which a failing contraction has to show."""


def resonant(proportion: float, momentum: float) -> bool:
    """Whether the rotation of an underdamped pair returns too exactly to meet every arc in time.

    With cos(theta) = (1 + beta - l_p) / (2 q), q = sqrt(beta), the phase of e_t advances by theta
    modulo pi, and the contraction fails on an arc of share w. By the three-distance theorem
    HORIZON phases miss the arc only if ||k theta / pi|| < 1 / HORIZON for some k <= 2 / w.
    """
    q = math.sqrt(momentum)
    cosine = (1 + momentum - proportion) / (2 * q)
    theta = math.acos(cosine)
    upper = math.atan((cosine + 1 / q) / math.sin(theta))
    lower = math.atan((cosine - 1 / q) / math.sin(theta))
    share = 1 - (upper - lower) / math.pi
    turns = np.arange(1, math.floor(2 / share) + 1) * theta / math.pi
    return bool((np.abs(turns - np.round(turns)) < 1 / HORIZON).any())


NEARLY_ONE = Fraction(199, 200)


@claim("cfl-mgd/per-step-region", label="(31) without its floor, region", judges="ours")
def per_step_region(
    proportion: Annotated[Fraction, rationals(1 - NEARLY_ONE, NEARLY_ONE, 12)],
    momentum: Annotated[Fraction, rationals(0, NEARLY_ONE, 12)],
) -> Sides:
    """The noise-free contraction per round fails exactly where beta > (1 - sqrt(l_p))^2.

    Hypotheses
        As ``cfl-mgd/per-step-contraction``, with L among the eigenvalues of cluster p.

    Statement
        Some reachable round has ||chi_p^(t+1) - chi*_p|| > ||chi_p^t - chi*_p|| iff
        beta > (1 - sqrt(l_p))^2, whatever kappa; except at resonances, where the phase advances
        by a rational part of pi and may never meet the failing arc.

    Proof
        Overdamped, the ratio e_(t+1) / e_t starts at 1 - l_p and decreases to a positive limit.
        Underdamped, e_t changes sign infinitely often, and next to a sign change the ratio is
        as large as one likes.

    Source
        Ours.
    """
    share, beta = float(proportion), float(momentum)
    boundary = (1 - math.sqrt(share)) ** 2
    # nearer than this, the first failing round lies beyond the horizon
    suppose("beta differs from (1 - sqrt(l_p))^2 by 2e-4", abs(beta - boundary) >= 2e-4)
    underdamped = beta > boundary
    failing = fails(share, beta, HORIZON)
    if underdamped and not failing:
        suppose("the phase does not advance by nearly a rational part of pi", not resonant(share, beta))
    return equal((int(failing), int(underdamped)))
