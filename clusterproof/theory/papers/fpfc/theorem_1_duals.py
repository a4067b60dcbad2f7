"""Theorem 1, third inequality, where only pairs of two participants are updated: nothing ever moves."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.theory.claims import Sides, at_most, choice, claim, integers, suppose
from clusterproof.theory.papers.fpfc.constants import Constants
from clusterproof.theory.papers.fpfc.measured import run_averages
from clusterproof.theory.papers.fpfc.theorem_1 import WEAK_CONVEXITY, two_sides


def setting_of(clients: int) -> Constants:
    """Clients of curvature 1, rho = 5, one participant a round, pairs of two participants updated."""
    algorithm = FPFC(
        step_size=1 / (1 + 2 * 5.0 - WEAK_CONVEXITY),
        local_steps=10,
        strength=0.6,
        smoothing=0.3,
        augmentation=5.0,
        threshold=0.5,
        pair_rule="both",
        participation=1 / clients,
    )
    return Constants(algorithm, clients, 1.0, WEAK_CONVEXITY)


@claim(
    "fpfc/theorem-1-duals",
    label="Theorem 1, third inequality, only pairs of two participants",
    judges="reading",
    repaired_by="fpfc/repaired-duals",
)
def theorem_1_duals(
    clients: Annotated[int, integers(2, 4)], rounds: Annotated[int, choice(1000, 2000)]
) -> Sides:
    """If pairs of two participants move, E||grad_v L_0||^2 is at most C_2 (F(w^0) - F* + m xi lambda / 4) / K.

    Hypotheses
        As ``fpfc/theorem-1-models``; theta_ij and v_ij are updated if both i and j are in A_k, and rest otherwise.

    Statement
        As the title, for the mean over K rounds and any participation probabilities, with
        C_2 = L_g^2 / (m rho (rho^2 - L_g rho - 2 L_g^2)).

    Source
        Yu et al. (2023), Algorithm 1 and Theorem 1, a reading. Line 5 has "For i, j in A_k (i < j), server computes"
        and "For i not in A_k and j not in A_k: theta_ij^(k+1) = theta_ij^k": pairs of one participant and one absent
        client are left open. This reading lets them rest; ``fpfc/theorem-1-participation`` updates them, as the public
        code does. L_0, which is not defined, is read as the Lagrangian with the sum over ordered pairs over 2m; with
        that over unordered pairs the left-hand side doubles. With one client a round, which Assumption 3 allows, no
        pair ever has two participants: theta = v = 0 for ever, the models part, and the left-hand side tends to a
        positive number, whatever the constant.
    """
    setting = setting_of(clients)
    suppose("the hypotheses of Theorem 1", setting.admissible)
    task = two_sides(clients)
    averages = run_averages(setting.algorithm, task, np.zeros((1, 1)), rounds=rounds, replicates=1, seed=0)
    factor = setting.second / rounds
    return at_most(averages.duals.item(), descent=factor * averages.start, smoothing=factor * setting.start)
