"""The sampler that draws no data has the law of the one that draws every row."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clusterproof.algorithms import CFLMGD
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.exact_law import semidefinite_cholesky

DRAWS = 10_000


def rotated(spectrum, seed):
    size = len(spectrum)
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]
    matrix = turn @ np.diag(spectrum) @ turn.T
    return (matrix + matrix.T) / 2


LABELS = np.array([0, 0, 1, 1, 1])
OPTIMA = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, -0.5]])
MODELS = np.array([[0.8, 0.2, 0.1], [0.1, 0.7, -0.2], [0.5, 0.5, 0.5], [-0.3, 0.1, 0.9]])
DIAGONAL = np.array([1.0, 0.5, 0.1])
FULL = np.stack([rotated([1.0, 0.5, 0.1], 1), rotated([2.0, 0.3, 0.2], 2)])


def configuration(models, **changes):
    arguments = {"optima": OPTIMA, "covariance": DIAGONAL, "noise": 0.5, "labels": LABELS, "samples": 10}
    partial = changes.pop("partial", False)
    return RegressionMixture(**{**arguments, **changes}), np.array(models), partial


CONFIGURATIONS = {
    "two models": configuration(MODELS[:2]),
    "full covariances of each cluster": configuration(MODELS[:3], covariance=FULL),
    "fewer samples than models": configuration(MODELS, samples=2),
    "one sample": configuration(MODELS[:3], samples=1, covariance=FULL),
    "no noise and more models than dimensions": configuration(
        [[0.8], [0.1], [-0.4]], optima=[[1.0], [0.0]], covariance=[0.7], noise=0.0, samples=5
    ),
    "no noise and a model at the optimum": configuration(
        [OPTIMA[0], MODELS[1], MODELS[2]], noise=0.0, covariance=FULL, samples=4
    ),
    "partial participation": configuration(MODELS[:2], samples=3, covariance=FULL, partial=True),
    "many samples": configuration(MODELS[:2], samples=60),
}


SOME = ("full covariances of each cluster", "fewer samples than models", "partial participation")
"""Configurations in which a wrong sampler is seen."""


def compare(first, second):
    """P-value of the Kolmogorov-Smirnov test; 1 for two equal constants."""
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return float(first[0] == second[0])
    return float(stats.ks_2samp(first, second, method="asymp").pvalue)


def compare_counts(first, second, categories):
    table = np.array([np.bincount(values, minlength=categories) for values in (first, second)])
    table = table[:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0


def participants(task, partial):
    if not partial:
        return np.arange(task.clients)
    keys = np.random.default_rng(0).random((DRAWS, task.clients))
    return np.sort(np.argsort(keys, axis=-1)[:, :3], axis=-1)


def both_samplings(name, ask):
    """Ask the exact and the direct version of a configuration, each with its own generator."""
    task, models, partial = CONFIGURATIONS[name]
    clients = participants(task, partial)
    wide = np.broadcast_to(models, (DRAWS, *models.shape))
    return [
        ask(replace(task, sampling=sampling), wide, clients, np.random.default_rng(seed))
        for seed, sampling in ((11, "exact"), (12, "direct"))
    ]


def loss_p_values(name):
    """Return the losses, their differences, their minimum and which model is chosen, client by client."""
    exact, direct = both_samplings(name, lambda task, *arguments: task.losses(*arguments))
    found = {}
    count = exact.shape[-1]
    for client in range(exact.shape[-2]):
        one, two = exact[:, client], direct[:, client]
        for p in range(count):
            found[f"loss of model {p}, client {client}"] = compare(one[:, p], two[:, p])
        for p, q in itertools.combinations(range(count), 2):
            found[f"loss {p} - {q}, client {client}"] = compare(one[:, p] - one[:, q], two[:, p] - two[:, q])
        found[f"smallest loss, client {client}"] = compare(one.min(axis=-1), two.min(axis=-1))
        found[f"choice, client {client}"] = compare_counts(one.argmin(-1), two.argmin(-1), count)
    return found


def vector_p_values(first, second, name):
    """Coordinates, norms and products of neighbouring coordinates of vectors (draws, d)."""
    found = {}
    for j in range(first.shape[-1]):
        found[f"{name}, coordinate {j}"] = compare(first[:, j], second[:, j])
    for j in range(first.shape[-1] - 1):
        products = [vectors[:, j] * vectors[:, j + 1] for vectors in (first, second)]
        found[f"{name}, product {j}"] = compare(*products)
    found[f"{name}, norm"] = compare(*(np.linalg.norm(vectors, axis=-1) for vectors in (first, second)))
    return found


def gradient_p_values(name):
    """Each client's gradient at a point of its own."""
    count = len(CONFIGURATIONS[name][1])

    def ask(task, models, clients, generator):
        chosen = np.arange(clients.shape[-1]) % count
        return task.gradients(models[:, chosen], clients, generator)

    exact, direct = both_samplings(name, ask)
    found = {}
    for client in range(exact.shape[-2]):
        found |= vector_p_values(exact[:, client], direct[:, client], f"gradient, client {client}")
    return found


def sum_p_values(name):
    """Pooled sums: clusters of unequal size, with clients of either kind in one of them."""

    def ask(task, models, clients, generator):
        assignments = np.minimum(np.arange(clients.shape[-1]) // 2, 1)
        assignments = np.broadcast_to(assignments, (DRAWS, clients.shape[-1]))
        return task.gradient_sums(models, clients, assignments, generator)

    exact, direct = both_samplings(name, ask)
    found = {}
    for p in range(exact.shape[-2]):
        found |= vector_p_values(exact[:, p], direct[:, p], f"sum of model {p}")
    return found


ALARM = 1e-3
"""Family-wise level: one seed in a thousand would raise a false alarm."""


@pytest.mark.parametrize(
    "name",
    [
        name if name in SOME else pytest.param(name, marks=pytest.mark.slow(reason="long statistics"))
        for name in CONFIGURATIONS
    ],
)
def test_no_two_sample_test_tells_exact_from_direct(name):
    found = loss_p_values(name) | gradient_p_values(name) | sum_p_values(name)
    assert len(found) > 40
    assert min(found.values()) * len(found) > ALARM / len(CONFIGURATIONS), min(found, key=found.get)
    # about one in twenty, up to the correlation of the tests
    assert np.mean(np.array(list(found.values())) < 0.05) < 0.12


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
    task, models, _ = CONFIGURATIONS["no noise and a model at the optimum"]
    wide = np.broadcast_to(models, (50, *models.shape))
    losses = task.losses(wide, np.arange(5), np.random.default_rng(0))
    assert (losses[:, :2, 0] == 0).all()
    assert (losses[:, :, 1:] > 0).all()
    assert (task.gradients(wide[:, [0, 0]], np.arange(2), np.random.default_rng(0)) == 0).all()
