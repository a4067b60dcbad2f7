"""The log-cosh mixture without noise and on the population."""

import dataclasses

import numpy as np

from clusterproof.synthetic import LogCoshMixture


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
