"""Closed forms and samplers against the definition of one row, by enumerating quadratures instead of drawing.

Losses and gradients are polynomials of degree 2 in the normal numbers of a row, and their second moments of degree
4, so that a Gaussian quadrature of three nodes gives means and covariances up to rounding.
"""

import functools
import itertools
import math

import numpy as np
import pytest
from scipy.special import roots_genlaguerre

from clusterproof.synthetic import (
    LogCoshMixture,
    LogisticMixture,
    NoisyQuadraticMixture,
    QuadraticMixture,
    RegressionMixture,
    TwoPointMixture,
)
from clusterproof.synthetic.exact_law import draw_moments

ROUNDING = {"rtol": 1e-12, "atol": 1e-12}
"""Moments are of order 1, and sums of at most some thousand terms."""


@functools.cache
def gamma_nodes(shape):
    nodes, weights = roots_genlaguerre(2, shape - 1)
    return nodes, weights / weights.sum()


class Nodes:
    """A generator that returns, for each number drawn, the quadrature node that ``path`` names.

    Three nodes of a normal number are exact up to degree 5 and two of a gamma number up to degree 3; odd powers of
    the root of a gamma number are only multiplied by odd powers of normal numbers, whose mean is 0.
    """

    def __init__(self, path):
        self.path, self.drawn, self.weight = path, 0, 1.0

    def pick(self, nodes, weights=None):
        """Return one of the nodes, whose probabilities are the weights (by default equal)."""
        if self.drawn == len(self.path):
            self.path.append([0, len(nodes)])
        index = self.path[self.drawn][0]
        self.drawn += 1
        self.weight *= 1 / len(nodes) if weights is None else weights[index]
        return nodes[index]

    def _array(self, size, nodes, weights):
        drawn = [self.pick(nodes, weights) for _ in range(math.prod(size))]
        return np.reshape(drawn, (*size, *np.shape(nodes)[1:]))

    def standard_normal(self, size):
        return self._array(size, (-math.sqrt(3), 0.0, math.sqrt(3)), (1 / 6, 2 / 3, 1 / 6))

    def standard_gamma(self, shape, size):
        (shape,) = set(np.ravel(shape))
        return self._array(size, *gamma_nodes(float(shape)))

    def binomial(self, count, probability, size):
        successes = self._array((*size, count), [1, 0], [probability, 1 - probability])
        return successes.sum(axis=-1)

    def multinomial(self, count, probabilities, size):
        rows = self._array((*size, count), np.eye(len(probabilities)), probabilities)
        return rows.sum(axis=-2)


def moments(ask):
    """Return the mean and the covariance matrix of the numbers ``ask(generator)``."""
    path, weights, values = [], [], []
    while True:
        nodes = Nodes(path)
        values.append(np.ravel(ask(nodes)))
        weights.append(nodes.weight)
        while path and path[-1][0] == path[-1][1] - 1:
            path.pop()
        if not path:
            break
        path[-1][0] += 1
    assert sum(weights) == pytest.approx(1, rel=1e-12)
    mean = np.array(weights) @ values
    away = values - mean
    return mean, (away.T * weights) @ away


FULL = np.array([[[1.0, 0.3], [0.3, 0.5]], [[0.6, -0.2], [-0.2, 1.4]]])
DIAGONAL = np.array([np.diag([1.0, 0.4]), np.diag([0.3, 0.9])])
LABELS = [0, 1, 1]
OPTIMA = [[0.5, -0.25], [-1.0, 0.75]]
REGRESSION = {"optima": OPTIMA, "noise": 0.75, "labels": LABELS}
QUADRATIC = {
    "hessians": [*FULL, [[0.8, 0.1], [0.1, 0.3]]],
    "centers": [[0.5, 0.0], [-1.0, 0.25], [-0.5, 1.25]],
    "labels": LABELS,
}
TASKS = {
    "regression": RegressionMixture(**REGRESSION, covariance=FULL, samples=3),
    "diagonal covariances": RegressionMixture(**REGRESSION, covariance=DIAGONAL, samples=3),
    "fewer rows than models": RegressionMixture(**REGRESSION, covariance=FULL, samples=1),
    "row by row": RegressionMixture(**REGRESSION, covariance=FULL, samples=2, sampling="direct"),
    "quadratic": QuadraticMixture(**QUADRATIC),
    "noisy quadratic": NoisyQuadraticMixture(**QUADRATIC, covariance=[[2.0, 0.6], [0.6, 0.5]]),
    "logistic": LogisticMixture(
        features=np.random.default_rng(0).standard_normal((2, 4, 2)),
        targets=[[1, -1, 1, 1], [-1, -1, 1, -1]],
        ridge=0.3,
        labels=LABELS,
        samples=2,
    ),
    "log-cosh": LogCoshMixture(
        optima=OPTIMA, valley_curvature=0.2, width=0.4, noise=1.5, labels=LABELS, samples=2
    ),
    "two-point": TwoPointMixture(
        optima=OPTIMA,
        noise_gradients=[[0.5, 1.0], [-0.3, 0.2]],
        centers=[[0.1, 0.0], [0.4, -0.6]],
        rarity=0.2,
        labels=LABELS,
        samples=2,
    ),
}
ALL = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
SUMMED = pytest.mark.parametrize("name", ["regression", "diagonal covariances", "log-cosh"])
MODELS = np.array([[0.75, -1.0], [-0.5, 0.25]])


