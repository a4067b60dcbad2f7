"""The sampler that draws no data has the law of the one that draws every row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from two_samples import CONFIGURATIONS, SOME, all_p_values, bonferroni, compare

from clusterproof.algorithms import CFLMGD, run, sum_gradients
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.exact_law import draw_triangle, semidefinite_cholesky

ALARM = 1e-3
"""Family-wise level: one seed in a thousand would raise a false alarm."""


@pytest.mark.parametrize(
    "configurations",
    [SOME, pytest.param(CONFIGURATIONS, marks=pytest.mark.slow(reason="long statistics"))],
    ids=["some", "all"],
)
def test_no_two_sample_test_tells_exact_from_direct(configurations):
    found = all_p_values(configurations=configurations)
    assert len(found) > 60 * len(configurations)
    assert bonferroni(found) > ALARM, min(found, key=found.get)
    # about one in twenty, up to the correlation of the tests
    assert np.mean(np.array(list(found.values())) < 0.05) < 0.12


def test_pooling_adds_up_separate_draws():
    """One draw with the pooled degrees of freedom against the sum of one draw per client."""
    task = RegressionMixture.random(
        clusters=2, clients=7, dimension=3, condition_number=5, proportions=[5, 2], samples=3, seed=1
    )
    models = np.broadcast_to(task.optima[::-1] * 0.3, (20_000, 2, 3))
    clients = np.arange(7)
    assignments = np.broadcast_to([0, 0, 0, 1, 1, 0, 1], (20_000, 7))
    pooled = task.gradient_sums(models, clients, assignments, np.random.default_rng(1))
    separate = sum_gradients(task, models, clients, assignments, np.random.default_rng(2))
    tests = [
        *(compare(pooled[:, p, j], separate[:, p, j]) for p in range(2) for j in range(3)),
        *(compare(pooled[:, p].sum(-1) ** 2, separate[:, p].sum(-1) ** 2) for p in range(2)),
        *(
            compare(pooled[:, 0, j] * pooled[:, 0, 2], separate[:, 0, j] * separate[:, 0, 2])
            for j in range(2)
        ),
    ]
    assert min(tests) * len(tests) > ALARM
    assert abs(np.corrcoef(pooled[:, 0, 0], pooled[:, 1, 0])[0, 1]) < 5 / np.sqrt(20_000)


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


def test_the_root_of_zero_is_zero():
    assert (semidefinite_cholesky(np.zeros((2, 3, 3))) == 0).all()


@pytest.mark.parametrize(("size", "samples"), [(3, 7), (3, 3), (4, 2), (2, 1)])
def test_the_wishart_matrix_has_the_moments_of_the_textbook(size, samples):
    """E W = n I; Var W_ij = n (1 + delta_ij)."""
    draws = 100_000
    triangle = np.zeros((draws, size, size))
    for j, column in enumerate(draw_triangle((draws,), size, samples, np.random.default_rng(size))):
        for i, entry in enumerate(column, start=j):
            triangle[:, i, j] = entry
    wishart = triangle @ np.swapaxes(triangle, -1, -2)
    expected = samples * np.eye(size)
    spread = samples * (1 + np.eye(size))
    assert (np.abs(wishart.mean(axis=0) - expected) < 5 * np.sqrt(spread / draws)).all()
    fourth = ((wishart - expected) ** 2).std(axis=0) / np.sqrt(draws)
    assert (np.abs(wishart.var(axis=0) - spread) < 5 * fourth).all()
    assert np.linalg.matrix_rank(wishart[0]) == min(size, samples)


def test_without_noise_the_right_model_has_no_loss_and_no_gradient():
    task, models, _ = CONFIGURATIONS["no noise and a model at the optimum"]
    wide = np.broadcast_to(models, (50, *models.shape))
    losses = task.losses(wide, np.arange(5), np.random.default_rng(0))
    assert (losses[:, :2, 0] == 0).all()
    assert (losses[:, :, 1:] > 0).all()
    assert (task.gradients(wide[:, [0, 0]], np.arange(2), np.random.default_rng(0)) == 0).all()


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_losses_are_scaled_chi_squares(name):
    """n' times twice the loss over tau^2 is chi^2 with n' degrees of freedom."""
    task, models, _ = CONFIGURATIONS[name]
    wide = np.broadcast_to(models, (20_000, *models.shape))
    losses = task.losses(wide, np.arange(task.clients), np.random.default_rng(3))
    count = task.clients * len(models)
    for client, label in enumerate(task.labels):
        variances = task.residual_variance(models, label)
        for p in np.flatnonzero(variances > 0):
            scaled = 2 * task.samples * losses[:, client, p] / variances[p]
            assert stats.kstest(scaled, stats.chi2(task.samples).cdf).pvalue > ALARM / count / 8
