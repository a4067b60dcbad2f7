"""IFCA's basin of attraction: hand computations and planted faults."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from planted_sides import is_left_whole
from sides_by_hand import assert_sides

from clusterproof.algorithms import CFLMGD, IFCA
from clusterproof.checker.claims import Outside
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.papers.ifca import basin, success
from clusterproof.theory.papers.ifca.success import Cell, succeeds

PLAIN = IFCA(step_size=1.0)

COVARIANCE = np.array([[1.5, 0.4], [0.4, 0.7]])
LABELS = np.array([0, 1, 1, 2, 1, 2])


def population(data: str = "population") -> RegressionMixture:
    optima = np.array([[0.0, 0.0], [3.0, 1.0], [-1.0, 2.5]])
    return RegressionMixture(
        optima=optima, covariance=COVARIANCE, noise=0.6, labels=LABELS, samples=4, data=data
    )


def test_forty_rounds_on_three_clusters() -> None:
    """A client's gradient is Sigma (w - theta): w_p <- w_p - eta l_p Sigma (w_p - theta_p), l = 1/6, 1/2, 1/3."""
    task, (mu, smoothness) = population(), np.linalg.eigvalsh(COVARIANCE)
    stream = np.random.default_rng(7)
    pairs = [(x, y) for x in range(3) for y in range(x)]
    gap = min(float(np.linalg.norm(task.optima[x] - task.optima[y])) for x, y in pairs)
    radius, eta = 0.9 * gap / (1 + np.sqrt(smoothness / mu)), 0.6 / smoothness
    starts = [radius * one / np.linalg.norm(one) for one in stream.standard_normal((3, 2))]
    measured, allowed = np.empty((2, 40, 3))
    for p, (share, start) in enumerate(zip((1 / 6, 1 / 2, 1 / 3), starts, strict=True)):
        away = start
        for t in range(40):
            away = away - eta * share * COVARIANCE @ away
            measured[t, p] = np.linalg.norm(away)
            allowed[t, p] = (1 - eta * share * mu) ** (t + 1) * radius
    found = basin.basin(task, np.random.default_rng(7), 0.9, Fraction(3, 5))
    assert_sides(found["errors"], measured, contraction=allowed)
    assert_sides(found["choices"], [(np.tile(LABELS, (40, 1)),) * 2])
    with pytest.raises(Outside, match="expected ones"):
        basin.basin(population("fresh"), np.random.default_rng(7), 0.9, Fraction(3, 5))


def heavy(momentum: float) -> CFLMGD:
    return CFLMGD(step_size=1.0, momentum=momentum)


def test_the_task_of_a_cell_and_its_success() -> None:
    cell = Cell(2.0, 1.0, clusters=2)
    assert np.bincount(cell.task.labels).tolist() == [10, 10]
    assert np.bincount(Cell(2.0, 1.0, clusters=4).task.labels).tolist() == [10] * 4
    assert (cell.task.samples, cell.task.dimension, cell.task.noise, cell.task.data) == (20, 4, 1.0, "fresh")
    assert cell.start == Fraction(1, 4)
    cell = Cell(1.0, 1.0, 1.0)
    for algorithm in (PLAIN, heavy(0.5)):
        trace = run(algorithm, cell.task, rounds=60, seed=5, replicates=40, initial=cell.starts(40, 5))
        together = [
            all((chosen[i] == chosen[j]) == (i // 10 == j // 10) for i in range(20) for j in range(i))
            for chosen in np.asarray(trace.last_assignments)
        ]
        assert succeeds(algorithm, cell, 40, 5).tolist() == together
        assert 0 < sum(together) < 40


@pytest.mark.parametrize("condition", [1.0, 4.0, 20.0])
def test_the_worst_pair_ties_at_the_radius(condition: float) -> None:
    """Losses by hand: L B^2 / 2 against mu (1 - B)^2 / 2 with mu = L / kappa."""
    radius = 1 / (1 + math.sqrt(condition))
    task, models = basin.worst_pair(condition, radius)
    own, other = (float(task.expected_loss(model, 0)) for model in models)
    assert own == pytest.approx(radius**2 / 2)
    assert other == pytest.approx((1 - radius) ** 2 / condition / 2)
    assert own == pytest.approx(other)
    assert task.separation == pytest.approx(1)
    assert task.condition_number == pytest.approx(condition)
    assert np.linalg.norm(models - task.optima, axis=1) == pytest.approx([radius, radius])
    assert task.basin_radius < radius


def test_starts_are_where_they_should_be_and_the_same_in_every_cell() -> None:
    for cell in (Cell(2.0, 1.0), Cell(4.0, 0.5, 1.5, clusters=4)):
        task, starts = cell.task, cell.starts(7, 3)
        assert task.separation == pytest.approx(cell.separation)
        assert task.condition_number == pytest.approx(1)
        distances = np.linalg.norm(starts - task.optima, axis=-1)
        np.testing.assert_allclose(distances, cell.start * cell.separation)
    assert Cell(1.0, 1.0).task.basin_radius == pytest.approx(Cell(1.0, 1.0).start)
    first, second = (Cell(width, 1.0).starts(3, 0) - Cell(width, 1.0).task.optima for width in (1.0, 8.0))
    np.testing.assert_allclose(8 * first, second, rtol=1e-12)


def test_inside_the_basin_neither_fall_is_found(plant: Callable[..., Any]) -> None:
    true = success.Cell.starts
    plant(success.Cell, "starts", lambda cell, *numbers: true(replace(cell, start=0.25), *numbers))
    assert is_left_whole("ifca/monotone-from-anywhere", 200)
    assert is_left_whole("ifca/cfl-mgd-same-basin", 200)
