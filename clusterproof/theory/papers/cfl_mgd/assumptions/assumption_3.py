"""Assumption 3: variances bounded for every model."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.synthetic import RegressionMixture, direct_simulation
from clusterproof.theory.claims import Sides, Stream, at_least, at_most, claim, drawn, rationals, suppose
from clusterproof.theory.exact.random_tasks import random_regression

SomeRegression = Annotated[RegressionMixture, drawn(random_regression)]
Positive = Annotated[Fraction, rationals(Fraction(1, 10), 10, 10, upwards=True)]


def far_model(task: RegressionMixture, distance: float, stream: np.random.Generator) -> np.ndarray:
    """Draw a model at a distance from the first cluster's optimum, (d,)."""
    direction = stream.standard_normal(task.dimension)
    return np.asarray(task.optima[0] + distance * direction / np.linalg.norm(direction))


def least_growth(task: RegressionMixture) -> float:
    """mu tr(Sigma) of the first cluster, a lower bound on the growth of v^2 with the squared distance."""
    spectrum = task.covariances.eigenvalues[0]
    return float(spectrum.min() * spectrum.sum())


@claim("cfl-mgd/assumption-3", label="Assumption 3", repaired_by="cfl-mgd/assumption-3-ball")
def assumption_3(deviation: Positive, curvature: Positive, noise: Positive) -> Sides:
    """The variances of loss and gradient are bounded over all models.

    Hypotheses
        None: it is one.

    Statement
        For every chi and p, E (f(chi; y) - phi_p(chi))^2 <= sigma^2 and
        E ||grad f(chi; y) - grad phi_p(chi)||^2 <= v^2.

    Proof that quadratics admit none
        For f = chi' A_y chi / 2 - b_y' chi + c_y, Var f(t chi; y) is a polynomial in t. Bounded, its
        t^4 coefficient Var(chi' A_y chi / 2) vanishes for all chi, so A_y is constant; then its t^2
        coefficient Var(b_y' chi), so b_y is constant, and v = 0.

    Symbols
        sigma^2 ``loss_variance``, v^2 ``gradient_variance``; v ``deviation``, Sigma ``curvature`` of one coordinate.

    Source
        Zhao et al. (2023), Assumption 3. Read on a ball: ``cfl-mgd/assumption-3-ball``.
    """
    distance = (deviation + 1) / curvature
    variance = 2 * curvature**2 * distance**2 + curvature * noise**2
    suppose("v^2 bounds the variance of the gradient at every chi", variance <= deviation**2)
    return at_most(variance, square=deviation**2)


@assumption_3.step("along a ray", evaluations=20)
def along_a_ray(task: SomeRegression, stream: Stream) -> dict[str, Sides]:
    """v^2 >= mu tr(Sigma) ||chi - chi*||^2, by the closed form, compared with drawn gradients."""
    distance, count = 100.0, 4000
    far = far_model(task, distance, stream)
    variance = float(task.gradient_variance(far, 0))
    labels = np.zeros(count, dtype=int)
    rows = direct_simulation.draw_data(labels, task.covariances, task.noise, 1, stream)
    models = np.broadcast_to(far, (count, task.dimension))
    drawn_variance = float(direct_simulation.gradients(models, task.optima[labels], *rows).var(axis=0).sum())
    return {
        "growth": at_least(variance, growth=least_growth(task) * distance**2),
        "drawn gradients": at_most(abs(drawn_variance - variance), half=variance / 2),
    }
