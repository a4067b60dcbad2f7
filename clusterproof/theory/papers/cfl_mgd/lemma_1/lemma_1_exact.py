"""Lemma 1 with the exact probability, for Gaussian regression."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.synthetic import RegressionMixture, direct_simulation
from clusterproof.synthetic.misclassification import worst_case_error
from clusterproof.theory.claims import (
    Frequency,
    Replicates,
    Sides,
    Stream,
    at_most,
    claim,
    drawn,
    probability,
    reals,
    suppose,
)
from clusterproof.theory.exact.random_tasks import random_regression


def doubtful_regression(stream: np.random.Generator) -> RegressionMixture:
    """Draw a regression with so much noise and so few rows that clients are wrong."""
    task = random_regression(stream)
    return RegressionMixture(
        optima=task.optima,
        covariance=task.covariances.matrices,
        noise=0.3 + task.noise,
        labels=task.labels,
        samples=int(stream.choice([1, 2, 3, 10, 30])),
    )


@claim("cfl-mgd/lemma-1-exact", label="Lemma 1, exact", judges="ours", replicates=4000, evaluations=12)
def lemma_1_exact(
    task: Annotated[RegressionMixture, drawn(doubtful_regression)], stream: Stream, replicates: Replicates
) -> Frequency:
    """The probability that a client prefers a wrong model is a tail of the F distribution.

    Hypotheses
        Gaussian regression, n' fresh rows, any two models.

    Statement
        With residual variances a (own) and b (other) and their covariance c,
        P(phi_i(own) >= phi_i(other)) = P(F_(n',n') >= (Q + A) / (Q - A)), A = b - a,
        Q = sqrt((a + b)^2 - 4 c^2).

    Proof
        Rotate the two residuals to independence; the comparison becomes one of two independent
        chi-square variables with n' degrees of freedom each.

    Source
        Ours; replaces Lemma 1 for Gaussian regression.
    """
    suppose("two clusters or more", task.clusters > 1)
    models = task.optima + task.basin_radius * stream.uniform(-1, 1, task.optima.shape)
    clients = np.zeros(replicates, dtype=int)
    rows = direct_simulation.draw_data(clients, task.covariances, task.noise, task.samples, stream)
    losses = direct_simulation.losses(models, task.optima[clients], *rows)
    exact = float(task.misclassification_probability(models, 0)[1])
    return probability(losses[:, 0] >= losses[:, 1], equal=exact)


@claim("cfl-mgd/lemma-1-worst-case", label="Lemma 1, worst case", judges="ours", evaluations=200)
def lemma_1_worst_case(
    task: Annotated[RegressionMixture, drawn(random_regression)],
    share: Annotated[float, reals(Fraction(1, 20), Fraction(99, 100))],
    stream: Stream,
) -> Sides:
    """No pair of models in the basin is mistaken more often than the closed-form worst case pi_F.

    Hypotheses
        Gaussian regression; models within B < Delta / (1 + sqrt(kappa)) of their optima.

    Statement
        With a = sqrt(L) B, b = sqrt(mu) (Delta - B): pi_F = P(F_(n',n') >= rho),
        rho = (s^2 + b^2) / (s^2 + a^2) if s^2 <= a b, else (1 + u) / (1 - u) with
        u = sqrt(x / (x + 4)), x = (b - a)^2 / s^2. So misclassification is exponentially rare in n'.

    Symbols
        B the radius, Delta ``separation``, s ``noise``, n' ``samples``.

    Source
        Ours. Upper bound; attained at kappa = 1.
    """
    suppose("two clusters or more", task.clusters > 1)
    radius = share * task.separation / (1 + np.sqrt(task.condition_number))
    allowed = worst_case_error(
        task.smoothness, task.strong_convexity, task.separation, task.noise, radius, task.samples
    )
    offsets = stream.standard_normal((100, task.clusters, task.dimension))
    offsets[:20, 0] = task.optima[1] - task.optima[0]
    offsets[:20, 1] = task.optima[0] - task.optima[1]
    models = task.optima + radius * offsets / np.linalg.norm(offsets, axis=-1, keepdims=True)
    exact = float(task.misclassification_probability(models, 0).max())
    return at_most(exact, pi=allowed)
