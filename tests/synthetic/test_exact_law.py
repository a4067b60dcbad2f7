"""The sampler that draws no data: one draw of any size, and roots of matrices; ``test_one_batch`` has its law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.algorithms import CFLMGD
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.exact_law import semidefinite_cholesky


def test_a_million_clients_with_a_million_samples_are_one_draw():
    task = RegressionMixture.random(
        clusters=2, clients=1_000_000, dimension=5, condition_number=3, samples=10**6, noise=0.5
    )
    trace = run(CFLMGD(step_size=1.0, momentum=0.5), task, rounds=1, seed=1)
    np.testing.assert_array_equal(trace.assignments[0], task.labels)
    # what is left after one step is heavy ball without noise, up to s / sqrt(l m n')
    expected = (1 - 0.5 * task.covariances.diagonals) * (trace.models[0] - task.optima)
    np.testing.assert_allclose(trace.models[1] - task.optima, expected, rtol=0, atol=1e-4)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10))
def test_the_root_of_a_singular_matrix_is_a_root(size, rank, seed):
    factor = np.random.default_rng(seed).standard_normal((3, size, min(rank, size)))
    matrix = factor @ np.swapaxes(factor, -1, -2)
    root = semidefinite_cholesky(matrix)
    np.testing.assert_array_equal(root, np.tril(root))
    np.testing.assert_allclose(root @ np.swapaxes(root, -1, -2), matrix, rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_pivot_at_the_level_of_rounding_is_zero_with_its_column(scale):
    """Rows 1, 1 + e and 2 in one direction, e a unit of rounding: pivots are known to some units of their entry."""
    unit = np.finfo(float).eps
    matrix = scale * np.array([[1.0, 1.0, 2.0], [1.0, 1.0 + 2 * unit, 2.0], [2.0, 2.0, 5.0]])
    expected = np.sqrt(scale) * np.array([[1.0, 0, 0], [1.0, 0, 0], [2.0, 0, 1.0]])
    np.testing.assert_allclose(semidefinite_cholesky(matrix), expected, rtol=1e-12, atol=0)
    matrix[1, 1] = scale * (1 + 2000 * unit)
    assert semidefinite_cholesky(matrix)[1, 1] == pytest.approx(np.sqrt(2000 * unit * scale), rel=0.01)


def test_the_root_of_zero_is_zero():
    assert (semidefinite_cholesky(np.zeros((2, 3, 3))) == 0).all()


def test_without_noise_the_right_model_has_no_loss_and_no_gradient():
    optima = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, -0.5]])
    models = np.array([optima[0], [0.1, 0.7, -0.2], [0.5, 0.5, 0.5]])
    covariances = np.array([[[1.0, 0.3, 0], [0.3, 0.5, 0], [0, 0, 0.1]], np.diag([2.0, 0.3, 0.2])])
    task = RegressionMixture(
        optima=optima, covariance=covariances, noise=0.0, labels=np.array([0, 0, 1, 1, 1]), samples=4
    )
    wide = np.broadcast_to(models, (50, *models.shape))
    losses = task.losses(wide, np.arange(5), np.random.default_rng(0))
    assert (losses[:, :2, 0] == 0).all()
    assert (losses[:, :, 1:] > 0).all()
    assert (task.gradients(wide[:, [0, 0]], np.arange(2), np.random.default_rng(0)) == 0).all()
