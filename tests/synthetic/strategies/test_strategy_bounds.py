"""What strategies draw keeps to the bounds that were given."""

import inspect
import operator
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from tiers import examples

from clusterproof.synthetic import strategies
from clusterproof.synthetic.strategies.common import draw_matrices, draw_optima

SMOOTH = {"condition_number": 4, "smoothness": 2, "separation": 1.5}
ASKED = {
    strategies.regression_mixtures: {
        **SMOOTH,
        "noise": 0.25,
        "samples": 7,
        "data": "fixed",
        "sampling": "direct",
        "rotated": False,
    },
    strategies.quadratic_mixtures: SMOOTH,
    strategies.noisy_quadratic_mixtures: {**SMOOTH, "noise": 0.25, "noise_condition_number": 3},
    strategies.log_cosh_mixtures: {
        "condition_number": 4,
        "separation": 1.5,
        "noise": 0.25,
        "samples": 7,
        "width": 0.5,
    },
    strategies.logistic_mixtures: {"support": 4, "samples": 7, "data": "population"},
    strategies.two_point_mixtures: {"separation": 1.5, "rarity": 0.125, "samples": 7},
    strategies.wide_mixtures: {"condition_number": 4, "separation": 1.5, "imbalance": 4},
}
MEASURED = {
    "clients": lambda task: len(task.labels),
    "clusters": lambda task: len(np.unique(task.labels)),
    "dimension": lambda task: task.optima.shape[1],
    "imbalance": lambda task: np.bincount(task.labels).max() / np.bincount(task.labels).min(),
    "noise": lambda task: task.noise if hasattr(task, "noise") else np.sqrt(np.trace(task.covariance)),
    "noise_condition_number": lambda task: np.linalg.cond(task.covariance),
    "rotated": lambda task: task.covariances.diagonals is None,
    "support": lambda task: task.features.shape[1],
}


@pytest.mark.parametrize(
    ("strategy", "asked"), ASKED.items(), ids=lambda value: getattr(value, "__name__", "")
)
def test_strategies_draw_what_was_asked_for(strategy, asked):
    asked = {"clusters": 2, "clients": 5, "dimension": 3, **asked}
    given_as = {name: [value] if isinstance(value, str) else value for name, value in asked.items()}

    @settings(max_examples=examples(20))
    @given(strategy(**given_as))
    def check(task):
        for name, value in asked.items():
            found = MEASURED.get(name, lambda task, name=name: getattr(task, name))(task)
            assert found == (value if isinstance(value, str) else pytest.approx(value)), name

    check()


@settings(max_examples=examples(40))
@given(strategies.quadratic_mixtures(clusters=(2, 3), separation=1.5, spread=(0, 2), shared_hessians=False))
def test_clients_that_spread_leave_the_separation_as_asked(task):
    assert task.separation == pytest.approx(1.5, abs=1e-9)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("strategy", [strategies.quadratic_mixtures, strategies.noisy_quadratic_mixtures])
@pytest.mark.parametrize("shared", [True, False])
def test_clients_of_a_cluster_have_one_hessian_where_it_is_shared(strategy, shared):
    seen = []

    @settings(max_examples=20)
    @given(strategy(clusters=1, clients=3, dimension=2, shared_hessians=shared))
    def draw(task):
        seen.append(np.ptp(task.hessians, axis=0).max())

    draw()
    assert (max(seen) > 0.01) != shared


@settings(max_examples=examples(20))
@given(strategies.wide_mixtures(clusters=3, clients=7, dimension=2, imbalance=4))
def test_the_imbalance_is_that_of_the_largest_cluster_to_the_smallest_for_any_number(task):
    assert sorted(np.bincount(task.labels)) == [1, 2, 4]


@pytest.mark.parametrize("size", [0, 1])
def test_clients_of_a_cluster_spread_where_that_is_asked_alone(size):
    seen = []

    @settings(max_examples=20)
    @given(strategies.quadratic_mixtures(clusters=2, clients=6, spread=size))
    def draw(task):
        seen.extend(np.ptp(task.centers[task.labels == cluster], axis=0).max() for cluster in range(2))

    draw()
    assert max(seen) > 0.1 if size else max(seen) == 0


