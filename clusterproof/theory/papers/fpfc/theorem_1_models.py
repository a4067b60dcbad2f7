"""Theorem 1, first inequality: the gradients in the models."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.checker import Family, Sides, at_most, choice, integers, suppose
from clusterproof.theory.papers.fpfc.constants import Constants
from clusterproof.theory.papers.fpfc.measured import run_averages

PAPER = Family("fpfc")
WEAK_CONVEXITY = 1e-3
"""L_- of convex losses: any positive number."""


def setting_of(clients: int, rho: float, share: float, local_steps: int) -> Constants:
    """Clients of curvature 1, strength 0.6, a share of it as smoothing, the largest step size that is allowed."""
    algorithm = FPFC(
        step_size=1 / (1 + 2 * rho - WEAK_CONVEXITY),
        local_steps=local_steps,
        strength=0.6,
        smoothing=0.6 * share,
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


@PAPER.claim(
    "theorem-1-models", label="Theorem 1, first inequality", kind="upper", repaired_by="fpfc/repaired-models"
)
def theorem_1_models(
    clients: Annotated[int, integers(2, 6)],
    augmentation: Annotated[int, integers(2, 40)],
    smoothing: Annotated[float, choice(0.5, 0.8, 0.7, 0.6)],
    local_steps: Annotated[int, integers(1, 8)],
    rounds: Annotated[int, integers(1, 5)],
) -> Sides:
    """The mean of E||grad_w L_0||^2 over K rounds is at most C_1 (F(w^0) - F* + m xi lambda / 4) / K.

    Hypotheses
        L_f-smooth losses with Hessians at least -L_-, a common start, p_i > 0,
        0 < alpha <= 1 / (L_f + 2 rho - L_-), T_i > 2 log 2 / log(1/c), xi < lambda,
        rho > max(L_f / (1 - 2 c^(T/2)), 2 lambda / xi, 2 / (a - 1), L_-).

    Statement
        As the title, with C_1 = (1 / p) [6 (r^2 L_h^2 + rho^2) / (rho - L_f - 2 r L_h) + 12 rho^3 / (rho^2 -
        L_g rho - 2 L_g^2)], r = (c^(-T/2) - 1)^-1, L_h = L_f + rho, L_g = max(lambda / xi, 1 / (a - 1)).

    Symbols
        alpha ``step_size``, lambda ``strength``, xi ``smoothing``, a ``concavity``, rho ``augmentation``,
        T ``local_steps``, m ``clients``, p the probability to take part.

    Source
        Yu et al. (2023), Theorem 1, its misprints resolved as C_1 demands. Its first denominator is
        positive only for rho > L_f (1 + q) / (1 - 3q) and q = c^(T/2) < 1/3; the hypotheses ask for
        rho > L_f / (1 - 2q) and q < 1/2. In between C_1 can be negative, and a mean square is not: "violated"
        rests on C_1 <= 0 (or positive and too small, by the same denominator), and on the reading of the misprinted
        exponents, (c - T/2)^-1 as (c^(-T/2) - 1)^-1; with c^(T/2) for it C_1 can be negative too. Where the
        denominator is positive the inequality holds: ``fpfc/theorem-1-models-positive``.

    Checked
        Scalar quadratics of curvature 1, full participation, ``smoothing`` a share of the strength: the
        hypotheses in float64, the left-hand side by a run of the algorithm, F* as favourable as it can be.
    """
    setting = setting_of(clients, augmentation, smoothing, local_steps)
    suppose("the hypotheses of Theorem 1", setting.admissible)
    suppose("C_1 is a number", setting.first_denominator != 0)
    task, start = two_sides(clients), np.full((1, 1), 2.0)
    averages = run_averages(setting.algorithm, task, start, rounds=rounds, replicates=1, seed=0)
    # the largest right-hand side for any F* between the sum of the clients' minima, which is 0, and F(w^0)
    gap = averages.start if setting.first > 0 else 0.0
    factor = setting.first / rounds
    return at_most(averages.models.item(), descent=factor * gap, smoothing=factor * setting.start)
