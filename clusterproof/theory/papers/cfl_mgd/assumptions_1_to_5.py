"""Claims about Assumptions 1 to 5."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.checker.claims import Q, Sides, among, at_least, at_most, claim, equal, suppose
from clusterproof.checker.claims.expectation import Expectation, expectation
from clusterproof.checker.claims.ranges import drawn
from clusterproof.checker.claims.space import Replicates, Stream
from clusterproof.synthetic import Mixture, RegressionMixture, direct_simulation
from clusterproof.theory.bounds.setting import setting_of
from clusterproof.theory.exact.prescribed_samples import exact_run
from clusterproof.theory.exact.random_tasks import random_mixture, random_regression

SomeMixture = Annotated[Mixture, drawn(random_mixture)]


def pairs_of_points(task: Mixture, stream: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw points chi and short and long differences chi' - chi for each cluster, (P, 40, d) each."""
    shape = (task.clusters, 40, task.dimension)
    points = task.optima[:, None] + 3 * stream.standard_normal(shape)
    return points, stream.standard_normal(shape) * 10.0 ** stream.uniform(-2, 1, (*shape[:2], 1))


@claim(
    "cfl-mgd/assumption-1",
    label="Assumption 1",
    evaluations=150,
    expected="consistent, tight within 2",
    headline=True,
)
def assumption_1(task: SomeMixture, stream: Stream) -> Sides:
    """The expected losses of the clusters are L-smooth, where L has a closed form for our tasks.

    Hypotheses
        The task is a regression, quadratic or ridge-logistic mixture.

    Statement
        ||grad phi_p(chi) - grad phi_p(chi')|| <= L ||chi - chi'|| for all chi, chi'. L is the largest eigenvalue of a
        covariance (regression) or of a mean Hessian (quadratics), or ridge + lambda_max(X'X / N) / 4 (logistic
        regression).

    Source
        Zhao et al. (2023), Assumption 1. On quadratics, equality can occur.
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


@claim(
    "cfl-mgd/assumption-2",
    label="Assumption 2",
    evaluations=150,
    expected="consistent, tight within 2",
    headline=True,
)
def assumption_2(task: SomeMixture, stream: Stream) -> Sides:
    """The clusters' expected losses are mu-strongly convex, where mu has a closed form for our tasks.

    Hypotheses
        The task is a regression, quadratic or ridge-logistic mixture.

    Statement
        phi_p(chi') >= phi_p(chi) + <grad phi_p(chi), chi' - chi> + (mu/2) ||chi' - chi||^2. mu is the smallest
        eigenvalue of a covariance (regression) or of a mean Hessian (quadratics), or the ridge (logistic regression).

    Source
        Zhao et al. (2023), Assumption 2. On quadratics, equality can occur.
    """
    points, steps = pairs_of_points(task, stream)
    gaps = np.zeros(points.shape[:2])
    for cluster, (point, step) in enumerate(zip(points, steps, strict=True)):
        before, after = task.expected_loss(point, cluster), task.expected_loss(point + step, cluster)
        linear = (task.expected_gradient(point, cluster) * step).sum(axis=-1)
        # add the largest rounding error of the difference
        gaps[cluster] = after - before - linear + 1e-14 * (before + after + np.abs(linear))
    return at_least(gaps, strong_convexity=task.strong_convexity / 2 * (steps**2).sum(axis=-1))


SomeRegression = Annotated[RegressionMixture, drawn(random_regression)]
POSITIVE = Q[Fraction(1, 10) :: 10]


@claim(
    "cfl-mgd/assumption-3",
    label="Assumption 3",
    repaired_by="cfl-mgd/assumption-3-ball",
    expected="vacuous",
    headline=True,
)
def assumption_3(
    deviation: Fraction = POSITIVE, curvature: Fraction = POSITIVE, noise: Fraction = POSITIVE
) -> Sides:
    """The variances of the loss and of the gradient are bounded on the whole space.

    Hypotheses
        The losses come from Gaussian linear regression. Other losses may satisfy the assumption.

    Statement
        For every chi and p, E (f(chi; y) - phi_p(chi))^2 <= sigma^2 and
        E ||grad f(chi; y) - grad phi_p(chi)||^2 <= v^2.

    Proved for
        One coordinate, where v, Sigma and the noise are at least 1/10. At the distance d = (v + 1) / Sigma from chi*,
        the variance of the gradient, 2 Sigma^2 d^2 + Sigma ``noise``^2, is above v^2.

    Proof that no quadratic satisfies it
        For f = chi' A_y chi / 2 - b_y' chi + c_y, Var f(t chi; y) is a polynomial in t. If it is bounded, its t^4
        coefficient Var(chi' A_y chi / 2) vanishes for all chi, so A_y is constant. Then the t^2 coefficient Var(b_y'
        chi) vanishes, so b_y is constant, and v = 0.

    Source
        Zhao et al. (2023), Assumption 3. The claim has one coordinate: v is the ``deviation``, and Sigma is the
        ``curvature``. ``cfl-mgd/assumption-3-ball`` restricts the assumption to a ball.
    """
    distance = (deviation + 1) / curvature
    variance = 2 * curvature**2 * distance**2 + curvature * noise**2
    suppose(
        "v^2 bounds the variance of the gradient at the distance (v + 1) / Sigma", variance <= deviation**2
    )
    return at_most(variance, square=deviation**2)


@assumption_3.step("along a ray", evaluations=20)
def along_a_ray(task: SomeRegression, stream: Stream) -> dict[str, Sides]:
    """Compare v^2 >= mu tr(Sigma) ||chi - chi*||^2 with random gradients."""
    distance, count = 100.0, 4000
    direction, spectrum = stream.standard_normal(task.dimension), task.covariances.eigenvalues[0]
    far = task.optima[0] + distance * direction / np.linalg.norm(direction)
    variance = float(task.gradient_variance(far, 0))
    labels = np.zeros(count, dtype=int)
    rows = direct_simulation.draw_data(labels, task.covariances, task.noise, 1, stream)
    models = np.broadcast_to(far, (count, task.dimension))
    drawn_variance = float(direct_simulation.gradients(models, task.optima[labels], *rows).var(axis=0).sum())
    return {
        "growth": at_least(variance, growth=float(spectrum.min() * spectrum.sum()) * distance**2),
        "drawn gradients": at_most(abs(drawn_variance - variance), half=variance / 2),
    }


@claim(
    "cfl-mgd/assumption-3-ball",
    label="Assumption 3",
    source="ours",
    evaluations=100,
    expected="consistent, tight within 2",
    headline=True,
)
def assumption_3_ball(task: SomeRegression, stream: Stream) -> dict[str, Sides]:
    """In the basin, the variances of Gaussian regression are bounded, with explicit constants.

    Hypotheses
        The task is a Gaussian regression, and every model is at most B from its optimum.

    Statement
        v^2(chi_p) <= v_*^2 + v_1^2 ||e||^2 for clients of the model's own cluster, with v_*^2 = s^2 tr(Sigma) and
        v_1^2 = L tr(Sigma) + L^2. For clients of another cluster, v^2(chi_q) <= tr(Sigma) (s^2 + L (D + B)^2) + L^2
        (D + B)^2. Moreover sigma^2 <= (s^2 + L (D + B)^2)^2 / 2 for both. Here s is the standard deviation of the
        noise, D is the diameter, and tr(Sigma) is the largest trace of a cluster's covariance.

    Source
        Ours. The bound for own clients is an equality for e = 0.
    """
    suppose("two clusters or more", task.clusters > 1)
    setting = setting_of(
        task, CFLMGD(step_size=1 / task.smoothness, momentum=0.0), np.zeros(task.clusters), 1
    )
    additive, multiplicative = setting.own_noise
    # models of all clusters, (60, P, d), on the boundary of the basin, inside it, and at the optima
    directions = stream.standard_normal((60, *task.optima.shape))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    lengths = setting.radius * stream.choice([1.0, 0.5, 0.0], (60, task.clusters))
    models = task.optima + lengths[..., None] * directions
    clusters = range(task.clusters)
    # the first index is the cluster of the clients, and the last index is the cluster of the model
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


@claim(
    "cfl-mgd/assumption-4",
    label="Assumption 4",
    ill_posed=True,
    repaired_by="cfl-mgd/theorem-d",
    expected="ill-posed",
    headline=True,
)
def assumption_4(shift: Fraction = among(Fraction(0), Fraction(100))) -> Sides:
    """The initial models are close to the optima, n' is large enough, and the optima have norms of order one.

    Statement
        ||chi_p^0 - chi*_p|| <= (1/4) sqrt(mu/L) Delta, n' >~ p sigma^2 / (mu^2 Delta^4) and max ||chi*_p|| <~ 1. The
        claim compares two scalar clusters with optima chi* = +-1 with the same clusters shifted by ``shift``.

    Source
        Zhao et al. (2023), Assumption 4. Theorem D states the requirements with all constants.
    """
    paths, norms = [], []
    for moved in (Fraction(0), shift):
        optima = [1 + moved, -1 + moved]
        starts = [optima[0] - Fraction(1, 2), optima[1] + Fraction(1, 2)]
        rounds = exact_run(optima, starts, momentum=Fraction(1, 2), rounds=30, reading="server")
        paths.append([model - moved for models in rounds.models for model in models])
        norms.append(max(map(abs, optima)))
    suppose("the algorithm does the same on both tasks", paths[0] == paths[1])
    words = (
        f"max ||chi*|| is {norms[0]} and {norms[1]} for two tasks on which the algorithm does the same, and the "
        "constants of '>~' and '<~' are free"
    )
    return equal((norms[0], norms[1]), words=words)


ROW = among(-1, 1)
"""A two-point distribution of a sample y."""


@claim(
    "cfl-mgd/assumption-5",
    label="Assumption 5",
    ill_posed=True,
    repaired_by="cfl-mgd/assumption-5-resampled",
    expected="ill-posed",
    headline=True,
)
def assumption_5(first: int = ROW, second: int = ROW) -> Sides:
    """E[g_i] equals the estimator that defines g_i.

    Statement
        E[g_i] = (hat grad) phi_i(chi_p). By line 7 of Algorithm 1, the right side is g_i itself. So the assumption
        states that a random variable equals its own mean. The check compares the gradients of two samples.

    Source
        Zhao et al. (2023), Assumption 5. Instead of it we check ``cfl-mgd/assumption-5-resampled``, which uses the
        resampling of the paper's Section 5.
    """
    values = [Fraction(1, 4) - y for y in (first, second)]
    words = (
        "line 7 defines g_i as the right side, so it says that a random variable is its own mean; with y = +-1 and "
        f"chi = 1/4 the right side takes the values {values[0]} and {values[1]}"
    )
    return equal((values[0], values[1]), words=words)


@claim(
    "cfl-mgd/assumption-5-resampled",
    label="Assumption 5, fresh batch",
    source="reading",
    replicates=100_000,
    expected="consistent, no sharpness",
    headline=True,
    places="section 5",
)
def assumption_5_resampled(
    samples: Annotated[int, among(4, 1)], stream: Stream, replicates: Replicates
) -> Expectation:
    """With a fresh batch, the gradient of a client that chose model p is unbiased for grad phi_p.

    Hypotheses
        Assignment and gradient use independent batches, as Section 5 of the paper resamples.

    Statement
        E[g_i | i in C_p] = grad phi_p(chi_p).

    Proof
        Each batch is one value of a random variable and has a probability. Summed over pairs of independent batches,
        choice times gradient factorises. Each sample's gradient has the mean grad phi_p, so the batch's mean gradient
        has the same mean.

    Source
        Zhao et al. (2023), Assumption 5, with the resampling in Section 5. On the batch that decides the choice, the
        gradient is biased, see ``cfl-mgd/algorithm-line-7-resampling``.
    """
    task = RegressionMixture(
        optima=np.array([[0.0], [0.5]]),
        covariance=np.ones(1),
        noise=1.0,
        labels=np.array([0, 1]),
        samples=samples,
    )
    models = np.array([[-0.1], [0.4]])
    clients = np.zeros(replicates, dtype=int)
    chosen = np.argmin(task.losses(models, clients, stream), axis=-1) == 0
    suppose("some client chose its own model", chosen.any())
    fresh = task.gradients(np.broadcast_to(models[0], (replicates, 1)), clients, stream)[chosen, 0]
    return expectation(fresh, equal=float(task.expected_gradient(models[0], 0)[0]))


WEIGHT, OTHER, ANY = Q[Fraction(1, 2) :: 2], Q[0::2], Q[::2]


@assumption_5_resampled.step("algebra", needed=False)
def factorises(
    first: Fraction = WEIGHT,
    second: Fraction = OTHER,
    third: Fraction = OTHER,
    chosen_first: Fraction = WEIGHT,
    chosen_second: Fraction = OTHER,
    chosen_third: Fraction = OTHER,
    gradient_first: Fraction = ANY,
    gradient_second: Fraction = ANY,
    gradient_third: Fraction = ANY,
) -> Sides:
    """Check the identity for one coordinate, summed over nine pairs of batches.

    A pair consists of one batch for the choice and one for the gradient. Each batch has three numbers: its weight,
    its gradient, and the probability that the client chooses the model with this batch, up to a common factor. The
    probability of a batch is its weight divided by the sum of all weights. The claim states that the sum over pairs
    factorises.
    """
    weights, gradients = (first, second, third), (gradient_first, gradient_second, gradient_third)
    choices = (chosen_first, chosen_second, chosen_third)
    pairs = [
        (w * u * c, g)
        for w, c in zip(weights, choices, strict=True)
        for u, g in zip(weights, gradients, strict=True)
    ]
    given_choice = sum(weight * gradient for weight, gradient in pairs) / sum(weight for weight, _ in pairs)
    mean = sum(w * g for w, g in zip(weights, gradients, strict=True)) / sum(weights)
    return equal((given_choice, mean))