@settings(max_examples=examples(40))
@given(strategies.logistic_mixtures(condition_number=5))
def test_logistic_strategies_keep_the_condition_number(task):
    """(L + ridge) / ridge = kappa for the largest curvature L = max X'X / 4n, which is 0 where all features are."""
    assert task.smoothness / task.ridge == pytest.approx(5 if task.features.any() else 1)
    assert task.condition_number <= 5 * (1 + 1e-9)


def test_tasks_are_imported_without_hypothesis():
    """It takes longer to import than all the tasks."""
    code = "import sys, clusterproof.synthetic; print('hypothesis' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


VARIED = {
    strategies.regression_mixtures: lambda task: (
        0.05 < np.ptp(task.covariances.eigenvalues[0]) < 0.9 * (1 - task.strong_convexity)
        and np.ptp(task.covariances.matrices, axis=0)[0, -1] > 0.01
    ),
    strategies.quadratic_mixtures: lambda task: np.ptp(task.hessians, axis=0)[0, -1] > 0.01,
    strategies.noisy_quadratic_mixtures: lambda task: abs(task.covariance[0, -1]) > 0.01,
    strategies.log_cosh_mixtures: lambda task: task.optima.min() < 0,
    strategies.logistic_mixtures: lambda task: task.features.min() < 0 and np.ptp(task.targets) == 2,
    strategies.two_point_mixtures: lambda task: task.noise_gradients.min() < 0 and task.centers.min() < 0,
}
MODES = {"data": ("fresh", "population"), "sampling": ("exact", "direct")}


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("strategy", VARIED, ids=lambda strategy: strategy.__name__)
def test_strategies_keep_to_their_ranges_reach_both_halves_and_vary_what_is_free(strategy):
    defaults = {name: one.default for name, one in inspect.signature(strategy).parameters.items()}
    seen = []

    @settings(max_examples=60, derandomize=True, database=None)
    @given(strategy(**{name: MODES[name] for name in MODES.keys() & defaults}))
    def draw(task):
        seen.append(task)

    draw()
    if strategy is strategies.logistic_mixtures:
        del defaults["condition_number"]  # a guarantee
    for name, bounds in defaults.items():
        if not isinstance(bounds, tuple):
            continue
        measure = MEASURED.get(name, operator.attrgetter(name))
        # one dimension has one curvature; one cluster is infinitely far from others
        found = [measure(task) for task in seen if task.dimension > 1 or "condition" not in name]
        if name in MODES:
            assert set(found) == set(MODES[name])
            continue
        (low, high), found = bounds, [value for value in found if np.isfinite(value)]
        assert low - 1e-9 <= min(found) < (low + high) / 2 < max(found) <= high * (1 + 1e-9), name
    assert any(map(VARIED[strategy], seen))
    assert any(np.bincount(task.labels)[1:].max(initial=0) > 1 for task in seen)


def test_wide_mixtures_of_the_same_sizes_differ_and_are_near_and_far_alike():
    optima, distances = set(), set()

    @settings(max_examples=40, derandomize=True, database=None)
    @given(
        strategies.wide_mixtures(
            clusters=2, clients=(4, 9), dimension=2, condition_number=3, separation=(0.01, 100), imbalance=1
        )
    )
    def draw(task):
        optima.add(tuple((task.optima / task.separation).ravel().round(6)))
        distances.add(task.separation)
        assert 4 <= task.clients <= 9
        assert task.condition_number == pytest.approx(3)

    draw()
    assert len(optima) > 5
    assert sum(0.02 < distance < 1 for distance in distances) >= 3  # on a linear scale one of a hundred


@pytest.mark.parametrize(("count", "width"), [(1, 2), (2, 1), (9, 1), (30, 2)])
def test_any_number_of_optima_fits_in_any_dimension(count, width):
    @settings(max_examples=3, database=None)
    @given(draw_optima(count, width, st.just(1.5)))
    def check(optima):
        assert optima.shape == (count, width)
        if count > 1:
            assert pdist(optima).min() == pytest.approx(1.5)

    check()


@given(st.booleans().flatmap(lambda extreme: draw_matrices(1, 4.0, 2.0, extreme)))
@settings(max_examples=10)
def test_the_curvature_of_one_dimension_is_the_largest(matrix):
    assert matrix.tolist() == [[2.0]]
