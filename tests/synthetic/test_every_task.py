"""Properties of every task: optima, gradients, curvatures and settings."""

import inspect
import json
from dataclasses import replace

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from clusterproof.algorithms import CFLMGD
from clusterproof.common.arrays import to_numpy
from clusterproof.running import run
from clusterproof.synthetic import TASKS, OnArrays, from_settings, strategies

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
    written = json.loads(json.dumps(task.settings))
    again = from_settings(written)
    assert written == task.settings
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
    for drawn in {"optima", "noise_gradients", "centers", "features", "targets"} & task.settings.keys():
        assert not np.array_equal(getattr(task, drawn), getattr(other, drawn)), drawn
    check_made_again(task, 3)


SIZES = {"clusters": 3, "clients": 7, "dimension": 4}


@ALL
def test_a_random_task_has_what_was_asked_for(name):
    """Sizes, shares, separation and spectrum, L = 1, and the noise of a row's gradient at the optimum."""
    random = TASKS[name].random
    asked = {
        "condition_number": 5.0,
        "separation": 0.7,
        "noise": 0.3,
        "samples": 9,
        "width": 0.4,
        "rarity": 0.2,
    }
    asked = {key: value for key, value in asked.items() if key in inspect.signature(random).parameters}
    task = random(**SIZES, **asked, proportions=[4, 2, 1])
    assert np.bincount(task.labels).tolist() == [4, 2, 1]
    assert (task.clusters, task.clients, task.dimension) == (3, 7, 4)
    for key in asked.keys() - {"noise"}:
        assert getattr(task, key) == pytest.approx(asked[key])
    if name != "logistic":
        assert task.smoothness == pytest.approx(1)
    if "noise" in asked and hasattr(
        task, "gradient_variance"
    ):  # E|e x|^2 = s^2 tr Sigma for regression, with variances from 1 / 5 to 1
        scale = np.geomspace(1 / 5, 1, 4).sum() if name == "regression" else 1
        assert task.gradient_variance(task.optima[1], 1) == pytest.approx(0.3**2 * scale)
    if "spread" in inspect.signature(random).parameters:
        centers = random(**{**SIZES, "clients": 6000}, spread=0.7).centers.reshape(3, 2000, 4)
        np.testing.assert_allclose(centers.std(axis=1), 0.7, rtol=0.1)
        assert np.ptp(random(**SIZES).centers[:3], axis=0).max() == 0  # no spread unless it is given
    held = {
        "quadratic": 7 * 4**2,
        "noisy-quadratic": 7 * 4**2,
        "regression": 3 * 4**2,
        "logistic": 3 * 200 * 4,
    }
    assert TASKS[name].numbers_held({**SIZES, "support": 200}) == held.get(name, 7 * 4)


@ALL
def test_a_model_that_is_the_true_one_again_is_always_as_good(name):
    task = TASKS[name].random(**SIZES, seed=1)
    if not hasattr(task, "misclassification_probability"):
        pytest.skip("the task has no such probabilities")
    found = task.misclassification_probability(task.optima[[0, 1, 1]] + 0.01, 1)
    assert found[1:].tolist() == [0, 1]
    assert found[0] < 1


@ALL
def test_many_models_have_the_answers_of_each(name):
    task = TASKS[name].random(**SIZES, seed=1)
    models = task.optima.mean(axis=0) + 0.3 * np.random.default_rng(0).standard_normal((2, 3, 4))
    for method in ("expected_loss", "expected_gradient", "loss_variance"):
        asked = getattr(task, method, None)
        if asked is None or "one model (d,)" in asked.__doc__:
            continue
        found = asked(models, 1)
        for index in np.ndindex(2, 3):
            np.testing.assert_allclose(found[index], asked(models[index], 1), rtol=1e-12)


@ALL
def test_a_task_on_arrays_has_the_numbers_of_the_task(name):
    task = TASKS[name].random(**SIZES, seed=1)
    if name == "quadratic":
        task = replace(task, client_samples=np.arange(1, 8))
        assert np.array_equal(from_settings(task.settings).client_samples, task.client_samples)
    there = OnArrays(task, array_api_strict)
    models, clients = models_near(task, 2, 3), np.array([6, 0, 3])
    points, chosen = models_near(task, 3, 3), np.array([2, 0, 2])
    questions = {
        "losses": (models, clients),
        "gradients": (points, clients),
        "gradient_sums": (models, clients, chosen),
        "hessian_products": (points, models, clients),
        "losses_and_gradients": (models, clients),
    }
    for method, arguments in questions.items():
        expected = getattr(task, method)(*arguments, np.random.default_rng(4))
        given_arrays = [array_api_strict.asarray(argument) for argument in arguments]
        found = getattr(there, method)(*given_arrays, np.random.default_rng(4))
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for one, other in pairs:
            assert np.array_equal(to_numpy(one), other)
    for attribute in ("clients", "clusters", "dimension", "settings"):
        assert getattr(there, attribute) == getattr(task, attribute)
    assert there.samples == getattr(task, "samples", None)
    assert np.array_equal(there.client_samples, task.client_samples)


@ALL
@pytest.mark.parametrize(
    "method", ["losses", "gradients", "gradient_sums", "hessian_products", "losses_and_gradients"]
)
def test_models_with_leading_axes_and_clients_without_have_the_answers_of_each(name, method):
    """Batches are drawn replicate by replicate; those of regression, which has several draws, are fixed."""
    task = TASKS[name].random(**SIZES, seed=1, **({"data": "fixed"} if name == "regression" else {}))
    models, points = (
        np.array([[models_near(task, 9 * i + j + k, 3) for j in range(3)] for i in range(2)]) for k in (0, 50)
    )
    clients, chosen, stacked, single = (
        np.array([6, 0, 3]),
        np.array([2, 0, 2]),
        np.random.default_rng(4),
        np.random.default_rng(4),
    )

    def ask(index, stream):
        more = {"gradient_sums": (clients, chosen), "hessian_products": (points[index], clients)}.get(
            method, (clients,)
        )
        found = getattr(task, method)(models[index], *more, stream)
        return found if isinstance(found, tuple) else (found,)

    together = ask((), stacked)
    for index in np.ndindex(2, 3):
        for found, expected in zip(together, ask(index, single), strict=True):
            np.testing.assert_allclose(found[index], expected, rtol=1e-10, atol=1e-12)
