"""What every task says of itself, against brute force: shares, distances, starts, and clients that err."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from clusterproof.synthetic import QuadraticMixture, strategies

REGRESSION = strategies.regression_mixtures(smoothness=(0.2, 3), data=("population",))
QUADRATIC = strategies.quadratic_mixtures(smoothness=(0.2, 3), spread=(0, 2), shared_hessians=False)
LOGISTIC = strategies.logistic_mixtures(data=("population",))
ANY = REGRESSION | QUADRATIC | LOGISTIC


def population_gradient(task, clients, model):
    points = np.broadcast_to(model, (len(clients), len(model)))
    return task.gradients(points, np.array(clients), np.random.default_rng(0)).mean(axis=0)


def differences(function, model, step=1e-6):
    """Central differences of a function of one model."""
    units = np.eye(len(model)) * step
    return np.array([(function(model + unit) - function(model - unit)) / (2 * step) for unit in units])


@settings(max_examples=examples(40))
@given(QUADRATIC)
def test_the_client_smoothness_is_the_least_common_lipschitz_constant_of_the_clients_gradients(task):
    constants = [
        np.linalg.norm(differences(partial(population_gradient, task, [i]), np.zeros(task.dimension), 1.0), 2)
        for i in range(task.clients)
    ]
    assert task.client_smoothness == pytest.approx(max(constants), rel=1e-10)


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
def test_quadratic_clients_that_err_are_counted(task, seed):
    models = np.random.default_rng(seed).standard_normal((task.clusters, task.dimension))
    losses = task.losses(models, np.arange(task.clients), None)
    for cluster in range(task.clusters):
        members = losses[task.labels == cluster]
        mistakes = (members[:, [cluster]] >= members).mean(axis=0) * (np.arange(task.clusters) != cluster)
        found = task.misclassification_probability(models, cluster)
        np.testing.assert_allclose(found, mistakes, rtol=0, atol=1e-15)


def test_a_tie_counts_as_a_misclassification():
    task = QuadraticMixture(hessians=np.ones((2, 1, 1)), centers=[[0.0], [3.0]], labels=[0, 1])
    assert task.misclassification_probability(np.array([[1.0], [-1.0]]), 0).tolist() == [0, 1]


def test_spread_moves_clients_but_not_their_clusters_optimum():
    kept = {"clusters": 2, "clients": 400, "dimension": 3, "condition_number": 3, "seed": 1}
    near, far = (QuadraticMixture.random(spread=spread, **kept) for spread in (0, 0.5))
    np.testing.assert_allclose(far.optima, near.optima, rtol=0, atol=1e-12)
    assert (far.centers - far.client_optima).std() == pytest.approx(0.5, rel=0.1)
    np.testing.assert_allclose(near.centers, near.client_optima, rtol=0, atol=1e-12)
