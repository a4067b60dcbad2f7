"""Assumption 3 where it can hold: on the balls that the models stay in."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.setting import setting_of
from clusterproof.theory.claims import Sides, Stream, at_most, claim, drawn, suppose
from clusterproof.theory.exact.random_tasks import random_regression


@claim("cfl-mgd/assumption-3-ball", label="Assumption 3", judges="ours", evaluations=100)
def assumption_3_ball(
    task: Annotated[RegressionMixture, drawn(random_regression)], stream: Stream
) -> dict[str, Sides]:
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
        Ours. Upper bound, attained at e = 0.
    """
    suppose("two clusters or more", task.clusters > 1)
    setting = setting_of(
        task, CFLMGD(step_size=1 / task.smoothness, momentum=0.0), np.zeros(task.clusters), 1
    )
    additive, multiplicative = setting.own_noise
    # models of all clusters, (60, P, d), on the rim, inside and at the optima
    directions = stream.standard_normal((60, *task.optima.shape))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    lengths = setting.radius * stream.choice([1.0, 0.5, 0.0], (60, task.clusters))
    models = task.optima + lengths[..., None] * directions
    clusters = range(task.clusters)
    # of clients of the first index at models of the last
    gradients = np.stack([task.gradient_variance(models, cluster) for cluster in clusters])
    losses = np.stack([task.loss_variance(models, cluster) for cluster in clusters])
    foreign = ~np.eye(task.clusters, dtype=bool)
    reach = setting.diameter + setting.radius
    return {
        "own": at_most(
            np.stack([gradients[cluster, :, cluster] for cluster in clusters], axis=-1),
            floor=additive,
            growth=multiplicative * lengths**2,
        ),
        "foreign": at_most(np.moveaxis(gradients, 1, 2)[foreign], false_members=setting.foreign_noise),
        "loss": at_most(losses, spread=0.5 * (setting.noise**2 + setting.smoothness * reach**2) ** 2),
    }
