"""Losses, gradients, products and choices of one batch: consistent, of the right law, and on stored rows."""

import copy

import numpy as np
import pytest
from scipy import stats

from clusterproof.algorithms import CFLMGD, IFCA
from clusterproof.common import Randomness
from clusterproof.synthetic import (
    LogCoshMixture,
    LogisticMixture,
    NoisyQuadraticMixture,
    QuadraticMixture,
    RegressionMixture,
    TwoPointMixture,
    stored_rows,
)
from clusterproof.synthetic.regression import StoredRows
from clusterproof.synthetic.softmax import SoftmaxMixture

KEPT = {"clusters": 2, "clients": 4, "dimension": 3, "condition_number": 3.0, "seed": 1}
COVARIANCE = np.array([[[1.0, 0.3], [0.3, 0.5]], [[0.6, -0.2], [-0.2, 0.9]]])
ROTATED = {
    "optima": [[0.0, 0.0], [1.0, 2.0]],
    "covariance": COVARIANCE,
    "noise": 0.5,
    "labels": [0, 1, 1],
}
TASKS = {
    "exact": RegressionMixture.random(**KEPT, samples=6),
    "few samples": RegressionMixture.random(**KEPT, samples=2),
    "rotated": RegressionMixture(**ROTATED, samples=7),
    "direct": RegressionMixture(**ROTATED, samples=7, sampling="direct"),
    "fixed": RegressionMixture.random(**KEPT, samples=6, data="fixed"),
    "population": RegressionMixture.random(**KEPT, data="population"),
    "quadratic": QuadraticMixture.random(**KEPT, spread=0.5),
    "different Hessians": QuadraticMixture(
        hessians=[np.diag([1.0, 0.5]), [[0.6, -0.2], [-0.2, 0.9]]], centers=np.eye(2), labels=[0, 0]
    ),
    "logistic": LogisticMixture.random(**KEPT, samples=6),
    "logistic population": LogisticMixture.random(**KEPT, data="population"),
    "log-cosh": LogCoshMixture.random(**KEPT, samples=6, width=0.5),
    "log-cosh population": LogCoshMixture.random(**KEPT, data="population", width=0.5),
    "noisy quadratic": NoisyQuadraticMixture.random(**KEPT, spread=0.5, noise=2.0),
    "two-point": TwoPointMixture.random(clusters=2, clients=4, dimension=3, samples=6, seed=1),
}
ALL = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
WITHOUT_DRAWS = (
    "fixed",
    "population",
    "quadratic",
    "different Hessians",
    "logistic population",
    "log-cosh population",
)
SAME_DRAWS = (*WITHOUT_DRAWS, "direct", "log-cosh", "noisy quadratic", "two-point")


def models_of(task, count=3, lead=()):
    return task.pooled_optimum + np.random.default_rng(3).standard_normal((*lead, count, task.dimension))


