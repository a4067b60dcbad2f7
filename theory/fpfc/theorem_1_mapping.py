"""Theorem 1, second inequality: the proximal mapping."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from algorithms import FPFC, InvalidArgument
from theory.claim import Context, register
from theory.counterexample import Instance, Number, replay_with, seek
from theory.fpfc.constants import Constants
from theory.fpfc.measured import run_averages
from theory.fpfc.theorem_1_models import WEAK_CONVEXITY, two_sides
from theory.verdict import Finding


def setting_of(instance: Instance) -> Constants:
    """Clients of curvature 1, strength 1, 20 local steps of the largest size that is allowed."""
    rho = float(instance["augmentation"])
    algorithm = FPFC(
        step_size=1 / (1 + 2 * rho - WEAK_CONVEXITY),
        local_steps=20,
        strength=1.0,
        concavity=float(instance["concavity"]),
        smoothing=float(instance["smoothing"]),
        augmentation=rho,
        threshold=0.5,
    )
    return Constants(algorithm, 2, 1.0, WEAK_CONVEXITY)


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """Largest ||G||^2 of a run of two clients from a common start, and the bound."""
    try:
        setting = setting_of(instance)
    except InvalidArgument:
        return 0.0, 1.0
    if not setting.admissible:
        return 0.0, setting.mapping_bound
    task = two_sides(2)
    task = dataclasses.replace(task, centers=float(instance["distance"]) * task.centers)
    found = run_averages(setting.algorithm, task, np.zeros((1, 1)), rounds=30, replicates=1, seed=0)
    return found.mapping, setting.mapping_bound * (1 + 1e-9)


def instances() -> Any:
    """Strategy of settings."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "concavity": st.sampled_from([3.7, 3.0, 2.5, 2.2, 1.8, 1.5, 1.2]),
            "smoothing": st.sampled_from([0.5, 0.25, 0.1]),
            "augmentation": st.integers(1, 40),
            "distance": st.integers(1, 8),
        }
    )


@register(
    "fpfc/theorem-1-mapping",
    label="Theorem 1, second inequality",
    kind="upper",
    replay=replay_with(evaluate),
    repaired_by="fpfc/repaired-mapping",
)
def theorem_1_mapping(context: Context) -> Finding:
    """E||G||^2 is at most m^2 lambda^2 xi^2 / (lambda + xi)^2 after every round.

    Hypotheses
        As ``fpfc/theorem-1-models``; a > 1.

    Statement
        As the title, G = theta - prox(theta + v) with the proximal map of SCAD itself and unit step, the only
        reading under which the printed bound comes out.

    Symbols
        a ``concavity``, lambda ``strength``, xi ``smoothing``.

    Source
        Yu et al. (2023), Theorem 1. For a <= 2 the proximal objective has two minima, and theta need not be
        the nearer; no hypothesis asks for a > 2. With it the inequality holds before the first round, for
        every theta with its v, and does not improve with K: ``fpfc/repaired-mapping``.

    Checked
        Searched by hypothesis over two scalar clients; the proximal map by comparing all stationary
        points and kinks, theta and v from 30 rounds of the algorithm.
    """
    return seek(
        context,
        instances(),
        evaluate,
        violated=lambda instance, measured, bound: (
            f"a = {instance['concavity']} <= 2, lambda = 1, xi = {instance['smoothing']}, rho = "
            f"{instance['augmentation']}, two clients {2 * int(instance['distance'])} apart: ||G||^2 reaches "
            f"{float(measured):.4g}, {float(measured / bound):.3g} times the bound"
        ),
        consistent="no setting found with ||G||^2 above the bound",
        budget=400,
    )
