"""The sentence on convex penalties."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.algorithms import FPFC, adjusted_rand_index, run
from clusterproof.algorithms.fpfc import group_averages
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.statement import Family, Sides, at_most, integers

PAPER = Family("fpfc")
ALMOST = 0.999
"""Adjusted Rand index below which clusters are not recovered."""


def mixture(members: int) -> QuadraticMixture:
    """Two clusters of clients with curvature 1, ten strengths apart, spread by a tenth of a strength."""
    offsets = 0.1 * (np.arange(members) - (members - 1) / 2) / members
    centers = np.concatenate([offsets, 10 + offsets])[:, None]
    labels = np.repeat([0, 1], members)
    return QuadraticMixture(hessians=np.ones((2 * members, 1, 1)), centers=centers, labels=labels)


def recovered(members: int) -> tuple[float, float]:
    """Adjusted Rand index of FPFC-l1, and the largest error of a group's averaged model."""
    task = mixture(members)
    algorithm = FPFC(step_size=0.5, penalty="l1", strength=1.0, threshold=0.1)
    trace = run(algorithm, task, rounds=200, initial=np.full((1, 1), 5.0))
    groups = trace.assignments[-1]
    averages = group_averages(trace.models[-1], groups)
    return adjusted_rand_index(groups, task.labels), float(np.abs(averages - task.client_optima).max())


@PAPER.claim("convex", label="Approach, on convex penalties", kind="upper", repaired_by="fpfc/window")
def convex(members: Annotated[int, integers(2, 6)]) -> Sides:
    """Convex penalties cannot correctly recover clusters.

    Hypotheses
        FPFC with the group lasso in the place of SCAD (FPFC-l1), any task, strength and threshold.

    Statement
        Its groups are never the true clusters.

    Symbols
        ``penalty = "l1"``.

    Source
        Yu et al. (2023), Approach: "can not correctly recover clusters as shown in our experiments". What a
        convex penalty loses is accuracy: all pairs keep pulling, the groups' models stay biased.

    Checked
        Runs of FPFC-l1 on two scalar clusters; the reason gives the bias beside the recovery.
    """
    index, bias = recovered(members)
    return at_most(
        index,
        almost=ALMOST,
        words=lambda: (
            f"two clusters of {members} scalar clients, 10 apart, lambda = 1: FPFC-l1 has adjusted Rand index "
            f"{index:g}; its groups' models are off by {bias:.3g}"
        ),
    )
