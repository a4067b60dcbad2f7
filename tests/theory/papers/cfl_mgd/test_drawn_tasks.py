"""The tasks on which the claims of CFL-MGD are tried are as their drawing functions say."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.papers.cfl_mgd import equations_12_to_20
from clusterproof.theory.papers.cfl_mgd.appendix.a35_to_a38 import random_setting
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import basin_models, noisy_regression, two_values
from clusterproof.theory.papers.cfl_mgd.lemma_1 import doubtful_regression
from clusterproof.theory.papers.cfl_mgd.method.algorithm_averages import equal_clusters
from clusterproof.theory.papers.cfl_mgd.method.equations_1_2 import few_rows, scattered_clusters
from clusterproof.theory.papers.cfl_mgd.method.equations_3_to_7 import scattered_clients
from clusterproof.theory.papers.cfl_mgd.method.equations_8_9_10 import some_clusters, widely_scattered
from clusterproof.theory.papers.cfl_mgd.model_averaging_recursion import random_cluster

QUADRATICS: list[tuple[Callable[..., QuadraticMixture], dict[str, Any]]] = [
    (random_cluster, {"clusters": {1}, "clients": set(range(1, 7)), "dimension": set(range(1, 5))}),
    (scattered_clusters, {"clusters": {2}, "clients": set(range(4, 12)), "dimension": set(range(1, 5))}),
    (scattered_clients, {"clusters": {1}, "clients": {3}, "dimension": set(range(1, 6))}),
    (some_clusters, {"clusters": {2, 3, 4}, "clients": {6, 9, 12}, "dimension": {2, 3, 4}}),
    (widely_scattered, {"clusters": {2}, "clients": {8}, "dimension": {2}}),
    (equal_clusters, {"clusters": {2, 3, 4}, "clients": {6, 9, 12}, "dimension": {3}}),
    (equations_12_to_20.scattered_clients, {"clusters": {2, 3}, "clients": {9}, "dimension": {2, 3, 4, 5}}),
]
DRAWS = 120


def several(draw: Callable[..., Any], **how: Any) -> list[Any]:
    return [draw(np.random.default_rng(seed), **how) for seed in range(DRAWS)]


@pytest.mark.parametrize(("draw", "sizes"), QUADRATICS, ids=lambda value: getattr(value, "__qualname__", ""))
def test_sizes_of_the_drawn_quadratics(draw: Callable[..., QuadraticMixture], sizes: dict[str, Any]) -> None:
    """All and only the sizes that are said."""
    tasks = several(draw)
    for name, values in sizes.items():
        assert {getattr(task, name) for task in tasks} == values


def test_spectra_of_the_drawn_quadratics() -> None:
    spectra = [np.linalg.eigvalsh(task.hessians) for task in several(random_cluster)]
    assert min(each.min() for each in spectra) == pytest.approx(1 / 20, abs=0.01)
    assert max(each.max() for each in spectra) == pytest.approx(1, abs=0.01)
    least = min(float(np.linalg.eigvalsh(task.hessians).min()) for task in several(scattered_clusters))
    assert least == pytest.approx(0.1, abs=0.01)
    tasks = several(random_cluster, condition_number=5.0, fewest=2)
    assert min(task.clients for task in tasks) == 2
    assert min(float(np.linalg.eigvalsh(task.hessians).min()) for task in tasks) == pytest.approx(
        1 / 5, abs=0.02
    )
    for draw, ends, scattered in (
        (scattered_clients, {1, 10}, True),
        (some_clusters, {4}, True),
        (widely_scattered, {4}, True),
        (equal_clusters, {5}, False),
    ):
        tasks = several(draw)
        assert {round(task.condition_number, 6) for task in tasks} == ends
        assert all(
            (np.ptp(task.centers[task.labels == 0], axis=0).max() > 1e-3) == scattered for task in tasks
        )


def gaps(optima: np.ndarray) -> list[float]:
    return [float(np.linalg.norm(a - b)) for a, b in itertools.combinations(optima, 2)]


def test_noisy_regressions() -> None:
    tasks = several(noisy_regression)
    assert {task.clusters for task in tasks} == {2, 3}
    assert {task.dimension for task in tasks} == {2, 3, 4}
    assert {task.samples for task in tasks} == set(range(1, 13))
    assert {min(task.clients for task in tasks), max(task.clients for task in tasks)} <= {24, 25, 79, 80}
    assert all(0.3 <= task.noise <= 1.5 for task in tasks)
    for task in tasks:
        spectra = np.linalg.eigvalsh(task.covariances.matrices)
        assert spectra.min() >= 0.2 - 1e-12
        assert spectra.max() <= 1 + 1e-12
        norms = np.linalg.norm(task.optima, axis=-1)
        assert norms.min() >= 0.6
        assert norms.max() <= 1
        assert min(gaps(task.optima)) >= 0.7
        assert (task.labels == np.arange(task.clients) % task.clusters).all()
    doubtful: list[RegressionMixture] = several(doubtful_regression)
    assert {task.samples for task in doubtful} == {1, 2, 3, 10, 30}
    assert min(float(task.noise) for task in doubtful) >= 0.3
    assert max(task.samples for task in several(few_rows)) <= 40


def test_settings_of_a36_and_gradients_of_two_values() -> None:
    for one in several(random_setting):
        assert 10 <= one.clients < 1000
        assert 1 <= one.samples <= 10**5
        assert 0 <= one.momentum <= 0.99
        assert 0.5 <= one.smoothness <= 3
        assert 0.01 <= one.strong_convexity <= 0.5
        assert 0.1 <= one.separation <= 3
    task = two_values(3, 5, 1.5)
    assert (np.bincount(task.labels) == [3, 5]).all()
    assert task.optima.tolist() == [[1.0], [-1.0]]


@pytest.mark.parametrize(("place", "share"), [("apart", 1), ("towards", 1), ("optima", 0), ("random", None)])
def test_models_in_the_basin(place: str, share: int | None) -> None:
    lengths = []
    for seed in range(40):
        task = noisy_regression(np.random.default_rng(seed))
        moved = basin_models(task, np.random.default_rng(seed), place) - task.optima
        lengths.append(np.linalg.norm(moved, axis=-1) / task.basin_radius)
        outwards = task.optima - task.optima.mean(axis=0)
        along = (moved * outwards).sum(axis=-1) / np.linalg.norm(outwards, axis=-1) / task.basin_radius
        if share:
            np.testing.assert_allclose(along, 1 if place == "apart" else -1)
    every = np.concatenate(lengths)
    assert every.max() <= 1 + 1e-12
    if share is None:
        rim = np.isclose(every, 1)
        assert 0.3 < rim.mean() < 0.7
    else:
        np.testing.assert_allclose(every, share)
