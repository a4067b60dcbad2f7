"""Fixed data, the population mode and the sampler that draws no data, against explicit rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from clusterproof.algorithms import CFLMGD, IFCA
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture, direct_simulation, stored_rows, strategies
from clusterproof.synthetic.exact_law import semidefinite_cholesky


def rotated(spectrum, seed):
    size = len(spectrum)
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]
    matrix = turn @ np.diag(spectrum) @ turn.T
    return (matrix + matrix.T) / 2


FULL = np.stack([rotated([0.5, 1.0, 2.0, 3.0, 5.0], 1), rotated([0.2, 0.4, 1.0, 1.0, 1.5], 2)])
TASK = RegressionMixture(
    optima=np.eye(5)[:2] * 3, covariance=FULL, noise=0.5, labels=[0, 0, 0, 1, 1], samples=7
)


def five_errors(values):
    """Return the mean of values, and five of its standard errors."""
    return values.mean(), 5 * values.std() / np.sqrt(len(values))


@pytest.mark.parametrize(("samples", "cached"), [(7, 1), (7, 2**17), (4, 1), (4, 2**17)])
def test_fixed_data_are_one_explicit_data_set_a_client(plant, samples, cached):
    """More and fewer samples than parameters; gradients client by client, and of all at once."""
    plant(stored_rows, "CACHED", cached)
    drawn = []

    def recording(labels, *arguments):
        drawn.append(true_draw(labels, *arguments))
        return drawn[-1]

    true_draw = direct_simulation.draw_data
    plant(direct_simulation, "draw_data", recording)
    task = replace(TASK, data="fixed", seed=3, samples=samples)
    stream = np.random.default_rng(0)
    models = stream.standard_normal((4, 2, 5))
    clients = np.array([[0, 3, 4], [1, 2, 3], [0, 1, 2], [2, 3, 4]])
    losses = task.losses(models, clients, stream)
    points = stream.standard_normal((4, 3, 5))
    gradients = task.gradients(points, clients, stream)
    sums = task.gradient_sums(models, clients, np.broadcast_to([0, 1, 1], (4, 3)), stream)
    assert len(drawn) == task.clients
    assert {features.shape for features, _ in drawn} == {(samples, 5)}
    for replicate, position in np.ndindex(4, 3):
        client = clients[replicate, position]
        features, errors = drawn[client]
        targets = features @ task.optima[task.labels[client]] + errors
        for p in range(2):
            expected = 0.5 * np.mean((targets - features @ models[replicate, p]) ** 2)
            assert losses[replicate, position, p] == pytest.approx(expected, rel=1e-10)
        expected = features.T @ (features @ points[replicate, position] - targets) / samples
        np.testing.assert_allclose(gradients[replicate, position], expected, rtol=1e-10, atol=1e-12)
        drawn_at = models[replicate, int(position > 0)]
        sums[replicate, int(position > 0)] -= features.T @ (features @ drawn_at - targets) / samples
    np.testing.assert_allclose(sums, 0, atol=1e-11)


def test_fixed_data_have_the_law_of_the_clusters():
    task = replace(TASK, data="fixed", labels=np.repeat([0, 1], 5000), samples=3)
    model = np.ones((1, 5))
    losses = task.losses(model, np.arange(10_000), np.random.default_rng(0))[:, 0]
    for cluster in (0, 1):
        own = losses[task.labels == cluster]
        mean, margin = five_errors(own)
        assert abs(mean - task.expected_loss(model[0], cluster)) < margin
        mean, margin = five_errors((own - task.expected_loss(model[0], cluster)) ** 2)
        assert abs(mean - task.loss_variance(model[0], cluster) / 3) < margin


def test_fixed_data_depend_on_the_seed_and_nothing_else():
    first, same, other = (replace(TASK, data="fixed", seed=seed) for seed in (1, 1, 2))
    kept = {"rounds": 3, "initial": np.ones((2, 5))}
    runs = [run(IFCA(step_size=0.1), task, **kept).models for task in (first, same, other)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0][1:] != runs[2][1:]).any()


@settings(max_examples=examples(40))
@given(strategies.regression_mixtures(data=("population",)), st.integers(0, 4))
def test_the_population_mode_is_the_expectation(task, seed):
    stream = np.random.default_rng(seed)
    models = stream.standard_normal((3, task.clusters, task.dimension))
    clients = np.stack([stream.permutation(task.clients) for _ in range(3)])
    points = stream.standard_normal((3, task.clients, task.dimension))
    losses = task.losses(models, clients, stream)
    gradients = task.gradients(points, clients, stream)
    for replicate, position in np.ndindex(3, task.clients):
        label = task.labels[clients[replicate, position]]
        matrix = task.covariances.matrices[label]
        for p in range(task.clusters):
            gap = models[replicate, p] - task.optima[label]
            expected = (task.noise**2 + gap @ matrix @ gap) / 2
            assert losses[replicate, position, p] == pytest.approx(expected, rel=1e-9, abs=1e-14)
        expected = matrix @ (points[replicate, position] - task.optima[label])
        np.testing.assert_allclose(
            gradients[replicate, position], expected, rtol=0, atol=1e-12 * (1 + abs(expected).max())
        )


@pytest.mark.parametrize("spectrum", [[[3.0, 1, 2], [1, 5, 4]], [[3.0, 1, 2], [3, 1, 2]]])
def test_eigenvalues_ascend_in_each_cluster(spectrum):
    covariance = np.stack([np.diag(row) for row in spectrum])
    for given_as in (np.array(spectrum), covariance):
        task = RegressionMixture(
            optima=np.eye(2, 3),
            covariance=given_as[0] if spectrum[0] == spectrum[1] else covariance,
            noise=0.0,
            labels=np.arange(2),
            samples=1,
        )
        np.testing.assert_allclose(task.covariances.eigenvalues, np.sort(spectrum, axis=1))


@pytest.mark.parametrize(
    "covariance", [[1, 2, 3, 4, 5], [np.diag([1, 2, 3, 4, 5]), np.diag([1, 3, 3, 4, 5])], FULL]
)
def test_settings_make_the_same_covariances_again(covariance):
    settings_ = replace(TASK, covariance=covariance).settings
    again = RegressionMixture(**{name: value for name, value in settings_.items() if name != "task"})
    expected = np.broadcast_to(np.diag(covariance) if np.ndim(covariance) == 1 else covariance, (2, 5, 5))
    np.testing.assert_array_equal(again.covariances.matrices, expected)


def test_fixed_data_of_random_tasks_depend_on_the_seed():
    """Also where the optima are the same."""
    tasks = [
        RegressionMixture.random(clusters=2, clients=4, dimension=2, data="fixed", seed=seed)
        for seed in (1, 1, 2)
    ]
    first, same, other = (
        replace(task, optima=np.eye(2)).losses(np.zeros((2, 2)), np.arange(4), np.random.default_rng(0))
        for task in tasks
    )
    np.testing.assert_array_equal(first, same)
    assert not np.isclose(first, other).any()


def test_a_million_clients_with_a_million_samples_are_one_draw():
    task = RegressionMixture.random(
        clusters=2, clients=1_000_000, dimension=5, condition_number=3, samples=10**6, noise=0.5
    )
    trace = run(CFLMGD(step_size=1.0, momentum=0.5), task, rounds=1, seed=1)
    np.testing.assert_array_equal(trace.assignments[0], task.labels)
    # one step equals a step of the heavy ball without noise, up to s / sqrt(l m n')
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
