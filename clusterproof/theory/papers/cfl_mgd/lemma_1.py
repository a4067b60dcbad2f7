"""Lemma 1, (21)-(23): the probability that a client joins a wrong cluster, as printed, with Cantelli, and exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.checker.claims import Excluded, Sides, at_most, claim, equal, given, suppose
from clusterproof.checker.claims.frequency import Frequency, probability
from clusterproof.checker.claims.ranges import drawn, reals
from clusterproof.checker.claims.space import Replicates, Stream
from clusterproof.synthetic import RegressionMixture, TwoPointMixture, direct_simulation
from clusterproof.synthetic.misclassification import worst_case_error
from clusterproof.theory.exact.basin_pairs import Pair
from clusterproof.theory.exact.random_tasks import random_regression
from clusterproof.theory.exact.two_point_losses import TwoPointLosses

SomeRegression = Annotated[RegressionMixture, drawn(random_regression)]

CONSTANT = 128
"""Constant c_1 in the proof of Lemma 1, the sum of 64 from (29) and 64 from (30).

The constant c_1 of rho_0 in Theorem 1 is 3 times as large, by (A17).
"""


@claim(
    "cfl-mgd/equation-21", label="(21)", ill_posed=False, evaluations=80, expected="consistent, no sharpness"
)
def equation_21(task: SomeRegression, stream: Stream) -> dict[str, Sides | Excluded]:
    """A client joins cluster p only if its loss at model p is at most the loss at its own model.

    Hypotheses
        Client i belongs to cluster 1.

    Statement
        The event xi_i^(1,p) = {phi_i(chi_1; Y_i) >= phi_i(chi_p; Y_i)} contains the event that client i joins cluster
        p. For P = 2 both events are equal, up to ties.

    Source
        Zhao et al. (2023), (21), where a bracket is missing. For P > 2, the event is larger than the paper's "divided
        into p". By (21), xi^(p,p) would always occur, but the paper's prose calls it the correct choice.
    """
    suppose("two clusters or more", task.clusters > 1)
    models = task.optima + task.basin_radius * stream.uniform(-1, 1, task.optima.shape)
    clients = np.flatnonzero(task.labels == 0)
    losses = task.losses(models, np.repeat(clients, 50), stream)
    events = losses[:, :1] >= losses[:, 1:]
    joined = np.argmin(losses, axis=-1)[:, None] == np.arange(1, task.clusters)
    return {
        "joined": equal(((joined & ~events).sum(), 0)),
        "P = 2": given("P = 2", task.clusters == 2, lambda: equal(((joined != events).sum(), 0))),
    }


@claim(
    "cfl-mgd/lemma-1",
    label="Lemma 1, (22)",
    evaluations=200,
    expected="consistent, loose, best constant known",
    headline=True,
    places="(22); section 7",
)
def lemma_1(pair: Pair, *, c_1: float = CONSTANT, power_of_samples: float = 1) -> Sides:
    """A client prefers a given wrong model with probability at most c_1 sigma^2 / (Delta^4 mu^2 n').

    Hypotheses
        Assumptions 1-4 hold in the round: ||chi_p - chi*_p|| <= sqrt(mu/L) Delta / 4 for all p. Here sigma^2 bounds the
        variance of one sample's loss at the compared models.

    Statement
        P(phi_i(chi_p) >= phi_i(chi_p')) <= c_1 sigma^2 / (Delta^4 mu^2 n'), c_1 = 128.

    Source
        Zhao et al. (2023), Lemma 1 with (24)-(30). The constant is the sum of the constants in (29) and (30). (27)
        lacks a square. The constant 64 suffices, and no smaller constant does, for any n'. For Gaussian samples, the
        probability decreases exponentially in n'.
    """
    scale = pair.task.separation**4 * pair.task.strong_convexity**2 * pair.task.samples**power_of_samples
    return at_most(pair.exact, chebyshev=c_1 * pair.sigma**2 / scale)


@lemma_1.line("two values")
def lemma_1_of_two_values(
    law: TwoPointLosses, *, c_1: Fraction | float = CONSTANT, power_of_samples: float = 1
) -> Sides:
    """Check Lemma 1 for two-valued losses with mu = 1 and Delta = 2."""
    bound = c_1 * law.loss_variance / (16 * law.samples**power_of_samples)
    return at_most(law.error_probability, chebyshev=bound)


def crowd(clusters: int, rarity: float = 1e-4) -> TwoPointMixture:
    """Return clusters at the corners of a simplex with side 2. Rare jumps of the loss mislead clients of cluster 0."""
    optima = np.eye(clusters) * np.sqrt(2)
    towards = optima[0] - optima[1:].mean(axis=0)
    height = np.linalg.norm(towards)
    models = towards_one(optima, 0, 0.5)
    gap = ((models[1] - optima[0]) ** 2).sum() / 2 - ((models[0] - optima[0]) ** 2).sum() / 2
    lever = float((models[0] - models[1]) @ towards / height)
    jump = (1 + 1e-9) * gap / lever * np.sqrt(rarity / (1 - rarity))
    return TwoPointMixture(
        optima=optima,
        noise_gradients=jump * towards / height,
        centers=(models[0] + models[1]) / 2,
        rarity=rarity,
        labels=np.arange(clusters),
        samples=1,
    )


def towards_one(optima: np.ndarray, own: int, radius: float) -> np.ndarray:
    """Return models, (P, d), at a given distance from their optima, displaced towards the other clusters' models."""
    others = np.delete(optima, own, axis=0).mean(axis=0)
    directions = optima[own] - optima
    directions[own] = others - optima[own]
    return np.asarray(optima + radius * directions / np.linalg.norm(directions, axis=-1, keepdims=True))


@claim(
    "cfl-mgd/lemma-1-union",
    label="Lemma 1, (23)",
    evaluations=75,
    example={"task": crowd(20)},
    expected="consistent, loose, best constant known",
    headline=True,
    places="abstract; (23); section 7",
)
def lemma_1_union(
    task: Annotated[RegressionMixture | TwoPointMixture, drawn(random_regression)], stream: Stream
) -> Sides:
    """A client joins any wrong cluster with probability at most c_1 P sigma^2 / (Delta^4 mu^2 n').

    Hypotheses
        The hypotheses of (22) hold.

    Statement
        The paper prints the event of (22) in (23), but means the union of these events over p' != p. So P(some wrong
        model's loss is at most the own model's) <= c_1 P sigma^2 / (Delta^4 mu^2 n'). The check is stricter: it
        bounds the sum of the probabilities over p' != p, which is at least the probability of the union. The constant
        is c_1 = 128, as in ``cfl-mgd/lemma-1``.

    Source
        Zhao et al. (2023), Lemma 1, (23). For the sum of the probabilities, 64 (P - 1) instead of 128 P suffices, and
        is necessary as P grows.
    """
    suppose("two clusters or more", task.clusters > 1)
    offsets = stream.standard_normal((50, task.clusters, task.dimension))
    offsets /= np.linalg.norm(offsets, axis=-1, keepdims=True)
    drawn_ones = task.optima + task.basin_radius * offsets * stream.choice([1.0, 0.5], (50, 1, 1))
    exact, variances = [], []
    for cluster in range(task.clusters):
        models = np.concatenate([drawn_ones, [towards_one(task.optima, cluster, task.basin_radius)]])
        exact.append(task.misclassification_probability(models, cluster).sum(axis=-1))
        variances.append(task.loss_variance(models, cluster).max(axis=-1))
    scale = task.separation**4 * task.strong_convexity**2 * task.samples
    return at_most(np.array(exact), chebyshev=CONSTANT * task.clusters * np.array(variances) / scale)


def cantelli_bound(pair: Pair) -> float:
    """Return 64 sigma^2 / (64 sigma^2 + n' mu^2 Delta^4)."""
    variance, task = 64 * pair.sigma**2, pair.task
    return variance / (variance + task.samples * task.strong_convexity**2 * task.separation**4)


@claim(
    "cfl-mgd/lemma-1-cantelli",
    label="Lemma 1, Cantelli",
    source="ours",
    tight=True,
    evaluations=350,
    expected="consistent, tight within 2",
    headline=True,
)
def lemma_1_cantelli(pair: Pair) -> Sides:
    """A client prefers a given wrong model with probability at most 64 s^2 / (64 s^2 + n' mu^2 D^4).

    Hypotheses
        The hypotheses of Lemma 1 hold: models are in the paper's basin, and sigma^2 (s^2 in the title) bounds the
        variance of one sample's loss at the two models. Delta (D in the title) is the separation.

    Statement
        P(phi_i(chi_p) >= phi_i(chi_p')) <= 64 sigma^2 / (64 sigma^2 + n' mu^2 Delta^4).

    Proof
        Apply Cantelli's inequality to phi_i(chi_p) - phi_i(chi_p'). By (28) its mean is at most -mu Delta^2 / 4, and
        its variance is at most 4 sigma^2 / n'.

    Source
        Ours. For one sample, two-valued losses attain the bound.
    """
    return at_most(pair.exact, cantelli=cantelli_bound(pair))


@lemma_1_cantelli.line("two values")
def of_two_values(law: TwoPointLosses) -> Sides:
    """Check the bound for two-valued losses with mu = 1 and Delta = 2, in rational arithmetic."""
    variance = 64 * law.loss_variance
    return at_most(law.error_probability, cantelli=variance / (variance + 16 * law.samples))


def doubtful_regression(stream: np.random.Generator) -> RegressionMixture:
    """Draw a regression with so much noise and so few samples that some clients choose a wrong model."""
    task = random_regression(stream)
    rows = int(stream.choice([1, 2, 3, 10, 30]))
    return replace(task, covariance=task.covariances.matrices, noise=0.3 + task.noise, samples=rows)


@claim(
    "cfl-mgd/lemma-1-exact",
    label="Lemma 1, exact",
    source="ours",
    replicates=4000,
    evaluations=30,
    expected="consistent, no sharpness",
)
def lemma_1_exact(
    task: Annotated[RegressionMixture, drawn(doubtful_regression)], stream: Stream, replicates: Replicates
) -> Frequency:
    """The probability that a client prefers a wrong model is a tail of the F distribution.

    Hypotheses
        The task is a Gaussian regression with n' fresh samples, and the two models are arbitrary.

    Statement
        Let a and b be the variances of the residuals at the client's own and at the other model, and c their
        covariance. Then P(phi_i(own) >= phi_i(other)) = P(F_(n',n') >= (Q + A) / (Q - A)), A = b - a, Q = sqrt((a +
        b)^2 - 4 c^2).

    Proof
        Rotate the two residuals so that they are independent. Then the client compares two independent chi-square
        variables with n' degrees of freedom each.

    Source
        Ours. The claim replaces Lemma 1 for Gaussian regression.
    """
    suppose("two clusters or more", task.clusters > 1)
    models = task.optima + task.basin_radius * stream.uniform(-1, 1, task.optima.shape)
    clients = np.zeros(replicates, dtype=int)
    rows = direct_simulation.draw_data(clients, task.covariances, task.noise, task.samples, stream)
    losses = direct_simulation.losses(models, task.optima[clients], *rows)
    exact = float(task.misclassification_probability(models, 0)[1])
    return probability(losses[:, 0] >= losses[:, 1], equal=exact)


@claim(
    "cfl-mgd/lemma-1-worst-case",
    label="Lemma 1, worst case",
    source="ours",
    evaluations=200,
    expected="consistent, tight within 2",
    headline=True,
)
def lemma_1_worst_case(
    task: Annotated[RegressionMixture, drawn(random_regression)],
    share: Annotated[float, reals(Fraction(1, 20), Fraction(99, 100))],
    stream: Stream,
) -> Sides:
    """In the basin, a client prefers a given wrong model with probability at most pi_F, which has a closed form.

    Hypotheses
        The task is a Gaussian regression, and every model is at most B < Delta / (1 + sqrt(kappa)) from its optimum.

    Statement
        Let a = sqrt(L) B and b = sqrt(mu) (Delta - B). Then pi_F = P(F_(n',n') >= rho). If s^2 <= a b, rho = (s^2 +
        b^2) / (s^2 + a^2). Otherwise rho = (1 + u) / (1 - u) with u = sqrt(x / (x + 4)) and x = (b - a)^2 / s^2. So
        the probability of a misclassification decreases exponentially in n'.

    Source
        Ours. The bound is attained for kappa = 1.
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
