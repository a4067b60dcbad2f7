"""Logistic optima against cvxpy, and a cluster's law by going through its rows."""

import math

import cvxpy as cp
import numpy as np
import pytest
import scipy.stats

from clusterproof.synthetic import LogisticMixture

TASK = LogisticMixture.random(
    clusters=3, clients=8, dimension=4, condition_number=20, support=60, proportions=[5, 2, 1], seed=3
)


def row_losses(cluster, model):
    """Written out row by row with the log of a sum of exponentials."""
    rows = zip(TASK.features[cluster], TASK.targets[cluster], strict=True)
    return [math.log1p(math.exp(-y * (x @ model))) + TASK.ridge / 2 * (model @ model) for x, y in rows]


def row_gradients(cluster, model):
    rows = zip(TASK.features[cluster], TASK.targets[cluster], strict=True)
    return np.array([-y * x / (1 + math.exp(y * (x @ model))) + TASK.ridge * model for x, y in rows])


def conic_optimum(weights):
    """Minimise the weighted mean of the clusters' losses with an interior-point method."""
    model = cp.Variable(TASK.dimension)
    losses = [
        weight * cp.sum(cp.logistic(-cp.multiply(targets, features @ model))) / len(targets)
        for weight, features, targets in zip(weights, TASK.features, TASK.targets, strict=True)
        if weight > 0
    ]
    problem = cp.Problem(cp.Minimize(sum(losses) + TASK.ridge / 2 * cp.sum_squares(model)))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status == cp.OPTIMAL
    return model.value, problem.value


@pytest.mark.parametrize("cluster", range(3))
def test_optima_are_those_of_a_conic_solver(cluster):
    point, value = conic_optimum(np.eye(3)[cluster])
    own = TASK.optima[cluster]
    np.testing.assert_allclose(own, point, rtol=0, atol=1e-5)
    assert abs(np.mean(row_losses(cluster, own)) - value) <= 1e-8
    assert np.mean(row_losses(cluster, own)) <= np.mean(row_losses(cluster, point)) * (1 + 1e-14)
    assert np.linalg.norm(row_gradients(cluster, own).mean(axis=0)) <= 1e-12


def test_the_pooled_optimum_is_that_of_a_conic_solver():
    point, value = conic_optimum(TASK.proportions)
    np.testing.assert_allclose(TASK.pooled_optimum, point, rtol=0, atol=1e-5)
    losses = [np.mean(row_losses(cluster, TASK.pooled_optimum)) for cluster in range(3)]
    assert abs(np.average(losses, weights=[5, 2, 1]) - value) <= 1e-8
    cluster_gradients = [row_gradients(cluster, TASK.pooled_optimum).mean(axis=0) for cluster in range(3)]
    assert np.linalg.norm(np.average(cluster_gradients, axis=0, weights=[5, 2, 1])) <= 1e-12


@pytest.mark.parametrize("cluster", range(3))
def test_means_and_variances_are_those_over_the_rows(cluster):
    model = np.array([0.4, -1.0, 0.3, 2.0])
    losses, gradients = np.array(row_losses(cluster, model)), row_gradients(cluster, model)
    assert TASK.expected_loss(model, cluster) == pytest.approx(losses.mean(), rel=1e-13)
    np.testing.assert_allclose(TASK.expected_gradient(model, cluster), gradients.mean(axis=0), atol=1e-13)
    assert TASK.loss_variance(model, cluster) == pytest.approx(losses.var(), rel=1e-11)
    spread = ((gradients - gradients.mean(axis=0)) ** 2).sum(axis=-1).mean()
    assert TASK.gradient_variance(model, cluster) == pytest.approx(spread, rel=1e-11)


def test_fresh_batches_have_the_means_and_variances_of_their_size():
    draws, count = 5_000, TASK.clients
    models = np.broadcast_to(np.random.default_rng(1).standard_normal((2, 4)), (draws, 2, 4))
    stream = np.random.default_rng(2)
    losses = TASK.losses(models, np.arange(count), stream)
    gradients = TASK.gradients(models[:, np.arange(count) % 2], np.arange(count), stream)
    for client, label in enumerate(TASK.labels):
        for p in range(2):
            mean, variance = TASK.expected_loss(models[0, p], label), TASK.loss_variance(models[0, p], label)
            error = np.sqrt(variance / TASK.samples / draws)
            assert abs(losses[:, client, p].mean() - mean) < 5 * error
            assert losses[:, client, p].var() == pytest.approx(variance / TASK.samples, rel=0.1)
        point = models[0, client % 2]
        gaps = gradients[:, client] - TASK.expected_gradient(point, label)
        scale = TASK.gradient_variance(point, label) / TASK.samples
        assert np.linalg.norm(gaps.mean(axis=0)) < 5 * np.sqrt(scale / draws)
        assert (gaps**2).sum(axis=-1).mean() == pytest.approx(scale, rel=0.1)


def test_clients_may_differ_between_replicates():
    population = LogisticMixture(
        features=TASK.features,
        targets=TASK.targets,
        ridge=TASK.ridge,
        labels=TASK.labels,
        samples=1,
        data="population",
    )
    clients = np.array([[0, 7], [5, 6]])
    models = np.random.default_rng(0).standard_normal((2, 3, 4))
    found = population.losses(models, clients, np.random.default_rng(0))
    gradients = population.gradients(models[:, :2], clients, np.random.default_rng(0))
    for replicate, position in np.ndindex(2, 2):
        label = TASK.labels[clients[replicate, position]]
        expected = [np.mean(row_losses(label, model)) for model in models[replicate]]
        np.testing.assert_allclose(found[replicate, position], expected, rtol=1e-12)
        expected = row_gradients(label, models[replicate, position]).mean(axis=0)
        np.testing.assert_allclose(gradients[replicate, position], expected, rtol=0, atol=1e-12)


def test_drawn_targets_follow_the_logistic_law_of_a_parameter_with_the_given_norm():
    """Stein's identity: for normal x, E yx has the parameter's direction and the length E z tanh(signal z / 2)."""
    rows, signal = 160_000, 1.7
    task = LogisticMixture.random(
        clusters=4, clients=4, dimension=3, condition_number=20, signal=signal, support=rows, seed=0
    )
    length = scipy.stats.norm.expect(lambda z: z * np.tanh(signal * z / 2))
    for features, targets in zip(task.features, task.targets, strict=True):
        assert np.linalg.norm(targets @ features / rows) == pytest.approx(length, abs=5 * math.sqrt(3 / rows))