def row(task, cluster, models, nodes):
    """Return the losses (P,) and gradients (P, d) of one row, as the docstring of the task defines them."""
    if isinstance(task, QuadraticMixture | NoisyQuadraticMixture):
        client = nodes.pick(np.flatnonzero(task.labels == cluster))
        away = models - task.centers[client]
        gradients = away @ task.hessians[client]
        noise = np.zeros(2)
        if isinstance(task, NoisyQuadraticMixture):
            noise = np.linalg.cholesky(task.covariance) @ nodes.standard_normal((2,))
        return (away * gradients).sum(axis=-1) / 2 + away @ noise, gradients + noise
    away = models - task.optima[cluster]
    if isinstance(task, RegressionMixture):
        features = np.linalg.cholesky(task.covariance[cluster]) @ nodes.standard_normal((2,))
        residuals = away @ features - task.noise * nodes.standard_normal((1,))
        return residuals**2 / 2, residuals[:, None] * features
    if isinstance(task, LogisticMixture):
        signed = nodes.pick(task.features[cluster] * task.targets[cluster][:, None])
        odds = np.exp(models @ signed)
        penalties = task.ridge * (models**2).sum(axis=-1) / 2
        return np.log(1 + 1 / odds) + penalties, task.ridge * models - signed / (1 + odds)[:, None]
    if isinstance(task, LogCoshMixture):
        flat, width = 1 - task.valley_curvature, task.width
        noise = task.noise / 2**0.5 * nodes.standard_normal((2,))
        losses = (away**2 / 2 - flat * width**2 * np.log(np.cosh(away / width))).sum(axis=-1)
        return losses + away @ noise, away - flat * width * np.tanh(away / width) + noise
    rare = math.sqrt((1 - task.rarity) / task.rarity)
    z = nodes.pick([rare, -1 / rare], [task.rarity, 1 - task.rarity])
    tilts = z * (models - task.centers[cluster]) @ task.noise_gradients[cluster]
    return (away**2).sum(axis=-1) / 2 + tilts, away + z * task.noise_gradients[cluster]


def loss_moments(task, cluster, models):
    return moments(lambda nodes: row(task, cluster, models, nodes)[0])


def gradient_moments(task, cluster, model):
    return moments(lambda nodes: row(task, cluster, model[None, :], nodes)[1])


def rows(task):
    return getattr(task, "samples", 1)


@ALL
@pytest.mark.parametrize("cluster", [0, 1])
def test_closed_forms_are_the_moments_of_one_row(task, cluster):
    for model in (*MODELS, task.optima[cluster], 10 * MODELS[0]):
        scale = {"rtol": 1e-12, "atol": 1e-14 * (1 + model @ model) ** 2}
        (loss,), ((variance,),) = loss_moments(task, cluster, model[None, :])
        np.testing.assert_allclose(task.expected_loss(model, cluster), loss, **scale)
        np.testing.assert_allclose(task.loss_variance(model, cluster), variance, **scale)
        gradient, covariance = gradient_moments(task, cluster, model)
        np.testing.assert_allclose(task.expected_gradient(model, cluster), gradient, **scale)
        np.testing.assert_allclose(task.gradient_variance(model, cluster), np.trace(covariance), **scale)


@ALL
def test_mean_gradients_vanish_at_the_optima(task):
    """A point whose gradient has norm g is at most g / mu away from the minimiser."""
    for cluster, optimum in enumerate(task.optima):
        assert np.abs(gradient_moments(task, cluster, optimum)[0]).max() < 1e-13
    pooled = [gradient_moments(task, cluster, task.pooled_optimum)[0] for cluster in task.labels]
    assert np.abs(np.mean(pooled, axis=0)).max() < 1e-13


@ALL
def test_the_constants_are_the_extreme_curvatures(task):
    """Eigenvalues of 2 x 2 matrices by the quadratic formula; of the logistic loss the bounds, at 1/4 and at 0."""
    identity = np.eye(2)
    if isinstance(task, RegressionMixture):
        matrices = task.covariance
    elif isinstance(task, QuadraticMixture | NoisyQuadraticMixture):
        matrices = [task.hessians[0], (task.hessians[1] + task.hessians[2]) / 2]
    elif isinstance(task, LogisticMixture):
        matrices = [task.ridge * identity]
        matrices += [task.ridge * identity + features.T @ features / 16 for features in task.features]
    else:
        matrices = [getattr(task, "valley_curvature", 1.0) * identity, identity]
    eigenvalues = [
        (a + c + sign * math.hypot(a - c, 2 * b)) / 2 for (a, b), (_, c) in matrices for sign in (-1, 1)
    ]
    assert task.smoothness == pytest.approx(max(eigenvalues), rel=1e-13)
    assert task.strong_convexity == pytest.approx(min(eigenvalues), rel=1e-13)


