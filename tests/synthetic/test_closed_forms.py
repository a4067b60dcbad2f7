"""What every task says of itself, against brute force: optima, curvatures, shares, distances."""

import itertools
from functools import partial

import numpy as np
import pytest
from example_counts import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from clusterproof.synthetic import LogisticMixture, QuadraticMixture, RegressionMixture, strategies

REGRESSION = strategies.regression_mixtures(smoothness=(0.2, 3), data=("population",))
QUADRATIC = strategies.quadratic_mixtures(smoothness=(0.2, 3), spread=(0, 2), shared_hessians=False)
LOGISTIC = strategies.logistic_mixtures(data=("population",))
FLAT_AND_STEEP = [[[1.0, 0.3], [0.3, 0.5]], [[3.0, 0.1], [0.1, 0.2]]]
"""Covariances of two clusters, of which the second has the largest and the smallest curvature."""
ANY = REGRESSION | QUADRATIC | LOGISTIC


def with_covariances(covariance):
    options = {"samples": 1, "data": "population"}
    return RegressionMixture(optima=np.eye(2), covariance=covariance, noise=1, labels=[0, 1], **options)


def population_loss(task, cluster, model):
    """Return the mean loss of the cluster's clients, asked one by one through the task's protocol."""
    clients = np.flatnonzero(task.labels == cluster)
    losses = task.losses(model[None, :], clients, np.random.default_rng(0))
    return float(losses.mean())


def population_gradient(task, clients, model):
    points = np.broadcast_to(model, (len(clients), len(model)))
    return task.gradients(points, np.array(clients), np.random.default_rng(0)).mean(axis=0)


def differences(function, model, step=1e-6):
    """Central differences of a function of one model."""
    units = np.eye(len(model)) * step
    return np.array([(function(model + unit) - function(model - unit)) / (2 * step) for unit in units])


@pytest.mark.slow(reason="a second or more")
@settings(max_examples=examples(40))
@given(ANY)
def test_optima_are_minimisers_of_the_clusters_losses(task):
    for cluster in range(task.clusters):
        start = np.zeros(task.dimension)
        found = minimize(partial(population_loss, task, cluster), start, tol=1e-12)
        np.testing.assert_allclose(task.optima[cluster], found.x, rtol=0, atol=2e-5)
        gradient = population_gradient(task, np.flatnonzero(task.labels == cluster), task.optima[cluster])
        assert np.linalg.norm(gradient) <= 1e-11


@settings(max_examples=examples(40))
@given(ANY)
def test_the_pooled_optimum_minimises_the_mean_over_clients(task):
    gradient = population_gradient(task, np.arange(task.clients), task.pooled_optimum)
    assert np.linalg.norm(gradient) <= 1e-11

    def mean_loss(model):
        all_clients = np.arange(task.clients)
        return float(task.losses(model[None, :], all_clients, np.random.default_rng(0)).mean())

    found = minimize(mean_loss, np.zeros(task.dimension), tol=1e-12)
    np.testing.assert_allclose(task.pooled_optimum, found.x, rtol=0, atol=2e-5)


@settings(max_examples=examples(40))
@given(ANY, st.integers(0, 5))
def test_expected_losses_and_gradients_are_the_means_over_clients(task, seed):
    models = task.optima.mean(axis=0) + np.random.default_rng(seed).standard_normal((2, 4, task.dimension))
    for cluster in range(task.clusters):
        losses = task.expected_loss(models, cluster)
        gradients = task.expected_gradient(models, cluster)
        assert losses.shape == (2, 4)
        for index in np.ndindex(2, 4):
            model = models[index]
            assert losses[index] == pytest.approx(population_loss(task, cluster, model), rel=1e-12)
            difference_quotient = differences(partial(population_loss, task, cluster), model)
            np.testing.assert_allclose(
                gradients[index], difference_quotient, rtol=0, atol=1e-7 * (1 + losses[index])
            )


@settings(max_examples=examples(40))
@given(REGRESSION | QUADRATIC)
@example(with_covariances(FLAT_AND_STEEP))
@example(with_covariances(FLAT_AND_STEEP[::-1]))
def test_smoothness_and_strong_convexity_are_the_extreme_curvatures(task):
    curvatures = []
    for cluster in range(task.clusters):
        columns = differences(
            partial(population_gradient, task, np.flatnonzero(task.labels == cluster)),
            np.zeros(task.dimension),
            step=1.0,
        )
        curvatures.extend(np.linalg.eigvalsh((columns + columns.T) / 2))
    assert task.smoothness == pytest.approx(max(curvatures), rel=1e-10)
    assert task.strong_convexity == pytest.approx(min(curvatures), rel=1e-10)
    assert task.condition_number == pytest.approx(max(curvatures) / min(curvatures), rel=1e-10)


@settings(max_examples=examples(40))
@given(QUADRATIC)
def test_the_client_smoothness_is_the_least_common_lipschitz_constant_of_the_clients_gradients(task):
    constants = [
        np.linalg.norm(differences(partial(population_gradient, task, [i]), np.zeros(task.dimension), 1.0), 2)
        for i in range(task.clients)
    ]
    assert task.client_smoothness == pytest.approx(max(constants), rel=1e-10)