@ALL
@pytest.mark.parametrize("lead", [(), (5,)])
def test_gradients_are_derivatives_of_the_losses_of_the_same_batch(task, lead):
    clients = np.arange(task.clients)
    models = models_of(task, lead=lead)
    stream = np.random.default_rng(0)

    def losses(moved):
        return task.losses_and_gradients(moved, clients, copy.deepcopy(stream))[0]

    _, gradients = task.losses_and_gradients(models, clients, copy.deepcopy(stream))
    assert gradients.shape == (*lead, task.clients, 3, task.dimension)
    for axis, step in enumerate(1e-4 * np.eye(task.dimension)):
        quotient = (losses(models + step) - losses(models - step)) / 2e-4
        np.testing.assert_allclose(gradients[..., axis], quotient, rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", SAME_DRAWS)
def test_both_answers_are_those_of_losses_and_gradients(name):
    """With rows drawn one by one, the same generator gives the same rows to each question."""
    task, clients = TASKS[name], np.arange(TASKS[name].clients)
    models = models_of(task)
    losses, gradients = task.losses_and_gradients(models, clients, np.random.default_rng(7))
    np.testing.assert_allclose(losses, task.losses(models, clients, np.random.default_rng(7)), rtol=1e-12)
    for number, model in enumerate(models):
        points = np.broadcast_to(model, (task.clients, task.dimension))
        expected = task.gradients(points, clients, np.random.default_rng(7))
        np.testing.assert_allclose(gradients[:, number], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", SAME_DRAWS)
def test_hessian_products_are_differences_of_gradients(name):
    task, clients = TASKS[name], np.arange(TASKS[name].clients)
    points, directions = models_of(task, task.clients), models_of(task, task.clients, (2,))[1]
    found = task.hessian_products(points, directions, clients, np.random.default_rng(7))
    assert not np.shares_memory(found, directions)
    ahead, behind = (
        task.gradients(points + s * 1e-4 * directions, clients, np.random.default_rng(7)) for s in (1, -1)
    )
    np.testing.assert_allclose(found, (ahead - behind) / 2e-4, rtol=0, atol=1e-7)


@pytest.mark.parametrize("samples", [1, 2, 7])
def test_the_exact_law_is_that_of_drawing_rows(samples):
    """Kolmogorov-Smirnov on projections of (loss, gradient) pairs and of Hessian products."""
    size = 6000
    drawn = []
    for sampling, seed in (("exact", 0), ("direct", 1)):
        task = RegressionMixture(**ROTATED, samples=samples, sampling=sampling)
        models = np.broadcast_to(models_of(task, 2), (size, 2, 2))
        stream = np.random.default_rng(seed)
        losses, gradients = task.losses_and_gradients(models, np.arange(3), stream)
        products = task.hessian_products(gradients[..., 0, :], np.ones((size, 3, 2)), np.arange(3), stream)
        drawn.append(np.concatenate([losses, gradients.reshape(size, 3, -1), products], axis=-1))
    directions = np.random.default_rng(5).standard_normal((12, drawn[0].shape[-1]))
    for client in (0, 1):
        for direction in [*np.eye(drawn[0].shape[-1]), *directions]:
            first, second = (sample[:, client] @ direction for sample in drawn)
            assert stats.ks_2samp(first, second).pvalue > 1e-6


REGRESSION = RegressionMixture.random(clusters=2, clients=5, dimension=3, seed=4)
TWO_POINT = TwoPointMixture.random(clusters=600, clients=600, dimension=3, noise=0.7, seed=5)
SPREAD = QuadraticMixture.random(clusters=1, clients=3000, dimension=3, spread=0.3, seed=2)
TURNED = QuadraticMixture.random(clusters=600, clients=600, dimension=2, condition_number=4, seed=3).hessians
SINGLE = LogisticMixture.random(clusters=600, clients=600, dimension=3, support=1, seed=1)
COINS = LogisticMixture.random(clusters=3, clients=3, dimension=2, support=3000, signal=1e-9, seed=2)
SOFTMAX = SoftmaxMixture(clients=3000, clusters=3000, features=1, classes=2)
STARTS = REGRESSION.initial_models(2, (2000,), np.random.default_rng(0)) - REGRESSION.optima
LAWS = {
    "starting directions": STARTS.reshape(2000, 6) / REGRESSION.basin_radius * 2 * 3**0.5,
    "noise_gradients and optima": np.hstack(
        [TWO_POINT.noise_gradients / 0.7 * 3**0.5, TWO_POINT.optima / TWO_POINT.optima.std()]
    ),
    "offsets of clients": (SPREAD.centers - SPREAD.client_optima) / 0.3,
    # a rotation by a uniform angle t makes of diag(1, 1 / 4) a multiple of cos 2t and sin 2t
    "rotations": np.stack([TURNED[:, 0, 0] - TURNED[:, 1, 1], 2 * TURNED[:, 0, 1]], axis=-1) / 0.75 * 2**0.5,
    "parameters' directions": (SINGLE.targets[..., None] * SINGLE.features)[:, 0],
    "rows and classes": np.hstack([COINS.features.swapaxes(0, 1).reshape(3000, 6), COINS.targets.T]),
    "softmax starts": SOFTMAX.initial_models(1, (3000,), np.random.default_rng(0))[:, 0],
    # normal around a normal number of the cluster: the covariance I + 11' has the root I + (5^(1/2) - 1) 11' / 4
    "classifiers": SOFTMAX.generating_models
    - (1 - 5**-0.5) * SOFTMAX.generating_models.mean(axis=1, keepdims=True),
}


@pytest.mark.parametrize("name", LAWS)
def test_columns_are_uncorrelated_of_mean_zero_and_variance_one(name):
    values, error = LAWS[name], 6 / len(LAWS[name]) ** 0.5
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=error)
    np.testing.assert_allclose(values.T @ values / len(values), np.eye(values.shape[1]), atol=error * 2**0.5)


def test_fixed_data_are_drawn_apart_from_the_optima():
    """Without noise the gradient of one row x at a displacement v is (x . v) x."""
    options = {"dimension": 150, "noise": 0.0, "samples": 1, "data": "fixed"}
    task = RegressionMixture.random(clusters=2, clients=2, **options, seed=3)
    for row in task.gradients(task.client_optima + 1.0, np.arange(2), np.random.default_rng(0)):
        assert abs(np.corrcoef(row, task.optima[0])[0, 1]) < 6 / 150**0.5


def test_softmax_sizes_are_log_normal_and_a_fifth_is_for_testing():
    task = SoftmaxMixture(clients=2000, clusters=1, features=1, classes=2, seed=6)
    sizes = task.client_samples + [len(targets) for _, targets in task.testing]
    np.testing.assert_array_equal(5 * task.client_samples, 4 * sizes)
    for bound in (2, 10, 55, 200, 1000):
        chance = stats.norm.cdf((np.log(bound) - 4) / 2)
        assert stats.binomtest(int((sizes // 5 - 50 < bound).sum()), 2000, chance).pvalue > 1e-7


SHAPES = {"in products": (6, 5, 8), "reduced": (6, 5, 30), "one by one": (6, 700, 100)}
"""Clients, dimension and samples; rows of the last fill a core's cache."""


def task_of(shape):
    m, d, n = SHAPES[shape]
    return RegressionMixture.random(clusters=3, clients=m, dimension=d, samples=n, data="fixed", seed=1)


def by_hand(task, models, clients):
    """Return choices (k,) and sums (P, d) of models (P, d), from the rows; NaN is no smallest loss."""
    X, errors = task._fixed_rows
    choices, sums = [], np.zeros(models.shape)
    for client in clients:
        y = X[client] @ task.client_optima[client] + errors[client]
        losses = [np.mean((X[client] @ model - y) ** 2) / 2 for model in models]
        choices.append(int(np.argmin(np.where(np.isnan(losses), np.inf, losses))))
        sums[choices[-1]] += X[client].T @ (X[client] @ models[choices[-1]] - y) / len(y)
    return choices, sums


@pytest.mark.parametrize("clients", [[0, 1, 2, 3, 4, 5], [2, 3], [5, 0, 2]], ids=str)
@pytest.mark.parametrize("lead", [(), (1,), (3,), (2, 2)], ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_choices_and_sums_are_those_of_plain_loops(shape, lead, clients):
    task, stream = task_of(shape), np.random.default_rng(0)
    models = task.optima + 0.3 * stream.standard_normal((*lead, 3, task.dimension))
    choices, sums = task.choose_and_sum(models, np.array(clients), Randomness.from_seed(0))
    assert (choices.shape, sums.shape) == ((*lead, len(clients)), models.shape)
    for index in np.ndindex(lead):
        expected = by_hand(task, models[index], clients)
        assert choices[index].tolist() == expected[0]
        np.testing.assert_allclose(sums[index], expected[1], rtol=0, atol=1e-10)


def test_blocks_of_clients_sum_to_all_clients(monkeypatch):
    monkeypatch.setattr(stored_rows, "TOGETHER", 100)  # two clients with 8 rows of 5 numbers
    task = task_of("in products")
    models = task.optima + 0.3 * np.random.default_rng(0).standard_normal((2, 3, task.dimension))
    choices, sums = task.choose_and_sum(models, np.arange(5), Randomness.from_seed(0))
    gradients = task.gradients(models[:, :1].repeat(5, axis=1), np.arange(5), np.random.default_rng(0))
    for replicate, own in enumerate(models):
        expected = by_hand(task, own, range(5))
        assert choices[replicate].tolist() == expected[0]
        np.testing.assert_allclose(sums[replicate], expected[1], rtol=0, atol=1e-10)
        alone = [by_hand(task, own[:1], [client])[1][0] for client in range(5)]
        np.testing.assert_allclose(gradients[replicate], alone, rtol=0, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_ties_go_to_the_first_and_nan_is_chosen_by_nobody(shape):
    task = task_of(shape)
    models = np.stack([task.optima, task.optima])[:, [1, 1, 0]]  # two equal models
    models[1, 0, 2] = np.nan
    choices, sums = task.choose_and_sum(models, np.arange(6), Randomness.from_seed(0))
    assert set(choices[0].tolist()) <= {0, 2}
    assert set(choices[1].tolist()) <= {1, 2}
    for replicate in range(2):
        expected = by_hand(task, models[replicate], range(6))
        assert choices[replicate].tolist() == expected[0]
        np.testing.assert_allclose(sums[replicate], expected[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "algorithm", [IFCA(step_size=0.1), CFLMGD(step_size=0.1, momentum=0.5)], ids=lambda each: each.name
)
@pytest.mark.parametrize("shape", SHAPES)
def test_rounds_pass_over_the_rows_once(shape, algorithm, monkeypatch):
    """The combined pass gives the same losses and gradients as separate passes."""
    task = task_of(shape)
    models = task.optima + 0.1
    apart = {"choose_and_sum": super(RegressionMixture, task).choose_and_sum}
    start = algorithm.initialise(models, task)
    after = algorithm.step(start, task, Randomness.from_seed(0))
    with monkeypatch.context() as patch:
        for name, method in apart.items():
            patch.setattr(RegressionMixture, name, lambda self, *given, method=method: method(*given))
        expected = algorithm.step(start, task, Randomness.from_seed(0))
    np.testing.assert_array_equal(after.assignments, expected.assignments)
    np.testing.assert_allclose(after.models, expected.models, rtol=0, atol=1e-12)

    def refuse(*_):
        raise AssertionError("the rows are passed over again")

    for name in ("losses", "gradients"):
        monkeypatch.setattr(StoredRows, name, refuse)
    algorithm.step(start, task, Randomness.from_seed(0))
