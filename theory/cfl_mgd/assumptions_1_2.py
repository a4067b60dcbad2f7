"""Assumptions 1 and 2: the curvature of the clusters' expected losses."""

from __future__ import annotations

import numpy as np

from synthetic import Mixture
from theory.claim import Context, register
from theory.random_tasks import random_mixture
from theory.verdict import Finding, Kind


def curvature_ratios(task: Mixture, stream: np.random.Generator) -> tuple[float, float]:
    """Largest ||grad difference|| / (L ||chi - chi'||), smallest first-order gap / (mu/2 ||.||^2).

    The gap is a difference of losses; what rounding may have taken from it is given back.
    """
    steep, strong = 0.0, np.inf
    for cluster in range(task.clusters):
        points = task.optima[cluster] + 3 * stream.standard_normal((40, task.dimension))
        others = points + stream.standard_normal(points.shape) * 10.0 ** stream.uniform(-2, 1, (40, 1))
        step = others - points
        gradient = task.expected_gradient(points, cluster)
        change = task.expected_gradient(others, cluster) - gradient
        length = np.linalg.norm(step, axis=-1)
        steep = max(steep, float((np.linalg.norm(change, axis=-1) / (task.smoothness * length)).max()))
        before, after = task.expected_loss(points, cluster), task.expected_loss(others, cluster)
        slope = (gradient * step).sum(axis=-1)
        gap = after - before - slope + 1e-14 * (before + after + np.abs(slope))
        strong = min(strong, float((gap / (0.5 * task.strong_convexity * length**2)).min()))
    return steep, strong


@register("cfl-mgd/assumption-1", label="Assumption 1", kind="hypothesis")
def assumption_1(context: Context) -> Finding:
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

    Checked
        On random tasks and pairs of points: the largest ratio of the two sides.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(150)
    ratios = [curvature_ratios(random_mixture(stream), stream)[0] for _ in range(trials)]
    failures = sum(ratio > 1 + 1e-9 for ratio in ratios)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest ||grad difference|| / (L ||difference||) over {trials} tasks, 40 pairs a cluster",
        measured=max(ratios),
        bound=1.0,
        slack=1 / max(ratios),
        trials=trials,
        failures=failures,
    )


@register("cfl-mgd/assumption-2", label="Assumption 2", kind="hypothesis")
def assumption_2(context: Context) -> Finding:
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

    Checked
        On random tasks and pairs of points: the smallest ratio of the gap to (mu/2) ||.||^2.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(150)
    ratios = [curvature_ratios(random_mixture(stream), stream)[1] for _ in range(trials)]
    failures = sum(ratio < 1 - 1e-7 for ratio in ratios)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"smallest first-order gap / (mu/2 ||difference||^2) over {trials} tasks, 40 pairs a cluster",
        measured=min(ratios),
        bound=1.0,
        slack=min(ratios),
        trials=trials,
        failures=failures,
    )
