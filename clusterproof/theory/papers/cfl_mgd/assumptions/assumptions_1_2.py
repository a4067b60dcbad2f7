"""Assumptions 1 and 2: the curvature of the clusters' expected losses."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.synthetic import Mixture
from clusterproof.theory.claims import Sides, Stream, at_least, at_most, claim, drawn
from clusterproof.theory.exact.random_tasks import random_mixture

SomeMixture = Annotated[Mixture, drawn(random_mixture)]


def pairs_of_points(task: Mixture, stream: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw chi and chi' - chi for each cluster, (P, 40, d) each: near ones and far ones."""
    shape = (task.clusters, 40, task.dimension)
    points = task.optima[:, None] + 3 * stream.standard_normal(shape)
    return points, stream.standard_normal(shape) * 10.0 ** stream.uniform(-2, 1, (*shape[:2], 1))


@claim("cfl-mgd/assumption-1", label="Assumption 1", evaluations=150)
def assumption_1(task: SomeMixture, stream: Stream) -> Sides:
    """The clusters' expected losses are L-smooth, with our tasks' closed-form L.

    Hypotheses
        A regression, quadratic or ridge-logistic mixture.

    Statement
        ||grad phi_p(chi) - grad phi_p(chi')|| <= L ||chi - chi'|| for all chi, chi'.

    Symbols
        L ``task.smoothness``: the largest eigenvalue of a covariance, of a mean Hessian, or
        ridge + lambda_max(X'X / N) / 4.

    Source
        Zhao et al. (2023), Assumption 1. Upper bound, tight on quadratics.
    """
    points, steps = pairs_of_points(task, stream)
    changes = [
        task.expected_gradient(points[cluster] + steps[cluster], cluster)
        - task.expected_gradient(points[cluster], cluster)
        for cluster in range(task.clusters)
    ]
    return at_most(
        np.linalg.norm(changes, axis=-1), smoothness=task.smoothness * np.linalg.norm(steps, axis=-1)
    )


@claim("cfl-mgd/assumption-2", label="Assumption 2", evaluations=150)
def assumption_2(task: SomeMixture, stream: Stream) -> Sides:
    """The clusters' expected losses are mu-strongly convex, with our tasks' closed-form mu.

    Hypotheses
        A regression, quadratic or ridge-logistic mixture.

    Statement
        phi_p(chi') >= phi_p(chi) + <grad phi_p(chi), chi' - chi> + (mu/2) ||chi' - chi||^2.

    Symbols
        mu ``task.strong_convexity``: the smallest eigenvalue of a covariance, of a mean Hessian,
        or the ridge.

    Source
        Zhao et al. (2023), Assumption 2. Lower bound, tight on quadratics.
    """
    points, steps = pairs_of_points(task, stream)
    gaps = np.zeros(points.shape[:2])
    for cluster, (point, step) in enumerate(zip(points, steps, strict=True)):
        before, after = task.expected_loss(point, cluster), task.expected_loss(point + step, cluster)
        linear = (task.expected_gradient(point, cluster) * step).sum(axis=-1)
        # add back the largest rounding error of the difference
        gaps[cluster] = after - before - linear + 1e-14 * (before + after + np.abs(linear))
    return at_least(gaps, strong_convexity=task.strong_convexity / 2 * (steps**2).sum(axis=-1))
