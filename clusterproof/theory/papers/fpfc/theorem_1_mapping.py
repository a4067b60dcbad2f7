"""Theorem 1, second inequality: the proximal mapping."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.theory.checker import Family, Sides, at_most, choice, integers, suppose
from clusterproof.theory.papers.fpfc.constants import Constants
from clusterproof.theory.papers.fpfc.measured import run_averages
from clusterproof.theory.papers.fpfc.theorem_1_models import WEAK_CONVEXITY, two_sides

PAPER = Family("fpfc")


def setting_of(concavity: float, smoothing: float, rho: float) -> Constants:
    """Clients of curvature 1, strength 1, 20 local steps of the largest size that is allowed."""
    algorithm = FPFC(
        step_size=1 / (1 + 2 * rho - WEAK_CONVEXITY),
        local_steps=20,
        strength=1.0,
        concavity=concavity,
        smoothing=smoothing,
        augmentation=rho,
        threshold=0.5,
    )
    return Constants(algorithm, 2, 1.0, WEAK_CONVEXITY)


@PAPER.claim(
    "theorem-1-mapping",
    label="Theorem 1, second inequality",
    kind="upper",
    repaired_by="fpfc/repaired-mapping",
)
def theorem_1_mapping(
    concavity: Annotated[float, choice(3.7, 3.0, 2.5, 2.2, 1.8, 1.5, 1.2)],
    smoothing: Annotated[float, choice(0.5, 0.25, 0.1)],
    augmentation: Annotated[int, integers(1, 40)],
    distance: Annotated[int, integers(1, 8)],
) -> Sides:
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
    suppose("rho > 2 / (a - 1)", augmentation * (concavity - 1) > 2)
    setting = setting_of(concavity, smoothing, augmentation)
    suppose("the hypotheses of Theorem 1", setting.admissible)
    task = two_sides(2)
    task = dataclasses.replace(task, centers=distance * task.centers)
    averages = run_averages(setting.algorithm, task, np.zeros((1, 1)), rounds=30, replicates=1, seed=0)
    return at_most(averages.mapping, smoothing=setting.mapping_bound)
