"""The log-cosh mixture against differences of its losses and gradients, and its special cases."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.algorithms import InvalidArgument
from clusterproof.synthetic import LogCoshMixture


def task_of(**changes: object) -> LogCoshMixture:
    base = LogCoshMixture.random(clusters=2, clients=6, dimension=3, condition_number=8.0, width=0.3, seed=1)
    return dataclasses.replace(base, **changes)


@given(scale=st.floats(1e-3, 1e3), seed=st.integers(0, 100))
def test_gradient_is_the_derivative_of_the_loss(scale: float, seed: int) -> None:
    task = task_of()
    point = task.optima[0] + scale * np.random.default_rng(seed).standard_normal(3)
    step = 1e-5 * scale
    numeric = [
        (task.expected_loss(point + step * axis, 0) - task.expected_loss(point - step * axis, 0)) / (2 * step)
        for axis in np.eye(3)
    ]
    np.testing.assert_allclose(task.expected_gradient(point, 0), numeric, rtol=1e-4, atol=1e-6 * scale)


def test_curvature_runs_from_mu_to_L() -> None:  # noqa: N802 - L is the field's symbol
    task = task_of()
    offsets = np.concatenate([np.linspace(-5, 5, 2001), [1e-9]])
    points = task.optima[0] + offsets[:, None] * np.eye(3)[0]
    derivatives = task.expected_gradient(points, 0)[:-1, 0]
    curvature = np.diff(derivatives) / np.diff(offsets[:-1])
    assert curvature.min() >= task.strong_convexity - 1e-9
    assert curvature.max() <= task.smoothness + 1e-9
    assert curvature.min() == pytest.approx(1 / 8, rel=1e-3)
    assert curvature.max() == pytest.approx(1.0, rel=1e-3)


def test_without_noise_a_client_errs_where_a_wrong_model_has_no_larger_loss() -> None:
    task = task_of(noise=0.0)
    models = task.optima + np.random.default_rng(0).normal(scale=task.separation / 3, size=(500, 2, 3))
    losses = task.expected_loss(models, 0)
    expected = np.stack([np.zeros(500), losses[:, 1] <= losses[:, 0]], axis=-1)
    assert 0 < expected.sum() < 500
    np.testing.assert_array_equal(task.misclassification_probability(models, 0), expected)


@pytest.mark.parametrize("optima", [np.zeros(3), np.zeros((1, 2, 3)), [[np.nan] * 3, [1.0] * 3]])
def test_optima_that_are_no_finite_matrix_are_refused(optima: object) -> None:
    with pytest.raises(InvalidArgument, match=r"optima = .* must be a finite array \(P, d\)"):
        task_of(optima=optima)


def test_on_the_population_gradients_have_no_noise() -> None:
    task, stream = task_of(data="population", noise=2.0), np.random.default_rng(0)
    models, clients = task.optima + stream.standard_normal((2, 3)), np.array([5, 0])
    expected = np.array([[task.expected_gradient(x, task.labels[i]) for x in models] for i in clients])
    np.testing.assert_allclose(task.losses_and_gradients(models, clients, stream)[1], expected)
    np.testing.assert_allclose(task.gradients(models, clients, stream), expected[[0, 1], [0, 1]])
    sums = task.gradient_sums(models, clients, np.array([1, 1]), stream)
    np.testing.assert_allclose(sums, [np.zeros(3), expected[:, 1].sum(axis=0)], atol=1e-15)
