"""Choices and sums of gradients on stored rows, client by client from the rows."""

import numpy as np
import pytest

from clusterproof.algorithms import CFLMGD, IFCA
from clusterproof.common import Randomness
from clusterproof.synthetic import RegressionMixture, stored_rows
from clusterproof.synthetic.regression import StoredRows

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
    """And are those of losses and gradients apart."""
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
