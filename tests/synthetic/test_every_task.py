"""Properties of every task: optima, gradients, curvatures, settings and sample means."""

import json

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import TASKS, from_settings, strategies

STRATEGIES = {name: getattr(strategies, f"{name.replace('-', '_')}_mixtures") for name in TASKS}
MODES = {
    "regression": {"data": ("fresh", "fixed", "population"), "sampling": ("exact", "direct")},
    "quadratic": {"spread": (0, 1), "shared_hessians": False},
    "logistic": {"data": ("fresh", "population")},
}
ALL = pytest.mark.parametrize("name", TASKS)
SMALL = settings(max_examples=examples(15))


def models_near(task, seed, count=1):
    return task.optima.mean(axis=0) + np.random.default_rng(seed).standard_normal((count, task.dimension))


@ALL
@SMALL
@given(st.data())
def test_optima_are_where_the_expected_gradients_vanish(name, data):
    task = data.draw(STRATEGIES[name]())
    scale = task.smoothness * (1 + np.abs(task.optima).max())
    for cluster, optimum in enumerate(task.optima):
        assert np.abs(task.expected_gradient(optimum, cluster)).max() <= 1e-9 * scale
    pooled = [task.expected_gradient(task.pooled_optimum, cluster) for cluster in range(task.clusters)]
    assert np.abs(task.proportions @ pooled).max() <= 1e-9 * scale


@ALL
@SMALL
@given(st.data(), st.integers(0, 5))
def test_expected_gradients_are_differences_of_expected_losses(name, data, seed):
    task = data.draw(STRATEGIES[name]())
    (model,) = models_near(task, seed)
    for cluster in range(task.clusters):
        steps = 1e-5 * np.eye(task.dimension)
        differences = task.expected_loss(model + steps, cluster) - task.expected_loss(model - steps, cluster)
        gradient = task.expected_gradient(model, cluster)
        np.testing.assert_allclose(gradient, differences / 2e-5, rtol=1e-4, atol=1e-4 * task.smoothness)


@ALL
@SMALL
@given(st.data(), st.integers(0, 5))
def test_curvatures_lie_between_the_stated_ones(name, data, seed):
    """mu ||x - y||^2 <= (g(x) - g(y)) . (x - y) <= L ||x - y||^2."""
    task = data.draw(STRATEGIES[name]())
    first, second = models_near(task, seed, 2)
    length = ((first - second) ** 2).sum()
    for cluster in range(task.clusters):
        change = task.expected_gradient(first, cluster) - task.expected_gradient(second, cluster)
        curvature = change @ (first - second) / length
        assert task.strong_convexity * (1 - 1e-9) <= curvature <= task.smoothness * (1 + 1e-9)


def check_made_again(task, replicates):
    """The task that is made from the settings has the same run, bitwise."""
    again = from_settings(json.loads(json.dumps(task.settings)))
    assert type(again) is type(task) is TASKS[task.settings["task"]]
    assert again.settings == task.settings
    algorithm = CFLMGD(step_size=0.3, momentum=0.5, participation=0.7)
    first, second = (run(algorithm, one, rounds=3, replicates=replicates) for one in (task, again))
    for name in ("models", "assignments", "errors"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


@ALL
@SMALL
@given(st.data(), st.sampled_from([None, 2]))
def test_a_task_comes_back_from_its_settings(name, data, replicates):
    check_made_again(data.draw(STRATEGIES[name](**MODES.get(name, {}))), replicates)


@ALL
def test_random_tasks_come_back_and_depend_on_the_seed(name):
    task, same, other = (
        TASKS[name].random(clusters=2, clients=5, dimension=3, seed=seed) for seed in (3, 3, 4)
    )
    assert task.settings == same.settings
    assert not np.array_equal(task.optima, other.optima)
    check_made_again(task, 3)


@ALL
def test_samples_have_the_expected_means(name):
    """Within four standard errors of ten thousand draws, of two clients that are their clusters."""
    task = TASKS[name].random(clusters=2, clients=2, dimension=3, seed=1)
    models, draws, all_clients = models_near(task, 2, 2), 10_000, np.arange(2)
    stream = np.random.default_rng(3)
    replicated = np.broadcast_to(models, (draws, *models.shape))
    losses = task.losses(replicated, all_clients, stream)
    gradients = task.gradients(replicated, all_clients, stream)
    assert losses.shape == (draws, 2, 2)
    assert gradients.shape == (draws, 2, 3)
    for client, cluster in enumerate(task.labels):
        expected = task.expected_loss(models, cluster), task.expected_gradient(models[client], cluster)
        for sample, mean in zip((losses[:, client], gradients[:, client]), expected, strict=True):
            error = np.abs(sample.mean(axis=0) - mean)
            assert (error <= 4 * sample.std(axis=0) / draws**0.5 + 1e-9 * (1 + np.abs(mean))).all()