@settings(max_examples=examples(40))
@given(LOGISTIC, st.floats(0, 5), st.integers(0, 5))
def test_logistic_curvatures_lie_between_the_guarantees_and_reach_the_upper_one(task, size, seed):
    model = size * np.random.default_rng(seed).standard_normal(task.dimension)
    at_zero = []
    for cluster in range(task.clusters):
        members = np.flatnonzero(task.labels == cluster)
        for point, bound in ((model, []), (np.zeros(task.dimension), at_zero)):
            hessian = differences(partial(population_gradient, task, members), point)
            bound.extend(np.linalg.eigvalsh((hessian + hessian.T) / 2))
            assert max(bound) <= task.smoothness + 1e-6
            assert min(bound) >= task.strong_convexity - 1e-6
    assert task.smoothness == pytest.approx(max(at_zero), abs=1e-6)


@settings(max_examples=examples(40))
@given(ANY)
def test_proportions_and_distances_are_counted(task):
    counts = [task.labels.tolist().count(cluster) for cluster in range(task.clusters)]
    assert task.proportions == pytest.approx(np.array(counts) / task.clients, rel=1e-14)
    pairs = itertools.combinations(task.optima, 2)
    gaps = [float(np.sqrt(((one - two) ** 2).sum())) for one, two in pairs]
    assert task.separation == pytest.approx(min(gaps, default=np.inf), rel=1e-13)
    assert task.diameter == pytest.approx(max(gaps, default=0.0), rel=1e-13)
    radius = 0.25 * np.sqrt(task.strong_convexity / task.smoothness) * task.separation
    assert task.basin_radius == pytest.approx(radius, rel=1e-13)
    np.testing.assert_array_equal(task.client_optima, [task.optima[label] for label in task.labels])


@settings(max_examples=examples(40))
@given(REGRESSION | QUADRATIC, st.integers(1, 4), st.integers(0, 3))
def test_runs_start_where_the_docstring_says(task, count, seed):
    start = task.initial_models(count, (3,), np.random.default_rng(seed))
    assert start.shape == (3, count, task.dimension)
    if task.clusters == 1:
        centers, radius = task.optima[0], 1.0
    elif count == task.clusters:
        centers, radius = task.optima, 0.5 * task.basin_radius
    else:
        centers, radius = task.pooled_optimum, 0.5 * task.separation
    assert np.linalg.norm(start - centers, axis=-1) == pytest.approx(np.full((3, count), radius))


@settings(max_examples=examples(40))
@given(QUADRATIC, st.integers(0, 5))
def test_a_quadratic_cluster_varies_as_its_clients_do(task, seed):
    stream = np.random.default_rng(seed)
    models = stream.standard_normal((task.clusters, task.dimension))
    for cluster in range(task.clusters):
        clients = [i for i, label in enumerate(task.labels) if label == cluster]
        losses, gradients, mistakes = [], [], np.zeros(task.clusters)
        for i in clients:
            values = []
            for model in models:
                gap = model - task.centers[i]
                values.append(0.5 * gap @ task.hessians[i] @ gap)
            losses.append(values[cluster])
            gradients.append(task.hessians[i] @ (models[cluster] - task.centers[i]))
            mistakes += [float(p != cluster and values[cluster] >= values[p]) for p in range(task.clusters)]
        variance = np.mean((np.array(losses) - np.mean(losses)) ** 2)
        spread = np.mean(((np.array(gradients) - np.mean(gradients, axis=0)) ** 2).sum(axis=-1))
        model = models[cluster]
        assert task.loss_variance(model, cluster) == pytest.approx(variance, rel=1e-9, abs=1e-12)
        assert task.gradient_variance(model, cluster) == pytest.approx(spread, rel=1e-9, abs=1e-12)
        found = task.misclassification_probability(models, cluster)
        np.testing.assert_allclose(found, mistakes / len(clients), rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", [RegressionMixture, QuadraticMixture])
@pytest.mark.parametrize(
    ("clusters", "dimension", "condition"), [(1, 1, 1), (2, 1, 1), (3, 4, 7.0), (5, 2, 100)]
)
def test_random_tasks_are_as_ordered(kind, clusters, dimension, condition):
    task = kind.random(
        clusters=clusters, clients=11, dimension=dimension, condition_number=condition, separation=3, seed=4
    )
    assert (task.clusters, task.clients, task.dimension) == (clusters, 11, dimension)
    assert task.smoothness == pytest.approx(1)
    assert task.condition_number == pytest.approx(condition)
    assert clusters == 1 or task.separation == pytest.approx(3)
    assert np.abs(task.proportions * 11 - 11 / clusters).max() < 1


def test_a_tie_counts_as_a_misclassification():
    task = QuadraticMixture(hessians=np.ones((2, 1, 1)), centers=[[0.0], [3.0]], labels=[0, 1])
    assert task.misclassification_probability(np.array([[1.0], [-1.0]]), 0).tolist() == [0, 1]


def test_spread_moves_clients_but_not_their_clusters_optimum():
    kept = {"clusters": 2, "clients": 400, "dimension": 3, "condition_number": 3, "seed": 1}
    near, far = (QuadraticMixture.random(spread=spread, **kept) for spread in (0, 0.5))
    np.testing.assert_allclose(far.optima, near.optima, rtol=0, atol=1e-12)
    assert (far.centers - far.client_optima).std() == pytest.approx(0.5, rel=0.1)
    np.testing.assert_allclose(near.centers, near.client_optima, rtol=0, atol=1e-12)


def test_a_random_logistic_task_has_the_guaranteed_condition_number():
    task = LogisticMixture.random(clusters=3, clients=7, dimension=4, condition_number=12.0, seed=2)
    assert task.condition_number == pytest.approx(12)
    assert task.features.shape == (3, 200, 4)
