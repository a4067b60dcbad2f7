"""(A10), (A26): gradients within the basin."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.claims import Q, Sides, at_most, claim, suppose
from clusterproof.theory.exact.placed import Placed, placed
from clusterproof.theory.exact.random_tasks import random_mixture
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import basin_models, noisy_regression, suppose_units

Start = Placed[RegressionMixture]
NoisyStart = Annotated[Start, placed(RegressionMixture, noisy_regression, basin_models)]


@claim(
    "cfl-mgd/appendix-a10",
    label="(A10), (A26)",
    judges={
        "(A26), in units": "reading",
        "(A10), meant: smoothness": "ours",
        "(A10), meant: geometry": "ours",
    },
    evaluations=200,
)
def gradients_in_the_basin(start: NoisyStart) -> dict[str, Sides]:
    """At chi_1 the gradient of another cluster is at most 3 L, and that of its own at most L.

    Hypotheses
        Assumption 1, chi_1 in the basin, and max ||chi*_p|| <= 1 with the constant 1 where Assumption 4
        says <~ 1; so Delta <= 2.

    Statement
        In the units in which the largest optimum has norm 1. Squared, over L^2.

    Lines
        (A10)
            ||grad phi_p(chi_1) - grad phi_p(chi*_p)|| <= L ||chi_1 - chi*_p||.
        after (A10)
            ||chi_1 - chi*_p|| <= 3; 2.5 is enough.
        (A10), meant
            What the proof needs, in any units: ||grad phi_p(chi_1)|| <= L ||chi_1 - chi*_p|| <= L (D + B), D = max
            ||chi*_p - chi*_q||, B the basin's radius; b of Theorem A uses it. Attained at kappa = 1 by two clusters
            that face away from each other.
        (A26)
            ||grad phi^1(chi_1) - grad phi^1(chi*_1)|| <= L ||chi_1 - chi*_1||.
        (A26), in units
            ||chi_1 - chi*_1|| <= 1; Delta / (4 sqrt(kappa)) <= 1/2 is meant in any.

    Source
        Zhao et al. (2023), (A10) and (A26).
    """
    task, model = start.task, start.points[:1]
    suppose_units(task)
    gradients, reach = of_other_clusters(task, model)
    own = float((task.expected_gradient(model[0], 0) ** 2).sum()) / task.smoothness**2
    off = float(((model[0] - task.optima[0]) ** 2).sum())
    return {
        "(A10)": at_most(gradients, reach=reach),
        "after (A10)": at_most(reach, nine=9),
        "(A26)": at_most(own, reach=off),
        "(A26), in units": at_most(off, one=1),
    }


def of_other_clusters(task: Mixture, models: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """||grad phi_p(chi_1)||^2 / L^2 and ||chi_1 - chi*_p||^2 for p >= 2 and models (n, d) in the basin, (P - 1, n)."""
    off = np.linalg.norm(models - task.optima[0], axis=-1)
    suppose("||chi_1 - chi*_1|| <= B", off <= task.basin_radius * (1 + 1e-12))
    gradients = np.stack([task.expected_gradient(models, p) for p in range(1, task.clusters)])
    reach = ((models - task.optima[1:, None]) ** 2).sum(axis=-1)
    return (gradients**2).sum(axis=-1) / task.smoothness**2, reach


COSINE, NOT_NEGATIVE = Q[-1:1:4], Q[0::2]


@gradients_in_the_basin.step("proof", needed=False)
def by_the_law_of_cosines(
    root: Fraction = Q[1::2],
    apart: Fraction = Q[0:2:4],
    separation: Fraction = Q[0 : lambda apart: apart : 4],
    share: Fraction = Q[0:1:4],
    cosine: Fraction = COSINE,
    saved: Fraction = NOT_NEGATIVE,
) -> dict[str, Sides]:
    """From Delta <= ||chi*_1 - chi*_p|| <= 2, the basin and the law of cosines, for the angle at chi*_1.

    ``saved`` is ||chi_1 - chi*_p||^2 - ||grad phi_p(chi_1)||^2 / L^2, nonnegative by Assumption 1.
    """
    radius = share * separation / (4 * root)
    reach = apart**2 + 2 * cosine * apart * radius + radius**2
    return {"(A10)": at_most(reach - saved, reach=reach), "after (A10)": at_most(reach, nine=9)}


def on_the_rim(task: Mixture, stream: np.random.Generator) -> np.ndarray:
    """Draw 20 models of each cluster on the rim of the basin, (20, P, d)."""
    offsets = stream.standard_normal((20, *task.optima.shape))
    return np.asarray(
        task.optima + task.basin_radius * offsets / np.linalg.norm(offsets, axis=-1, keepdims=True)
    )


OnTheRim = Annotated[Placed[Mixture], placed(Mixture, random_mixture, on_the_rim)]


@gradients_in_the_basin.line("(A10), meant", evaluations=150)
def within_the_basin(models: OnTheRim) -> dict[str, Sides]:
    """The same on the rim, without units."""
    task = models.task
    gradients, reach = of_other_clusters(task, models.points[:, 0])
    square = (task.diameter + task.basin_radius) ** 2
    return {"smoothness": at_most(gradients, reach=reach), "geometry": at_most(reach, square=square)}


@gradients_in_the_basin.step("proof of (A10), meant", needed=False)
def within_the_basin_on_symbols(
    diameter: Fraction = NOT_NEGATIVE,
    apart: Fraction = Q[0 : lambda diameter: diameter : 4],
    radius: Fraction = NOT_NEGATIVE,
    off: Fraction = Q[0 : lambda radius: radius : 4],
    cosine: Fraction = COSINE,
    saved: Fraction = NOT_NEGATIVE,
) -> dict[str, Sides]:
    """From distances of at most D and B and the law of cosines; for ``saved`` see the step "proof"."""
    reach = apart**2 + 2 * cosine * apart * off + off**2
    return {
        "smoothness": at_most(reach - saved, reach=reach),
        "geometry": at_most(reach, square=(diameter + radius) ** 2),
    }
