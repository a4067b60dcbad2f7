"""Theorem 1, first inequality: the gradients in the models."""

from __future__ import annotations

from typing import Any

import numpy as np

from algorithms import FPFC
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.counterexample import Instance, Number, replay_with, seek
from theory.fpfc.constants import Constants
from theory.fpfc.measured import run_averages
from theory.verdict import Finding

WEAK_CONVEXITY = 1e-3
"""L_- of convex losses: any positive number."""


def setting_of(instance: Instance) -> Constants:
    """Clients of curvature 1, strength 0.6 and the largest step size that is allowed."""
    rho, smoothing = float(instance["augmentation"]), 0.6 * float(instance["smoothing"])
    algorithm = FPFC(
        step_size=1 / (1 + 2 * rho - WEAK_CONVEXITY),
        local_steps=int(instance["local_steps"]),
        strength=0.6,
        smoothing=smoothing,
        augmentation=rho,
        threshold=0.5,
    )
    return Constants(algorithm, int(instance["clients"]), 1.0, WEAK_CONVEXITY)


def two_sides(clients: int) -> QuadraticMixture:
    """Scalar clients of curvature 1 with minimisers 1 and -1 in turn."""
    centers = 1.0 - 2.0 * (np.arange(clients) % 2)
    return QuadraticMixture(
        hessians=np.ones((clients, 1, 1)), centers=centers[:, None], labels=np.arange(clients) % 2
    )


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """Left-hand side after some rounds of a run, and the largest right-hand side for any F*."""
    setting = setting_of(instance)
    if not setting.admissible or setting.first >= 0:
        return 0.0, 1.0
    rounds = int(instance["rounds"])
    found = run_averages(
        setting.algorithm,
        two_sides(setting.clients),
        np.full((1, 1), 2.0),
        rounds=rounds,
        replicates=1,
        seed=0,
    )
    # C_1 < 0: the right-hand side is largest where F* is, F(w^0)
    return found.models, setting.first * setting.start / rounds


def instances() -> Any:
    """Strategy of settings; ``smoothing`` is a share of the strength."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "clients": st.integers(2, 6),
            "augmentation": st.integers(2, 40),
            "smoothing": st.sampled_from([0.5, 0.8, 0.7, 0.6]),
            "local_steps": st.integers(1, 8),
            "rounds": st.integers(1, 5),
        }
    )


@register(
    "fpfc/theorem-1-models",
    label="Theorem 1, first inequality",
    kind="upper",
    replay=replay_with(evaluate),
    repaired_by="fpfc/repaired-models",
)
def theorem_1_models(context: Context) -> Finding:
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
        rho > L_f / (1 - 2q) and q < 1/2. In between C_1 can be negative, and a mean square is not.

    Checked
        Searched by hypothesis over scalar quadratics of curvature 1, full participation: the hypotheses
        in float64, C_1 < 0, the left-hand side by a run of the algorithm.
    """
    return seek(
        context,
        instances(),
        evaluate,
        violated=lambda instance, measured, bound: (
            f"m = {instance['clients']}, L_f = 1, lambda = 0.6, xi = {0.6 * instance['smoothing']:g}, rho = "
            f"{instance['augmentation']}, T = {instance['local_steps']}: q = {setting_of(instance).power:.3f} < 1/2, "
            f"rho > L_f / (1 - 2q), yet C_1 = {setting_of(instance).first:.1f} < 0, and so the mean square "
            f"{float(measured):.3g} is above the bound {float(bound):.3g}"
        ),
        consistent="no admissible setting with C_1 < 0 was found",
        budget=1000,
    )
