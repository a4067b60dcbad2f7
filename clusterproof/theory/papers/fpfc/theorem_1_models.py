"""Theorem 1, first inequality, read with c^(T/2) in its conditions and its C_1: the gradients in the models."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, at_most, choice, claim, integers, rationals, suppose
from clusterproof.theory.papers.fpfc.constants import Constants
from clusterproof.theory.papers.fpfc.measured import run_averages

WEAK_CONVEXITY = 1e-3
"""L_- of convex losses: any positive number."""

# C_1 is negative with both r
BOTH_NEGATIVE = {
    "clients": 2,
    "augmentation": Fraction(23, 4),
    "smoothing": 0.5,
    "local_steps": 3,
    "rounds": 1,
}


def setting_of(clients: int, rho: float, smoothing: float, local_steps: int) -> Constants:
    """Clients of curvature 1, strength 0.6, the largest step size that is allowed."""
    algorithm = FPFC(
        step_size=1 / (1 + 2 * rho - WEAK_CONVEXITY),
        local_steps=local_steps,
        strength=0.6,
        smoothing=smoothing,
        augmentation=rho,
        threshold=0.5,
    )
    return Constants(algorithm, clients, 1.0, WEAK_CONVEXITY)


def two_sides(clients: int) -> QuadraticMixture:
    """Return scalar clients of curvature 1 with alternating minimisers 1 and -1."""
    centers = 1.0 - 2.0 * (np.arange(clients) % 2)
    return QuadraticMixture(
        hessians=np.ones((clients, 1, 1)), centers=centers[:, None], labels=np.arange(clients) % 2
    )


@claim(
    "fpfc/theorem-1-models",
    label="Theorem 1, first inequality",
    judges="reading",
    repaired_by="fpfc/repaired-models",
    example=(BOTH_NEGATIVE,),
)
def theorem_1_models(
    clients: Annotated[int, integers(2, 6)],
    augmentation: Annotated[Fraction, rationals(2, 40, 4)],
    smoothing: Annotated[float, choice(0.3, 0.5, 0.48, 0.42, 0.36)],
    local_steps: Annotated[int, integers(1, 8)],
    rounds: Annotated[int, integers(1, 5)],
) -> Sides:
    """Read with c^(T/2), the mean of E||grad_w L_0||^2 is at most C_1 (F(w^0) - F* + m xi lambda / 4) / K.

    Hypotheses
        L_f-smooth losses with Hessians at least -L_-, a common start, p_i > 0,
        0 < alpha <= 1 / (L_f + 2 rho - L_-), T_i > 2 log 2 / log(1/c), xi < lambda,
        rho > max(L_f / (1 - 2 c^(T/2)), 2 lambda / xi, 2 / (a - 1), L_-).

    Statement
        As the title, for the mean over K rounds, with C_1 = (1 / p) [6 (r^2 L_h^2 + rho^2) / (rho - L_f - 2 r L_h) +
        12 rho^3 / (rho^2 - L_g rho - 2 L_g^2)] and the r that allows more, (c^(-T/2) - 1)^-1 or c^(T/2);
        L_h = L_f + rho, L_g = max(lambda / xi, 1 / (a - 1)).

    Symbols
        alpha ``step_size``, lambda ``strength``, xi ``smoothing``, a ``concavity``, rho ``augmentation``,
        T ``local_steps``, m ``clients``, p the probability to take part.

    Source
        Yu et al. (2023), Theorem 1, a reading. The text has "T_i > 2 log 2 / log c", "rho > max{L_f / (1 - 2c),
        2 lambda / xi, 2 / (a - 1), L_-}" and, in C_1, "(c - T/2)^-2 L_h^2" and "2 (c - T/2)^-1 L_h"; L_h, L_g and L_0
        are not defined. The reading puts log(1/c) for log c, c^(T/2) for c in 1 - 2c and r for (c - T/2)^-1. The
        conditions to the letter are weaker: since c > 1/2, L_f / (1 - 2c) and 2 log 2 / log c are negative, and
        what meets the hypotheses above meets them too. With r = (c^(-T/2) - 1)^-1 the first denominator is positive
        only for rho > L_f (1 + q) / (1 - 3q) and q = c^(T/2) < 1/3, with r = q only for rho > L_f (1 + 2q) / (1 - 2q);
        the hypotheses ask for rho > L_f / (1 - 2q) and q < 1/2. In between C_1 can be negative, and a mean square is
        not: "violated" rests on C_1 <= 0, with both r, and on the exponent T/2. With r = (c^-T - 1)^-1 the first
        denominator is positive under the hypotheses, and with (c - T/2)^-1 to the letter C_1 is positive at the
        instance that is tried first: those C_1 are not refuted. Where the denominator is positive the inequality
        holds: ``fpfc/theorem-1-models-positive``.
    """
    setting = setting_of(clients, float(augmentation), smoothing, local_steps)
    suppose("the hypotheses of Theorem 1", setting.admissible)
    readings = (setting.inexactness, setting.power)
    suppose("C_1 is a number", all(setting.first_denominator_of(r) != 0 for r in readings))
    first = max(setting.first_of(r) for r in readings)
    task, start = two_sides(clients), np.full((1, 1), 2.0)
    averages = run_averages(setting.algorithm, task, start, rounds=rounds, replicates=1, seed=0)
    # the largest right-hand side for any F* between the sum of the clients' minima, which is 0, and F(w^0)
    gap = averages.start if first > 0 else 0.0
    factor = first / rounds
    return at_most(averages.models.item(), descent=factor * gap, smoothing=factor * setting.start)
