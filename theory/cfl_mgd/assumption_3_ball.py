"""Assumption 3 where it can hold: on the balls that the models stay in."""

from __future__ import annotations

import math

import numpy as np

from algorithms import CFLMGD
from synthetic import RegressionMixture
from theory.claim import Context, register
from theory.random_tasks import random_regression
from theory.settings import Setting, setting_of
from theory.verdict import Finding, Kind


def variance_ratios(task: RegressionMixture, setting: Setting, stream: np.random.Generator) -> float:
    """Smallest bound / variance over random models on the rim and inside of the balls."""
    additive, multiplicative = setting.own_noise
    reach = setting.diameter + setting.radius
    spread = 0.5 * (setting.noise**2 + setting.smoothness * reach**2) ** 2
    comparisons = []
    for cluster in range(task.clusters):
        directions = stream.standard_normal((60, task.dimension))
        directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
        lengths = setting.radius * stream.choice([1.0, 0.5, 0.0], (60, 1))
        near = task.optima[cluster] + lengths * directions
        own = additive + multiplicative * lengths[:, 0] ** 2
        comparisons.append((own, task.gradient_variance(near, cluster)))
        for other in range(task.clusters):
            far = task.optima[other] + lengths * directions
            comparisons.append((np.full(60, spread), task.loss_variance(far, cluster)))
            if other != cluster:
                foreign = task.gradient_variance(far, cluster)
                comparisons.append((np.full(60, setting.intruder_noise), foreign))
    return min(
        float((bound[variance > 0] / variance[variance > 0]).min(initial=math.inf))
        for bound, variance in comparisons
    )


@register("cfl-mgd/assumption-3-ball", label="Assumption 3 (ours)", kind="upper")
def assumption_3_ball(context: Context) -> Finding:
    """On the basin the variances of Gaussian regression are bounded, with explicit constants.

    Hypotheses
        Gaussian regression; models within B of their optima.

    Statement
        v^2(chi_p) <= v_*^2 + v_1^2 ||e||^2 for own clients, with v_*^2 = s^2 tr(Sigma) and
        v_1^2 = L tr(Sigma) + L^2; v^2(chi_q) <= tr(Sigma) (s^2 + L (D + B)^2) + L^2 (D + B)^2 for the
        clients of another cluster; sigma^2 <= (s^2 + L (D + B)^2)^2 / 2 for both.

    Symbols
        s ``noise``, D ``diameter``, B ``radius``, tr(Sigma) the largest trace of a cluster.

    Source
        Ours (audit of CFL-MGD, 2.1). Upper bound, attained at e = 0.

    Checked
        Closed-form variances of random regressions with a covariance of its own a cluster, at
        models in and on the basin.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(100)
    ratios = []
    for _ in range(trials):
        task = random_regression(stream)
        algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.0)
        setting = setting_of(task, algorithm, np.zeros(task.clusters), 1)
        ratios.append(variance_ratios(task, setting, stream))
    failures = sum(ratio < 1 - 1e-9 for ratio in ratios)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"smallest bound / variance over {trials} regressions, 60 models a cluster and kind",
        slack=min(ratios),
        trials=trials,
        failures=failures,
    )
