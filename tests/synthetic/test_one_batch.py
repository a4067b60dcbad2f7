"""Losses, gradients and Hessian products of one batch: consistent, and of the right law."""

import copy

import numpy as np
import pytest
from scipy import stats

from clusterproof.synthetic import (
    LogCoshMixture,
    LogisticMixture,
    NoisyQuadraticMixture,
    QuadraticMixture,
    RegressionMixture,
    TwoPointMixture,
)

KEPT = {"clusters": 2, "clients": 4, "dimension": 3, "condition_number": 3.0, "seed": 1}
COVARIANCE = np.array([[[1.0, 0.3], [0.3, 0.5]], [[0.6, -0.2], [-0.2, 0.9]]])
ROTATED = {
    "optima": [[0.0, 0.0], [1.0, 2.0]],
    "covariance": COVARIANCE,
    "noise": 0.5,
    "labels": [0, 1, 1],
}
TASKS = {
    "exact": RegressionMixture.random(**KEPT, samples=6),
    "few samples": RegressionMixture.random(**KEPT, samples=2),
    "rotated": RegressionMixture(**ROTATED, samples=7),
    "direct": RegressionMixture(**ROTATED, samples=7, sampling="direct"),
    "fixed": RegressionMixture.random(**KEPT, samples=6, data="fixed"),
    "population": RegressionMixture.random(**KEPT, data="population"),
    "quadratic": QuadraticMixture.random(**KEPT, spread=0.5),
    "different Hessians": QuadraticMixture(
        hessians=[np.diag([1.0, 0.5]), [[0.6, -0.2], [-0.2, 0.9]]], centers=np.eye(2), labels=[0, 0]
    ),
    "logistic": LogisticMixture.random(**KEPT, samples=6),
    "logistic population": LogisticMixture.random(**KEPT, data="population"),
    "log-cosh": LogCoshMixture.random(**KEPT, samples=6, width=0.5),
    "log-cosh population": LogCoshMixture.random(**KEPT, data="population", width=0.5),
    "noisy quadratic": NoisyQuadraticMixture.random(**KEPT, spread=0.5, noise=2.0),
    "two-point": TwoPointMixture.random(clusters=2, clients=4, dimension=3, samples=6, seed=1),
}
ALL = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
WITHOUT_DRAWS = (
    "fixed",
    "population",
    "quadratic",
    "different Hessians",
    "logistic population",
    "log-cosh population",
)
SAME_DRAWS = (*WITHOUT_DRAWS, "direct", "log-cosh", "noisy quadratic", "two-point")


def models_of(task, count=3, lead=()):
    return task.pooled_optimum + np.random.default_rng(3).standard_normal((*lead, count, task.dimension))


@ALL
@pytest.mark.parametrize("lead", [(), (5,)])
def test_gradients_are_derivatives_of_the_losses_of_the_same_batch(task, lead):
    clients = np.arange(task.clients)
    models = models_of(task, lead=lead)
    stream = np.random.default_rng(0)

    def losses(moved):
        return task.losses_and_gradients(moved, clients, copy.deepcopy(stream))[0]

    _, gradients = task.losses_and_gradients(models, clients, copy.deepcopy(stream))
    assert gradients.shape == (*lead, task.clients, 3, task.dimension)
    for axis, step in enumerate(1e-4 * np.eye(task.dimension)):
        quotient = (losses(models + step) - losses(models - step)) / 2e-4
        np.testing.assert_allclose(gradients[..., axis], quotient, rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", SAME_DRAWS)
def test_both_answers_are_those_of_losses_and_gradients(name):
    """With rows drawn one by one, the same generator gives the same rows to each question."""
    task, clients = TASKS[name], np.arange(TASKS[name].clients)
    models = models_of(task)
    losses, gradients = task.losses_and_gradients(models, clients, np.random.default_rng(7))
    np.testing.assert_allclose(losses, task.losses(models, clients, np.random.default_rng(7)), rtol=1e-12)
    for number, model in enumerate(models):
        points = np.broadcast_to(model, (task.clients, task.dimension))
        expected = task.gradients(points, clients, np.random.default_rng(7))
        np.testing.assert_allclose(gradients[:, number], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", SAME_DRAWS)
def test_hessian_products_are_differences_of_gradients(name):
    task, clients = TASKS[name], np.arange(TASKS[name].clients)
    points, directions = models_of(task, task.clients), models_of(task, task.clients, (2,))[1]
    found = task.hessian_products(points, directions, clients, np.random.default_rng(7))
    assert not np.shares_memory(found, directions)
    ahead, behind = (
        task.gradients(points + s * 1e-4 * directions, clients, np.random.default_rng(7)) for s in (1, -1)
    )
    np.testing.assert_allclose(found, (ahead - behind) / 2e-4, rtol=0, atol=1e-7)


@pytest.mark.parametrize("samples", [1, 2, 7])
def test_the_exact_law_is_that_of_drawing_rows(samples):
    """Kolmogorov-Smirnov on projections of (loss, gradient) pairs and of Hessian products."""
    size = 6000
    drawn = []
    for sampling, seed in (("exact", 0), ("direct", 1)):
        task = RegressionMixture(**ROTATED, samples=samples, sampling=sampling)
        models = np.broadcast_to(models_of(task, 2), (size, 2, 2))
        stream = np.random.default_rng(seed)
        losses, gradients = task.losses_and_gradients(models, np.arange(3), stream)
        products = task.hessian_products(gradients[..., 0, :], np.ones((size, 3, 2)), np.arange(3), stream)
        drawn.append(np.concatenate([losses, gradients.reshape(size, 3, -1), products], axis=-1))
    directions = np.random.default_rng(5).standard_normal((12, drawn[0].shape[-1]))
    for client in (0, 1):
        for direction in [*np.eye(drawn[0].shape[-1]), *directions]:
            first, second = (sample[:, client] @ direction for sample in drawn)
            assert stats.ks_2samp(first, second).pvalue > 1e-6
