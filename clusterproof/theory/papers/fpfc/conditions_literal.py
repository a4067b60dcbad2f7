"""The conditions of Theorem 1 to the letter: negative bounds do not bind, and the first inequality fails."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.checker import Family, Sides, at_most, choice, integers, suppose
from clusterproof.theory.papers.fpfc.constants import Constants
from clusterproof.theory.papers.fpfc.measured import run_averages
from clusterproof.theory.papers.fpfc.theorem_1_models import WEAK_CONVEXITY

PAPER = Family("fpfc")


def setting_of(clients: int, curvature: float, local_steps: int) -> Constants:
    """rho = 5, lambda = 0.6, xi = 0.3, a = 3.7 and the largest step size that is allowed."""
    algorithm = FPFC(
        step_size=1 / (curvature + 10 - WEAK_CONVEXITY),
        local_steps=local_steps,
        strength=0.6,
        smoothing=0.3,
        augmentation=5.0,
        threshold=0.5,
    )
    return Constants(algorithm, clients, curvature, WEAK_CONVEXITY)


def literally_admissible(constants: Constants) -> bool:
    """rho > max(L_f / (1 - 2c), 2 lambda / xi, 2 / (a - 1)), T > 2 log 2 / log c, alpha and L_- as printed."""
    c, rho, penalty = constants.contraction, constants.algorithm.augmentation, constants.penalty
    largest = 1 / (constants.smoothness + 2 * rho - constants.weak_convexity)
    return (
        constants.algorithm.step_size <= largest * (1 + 1e-12)
        and 0 < c < 1
        and c != 0.5
        and rho > constants.smoothness / (1 - 2 * c)
        and rho
        > max(2 * penalty.strength / penalty.smoothing, 2 / (penalty.concavity - 1), constants.weak_convexity)
        and constants.algorithm.local_steps > 2 * math.log(2) / math.log(c)
    )


def literal_first(constants: Constants) -> float | None:
    """Return C_1 with (c - T/2)^-1 as printed; None if it divides by zero."""
    rho, inexactness = (
        constants.algorithm.augmentation,
        constants.contraction - constants.algorithm.local_steps / 2,
    )
    if inexactness == 0 or (rho - constants.smoothness) * inexactness == 2 * constants.local_smoothness:
        return None
    drift = constants.local_smoothness / inexactness
    inexact = 6 * (drift**2 + rho**2) / (rho - constants.smoothness - 2 * drift)
    return (inexact + 12 * rho**3 / constants.second_denominator) / constants.participation


@PAPER.claim(
    "conditions-literal",
    label="Theorem 1, conditions to the letter",
    kind="upper",
    repaired_by="fpfc/repaired-models",
)
def conditions_literal(
    clients: Annotated[int, integers(2, 4)],
    curvature: Annotated[float, choice(1.0, 13.57, 30.0)],
    local_steps: Annotated[int, choice(10, 3, 1)],
    rounds: Annotated[int, integers(1, 3)],
) -> Sides:
    """Under the conditions as they are printed the mean of E||grad_w L_0||^2 is at most C_1 D_0 / K.

    Hypotheses
        rho > max(L_f / (1 - 2c), 2 lambda / xi, 2 / (a - 1)) and T_i > 2 log 2 / log c, of either sign;
        alpha, L_- and the start as in ``fpfc/theorem-1-models``.

    Statement
        The first inequality of Theorem 1, with (c - T/2)^-1 in C_1 as it is printed.

    Symbols
        alpha ``step_size``, rho ``augmentation``, T_i ``local_steps``, m ``clients``, L_f ``curvature``.

    Source
        Yu et al. (2023), Theorem 1. Since c >= 1/2, L_f / (1 - 2c) and 2 log 2 / log c are negative and hold for
        every rho and T_i, large steps and few of them too; then C_1 is negative. With a positive bound in mind
        nothing meets the conditions, see ``fpfc/conditions``.

    Checked
        Scalar quadratics with minimisers 1 and -1, full participation; F* as favourable as it can be.
    """
    setting = setting_of(clients, curvature, local_steps)
    suppose("the conditions of Theorem 1, to the letter", literally_admissible(setting))
    first = literal_first(setting)
    suppose("C_1 is a number", first is not None)
    assert first is not None
    centers = 1.0 - 2.0 * (np.arange(clients) % 2)
    task = QuadraticMixture(
        hessians=np.full((clients, 1, 1), curvature), centers=centers[:, None], labels=np.arange(clients) % 2
    )
    averages = run_averages(
        setting.algorithm, task, np.full((1, 1), 2.0), rounds=rounds, replicates=1, seed=0
    )
    # the largest right-hand side for any F* between the sum of the clients' minima, which is 0, and F(w^0)
    gap = averages.start if first > 0 else 0.0
    factor = first / rounds
    return at_most(averages.models.item(), descent=factor * gap, smoothing=factor * setting.start)
