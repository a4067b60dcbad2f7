"""Theorem 1, third inequality, under the pair rule as printed: nothing ever moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from algorithms import FPFC
from theory.claim import Context, register
from theory.counterexample import Instance, Number, replay_with, seek
from theory.fpfc.constants import Constants
from theory.fpfc.measured import run_averages
from theory.fpfc.theorem_1_models import WEAK_CONVEXITY, two_sides
from theory.verdict import Finding


def setting_of(instance: Instance) -> Constants:
    """Clients of curvature 1, rho = 5, one participant a round, pairs of two participants updated."""
    clients = int(instance["clients"])
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


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """Left-hand side of one run, and the right-hand side with sum min f_i = 0 in the place of F*."""
    setting, rounds = setting_of(instance), int(instance["rounds"])
    task = two_sides(setting.clients)
    found = run_averages(setting.algorithm, task, np.zeros((1, 1)), rounds=rounds, replicates=1, seed=0)
    return found.duals, setting.second * (found.start + setting.start) / rounds


def instances() -> Any:
    """Strategy of numbers of clients and rounds."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries({"clients": st.integers(2, 4), "rounds": st.sampled_from([1000, 2000])})


@register(
    "fpfc/theorem-1-duals",
    label="Theorem 1, third inequality, pair rule as printed",
    kind="upper",
    replay=replay_with(evaluate),
    repaired_by="fpfc/repaired-duals",
)
def theorem_1_duals(context: Context) -> Finding:
    """The mean of E||grad_v L_0||^2 over K rounds is at most C_2 (F(w^0) - F* + m xi lambda / 4) / K.

    Hypotheses
        As ``fpfc/theorem-1-models``; theta_ij and v_ij are updated for i, j in A_k, as Algorithm 1 says.

    Statement
        As the title, C_2 = L_g^2 / (m rho (rho^2 - L_g rho - 2 L_g^2)), whatever the probabilities to take part.

    Symbols
        rho ``augmentation``; the rule is ``pair_rule = "both"``.

    Source
        Yu et al. (2023), Algorithm 1 and Theorem 1. With one client a round, which Assumption 3 allows, no pair
        ever has two participants: theta = v = 0 for ever, the models part, and the left-hand side tends to a
        positive number. The public code updates pairs with one participant; then 1 / P is missing, see
        ``fpfc/repaired-duals``.

    Checked
        Runs of the algorithm with one random participant a round; F* is replaced by the sum of the
        clients' minima, which makes the bound larger. No pair has moved on any sample path, so that
        the left-hand side is the same on all of them but for the order of the clients.
    """
    return seek(
        context,
        instances(),
        evaluate,
        violated=lambda instance, measured, bound: (
            f"m = {instance['clients']}, L_f = 1, lambda = 0.6, xi = 0.3, rho = 5, T = 10, one client a round: after "
            f"{instance['rounds']} rounds the mean is {float(measured):.4g}, {float(measured / bound):.0f} times "
            "the bound"
        ),
        consistent="no setting found above the bound",
        budget=20,
    )
