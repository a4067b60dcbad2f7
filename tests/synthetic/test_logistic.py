"""The logistic mixture: clients in each replicate, the law of its targets; and the log-cosh mixture."""

import dataclasses
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from clusterproof.synthetic import LogCoshMixture, LogisticMixture

TASK = LogisticMixture.random(
    clusters=3, clients=8, dimension=4, condition_number=20, support=60, proportions=[5, 2, 1], seed=3
)


def test_clients_may_differ_between_replicates():
    population = replace(TASK, data="population")
    clients = np.array([[0, 7], [5, 6]])
    models = np.random.default_rng(0).standard_normal((2, 3, 4))
    found = population.losses(models, clients, np.random.default_rng(0))
    gradients = population.gradients(models[:, :2], clients, np.random.default_rng(0))
    for replicate, position in np.ndindex(2, 2):
        label = TASK.labels[clients[replicate, position]]
        expected = population.expected_loss(models[replicate], label)
        np.testing.assert_allclose(found[replicate, position], expected, rtol=1e-12)
        expected = population.expected_gradient(models[replicate, position], label)
        np.testing.assert_allclose(gradients[replicate, position], expected, rtol=0, atol=1e-12)


def test_drawn_targets_follow_the_logistic_law_of_a_parameter_with_the_given_norm():
    """Stein's identity: for normal x, E yx has the parameter's direction and the length E z tanh(signal z / 2)."""
    rows, signal = 160_000, 1.7
    task = LogisticMixture.random(
        clusters=2, clients=2, dimension=3, condition_number=20, signal=signal, support=rows, seed=0
    )
    length = scipy.stats.norm.expect(lambda z: z * np.tanh(signal * z / 2))
    for features, targets in zip(task.features, task.targets, strict=True):
        assert np.linalg.norm(targets @ features / rows) == pytest.approx(length, abs=5 * math.sqrt(3 / rows))


def task_of(**changes: object) -> LogCoshMixture:
    base = LogCoshMixture.random(clusters=2, clients=6, dimension=3, condition_number=8.0, width=0.3, seed=1)
    return dataclasses.replace(base, **changes)


def test_without_noise_a_client_errs_where_a_wrong_model_has_no_larger_loss() -> None:
    task = task_of(noise=0.0)
    models = task.optima + np.random.default_rng(0).normal(scale=task.separation / 3, size=(500, 2, 3))
    losses = task.expected_loss(models, 0)
    expected = np.stack([np.zeros(500), losses[:, 1] <= losses[:, 0]], axis=-1)
    assert 0 < expected.sum() < 500
    np.testing.assert_array_equal(task.misclassification_probability(models, 0), expected)


def test_on_the_population_gradients_have_no_noise() -> None:
    task, stream = task_of(data="population", noise=2.0), np.random.default_rng(0)
    models, clients = task.optima + stream.standard_normal((2, 3)), np.array([5, 0])
    expected = np.array([[task.expected_gradient(x, task.labels[i]) for x in models] for i in clients])
    np.testing.assert_allclose(task.losses_and_gradients(models, clients, stream)[1], expected)
    np.testing.assert_allclose(task.gradients(models, clients, stream), expected[[0, 1], [0, 1]])
    sums = task.gradient_sums(models, clients, np.array([1, 1]), stream)
    np.testing.assert_allclose(sums, [np.zeros(3), expected[:, 1].sum(axis=0)], atol=1e-15)