@ALL
@pytest.mark.parametrize("cluster", [0, 1])
def test_batches_have_the_moments_of_their_rows(task, cluster):
    """Of any client of the cluster; covariances are those of a row over the number of rows."""
    members = np.flatnonzero(task.labels == cluster)
    found = moments(lambda nodes: task.losses(MODELS, np.array([nodes.pick(members)]), nodes))
    mean, covariance = loss_moments(task, cluster, MODELS)
    np.testing.assert_allclose(found[0], mean, **ROUNDING)
    np.testing.assert_allclose(found[1], covariance / rows(task), **ROUNDING)
    found = moments(lambda nodes: task.gradients(MODELS[:1], np.array([nodes.pick(members)]), nodes))
    mean, covariance = gradient_moments(task, cluster, MODELS[0])
    np.testing.assert_allclose(found[0], mean, **ROUNDING)
    np.testing.assert_allclose(found[1], covariance / rows(task), **ROUNDING)


@ALL
def test_clients_are_independent(task):
    if rows(task) > 1 and getattr(task, "sampling", "") == "direct":
        task = RegressionMixture(**REGRESSION, covariance=FULL, samples=1, sampling="direct")
    for ask, size in (
        (lambda nodes: task.losses(MODELS[:1], np.array([0, 1]), nodes), 1),
        (lambda nodes: task.gradients(MODELS, np.array([0, 1]), nodes), 2),
    ):
        _, covariance = moments(ask)
        np.testing.assert_allclose(covariance[:size, size:], 0, atol=1e-12)


@SUMMED
def test_pooled_sums_have_the_moments_of_added_gradients(name):
    """Clients of both clusters, two of them of one, choose the last model."""
    task = TASKS[name]
    chosen = np.array([1, 1, 1])
    found = moments(lambda nodes: task.gradient_sums(MODELS, np.arange(3), chosen, nodes))
    mean, covariance = np.zeros((2, 2)), np.zeros((4, 4))
    for cluster, model in zip(LABELS, chosen, strict=True):
        gradient, spread = gradient_moments(task, cluster, MODELS[model])
        mean[model] += gradient
        block = slice(2 * model, 2 * model + 2)
        covariance[block, block] += spread / task.samples
    np.testing.assert_allclose(found[0], mean.ravel(), **ROUNDING)
    np.testing.assert_allclose(found[1], covariance, **ROUNDING)


@pytest.mark.parametrize("name", ["noisy quadratic", "log-cosh"])
@pytest.mark.parametrize("cluster", [0, 1])
def test_clients_err_where_a_normal_difference_of_losses_is_positive(name, cluster):
    """The difference has the moments of a row, one client of a quadratic cluster after the other."""
    task, parts = TASKS[name], [(TASKS[name], cluster)]
    if name == "noisy quadratic":
        clients = np.flatnonzero(task.labels == cluster)[:, None]
        arguments = {"covariance": task.covariance, "labels": [0]}
        parts = [
            (NoisyQuadraticMixture(hessians=task.hessians[i], centers=task.centers[i], **arguments), 0)
            for i in clients
        ]
    own_less_other = np.array([1, -1]) * (-1) ** cluster
    chances = []
    for part, label in parts:
        mean, covariance = loss_moments(part, label, MODELS)
        deviation = math.sqrt(own_less_other @ covariance @ own_less_other / rows(task))
        chances.append(math.erfc(-own_less_other @ mean / deviation / math.sqrt(2)) / 2)
    found = task.misclassification_probability(MODELS, cluster)
    assert found[cluster] == 0
    assert found[1 - cluster] == pytest.approx(np.mean(chances), rel=1e-12)


@pytest.mark.parametrize("samples", [1, 2, 5])
def test_the_wishart_matrix_has_the_moments_of_the_textbook(samples):
    """E W_ij = n d_ij and Cov(W_ij, W_kl) = n (d_ik d_jl + d_il d_jk), for W / n of three columns."""

    def ask(nodes):
        gram, cross, constant = draw_moments((), 2, samples, nodes)
        return np.block([[gram, cross[:, None]], [cross[None, :], constant]])

    mean, covariance = moments(ask)
    equal = np.eye(3)
    expected = [
        equal[i, k] * equal[j, m] + equal[i, m] * equal[j, k]
        for i, j, k, m in itertools.product(range(3), repeat=4)
    ]
    np.testing.assert_allclose(mean, equal.ravel(), **ROUNDING)
    np.testing.assert_allclose(covariance, np.reshape(expected, (9, 9)) / samples, **ROUNDING)
