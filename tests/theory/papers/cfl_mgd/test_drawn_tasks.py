"""The tasks on which the claims of CFL-MGD are tried are as their drawing functions say."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import basin_models, noisy_regression, two_values
from clusterproof.theory.papers.cfl_mgd.drawn_tasks import random_clients, random_quadratics
from clusterproof.theory.papers.cfl_mgd.lemma_1 import doubtful_regression
from clusterproof.theory.papers.cfl_mgd.method.equations_1_to_7 import few_rows

DRAWS = 120


def several(draw: Callable[..., Any], **how: Any) -> list[Any]:
    return [draw(np.random.default_rng(seed), **how) for seed in range(DRAWS)]


def test_quadratics_whose_clusters_share_a_hessian() -> None:
    """All and only the sizes that are asked for, at the asked condition number."""
    tasks = several(random_quadratics, clusters=(2, 3), dimension=(1, 3), condition_number=5.0, each=4)
    assert {task.clusters for task in tasks} == {2, 3}
    assert {task.clients for task in tasks} == {8, 12}
    assert {(task.dimension, round(task.condition_number, 6)) for task in tasks} == {(1, 1), (2, 5), (3, 5)}
    scattered = several(random_quadratics, clusters=(2, 2), dimension=(2, 2), spread=1.0)
    for some, apart in ((tasks, False), (scattered, True)):
        widths = [np.ptp(task.centers[task.labels == 0], axis=0).max() for task in some]
        assert all((width > 1e-3) == apart for width in widths)


@pytest.mark.parametrize(("clusters", "ends", "condition"), [(1, (1, 6), 20.0), (2, (4, 11), 5.0)])
def test_clients_with_hessians_of_their_own(clusters: int, ends: tuple[int, int], condition: float) -> None:
    tasks = several(random_clients, clusters=clusters, clients=ends, condition_number=condition)
    assert {task.clusters for task in tasks} == {clusters}
    assert {task.clients for task in tasks} == set(range(ends[0], ends[1] + 1))
    assert {task.dimension for task in tasks} == {1, 2, 3, 4}
    spectra = [np.linalg.eigvalsh(task.hessians) for task in tasks]
    assert min(each.min() for each in spectra) == pytest.approx(1 / condition, abs=0.01)
    assert max(each.max() for each in spectra) == pytest.approx(1, abs=0.01)


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


def test_gradients_of_two_values() -> None:
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
