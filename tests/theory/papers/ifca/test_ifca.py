"""IFCA's basin of attraction: hand computations and planted faults."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from catalogue import checked
from planted_sides import is_left_whole, is_refuted

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, IFCA
from clusterproof.theory import Kind
from clusterproof.theory.bounds import setting
from clusterproof.theory.claims.statistics import CLAIM_SIGNIFICANCE
from clusterproof.theory.papers.ifca import basin, success
from clusterproof.theory.papers.ifca import success as success_probability
from clusterproof.theory.papers.ifca.success import Cell, succeeds


@pytest.mark.slow(reason="counts failures of many runs")
def test_certain_means_that_the_interval_ends_below_the_allowed_failures() -> None:
    lines = {line.name: line for line in checked("ifca/certain-in-basin").lines}
    verdict = lines["barely separated"]
    # the level is shared by two parts; of the second one, which is barely separated, nearly all is used
    assert verdict.confidence is not None
    assert verdict.confidence.level == pytest.approx(1 - CLAIM_SIGNIFICANCE / 2, abs=1e-12)
    assert verdict.confidence.lower < 0.05 < verdict.confidence.upper
    # no failures in n runs of each of two settings: the upper end u has (1 - u)^n = half of its error probability
    assert "holds on all 2 instances; the event occurred in 0 of 1000" in lines[""].reason
    half = CLAIM_SIGNIFICANCE / 2 / 2 / 2
    assert 1 - half ** (1 / 500) < 0.05


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


def test_only_the_ratio_of_separation_and_noise_matters() -> None:
    """A change of units changes neither choices nor successes."""
    for algorithm in (IFCA(step_size=1.0), CFLMGD(step_size=1.0, momentum=0.5)):
        counts = [succeeds(algorithm, Cell(2 * unit, 2.0 * unit), 100, 0).sum() for unit in (1.0, 4.0)]
        assert counts[0] == counts[1]
        assert 0 < counts[0] < 100


def test_without_momentum_cfl_mgd_has_the_success_of_ifca() -> None:
    """They draw different samples: the rates agree up to four standard errors of their difference."""
    cell = Cell(1.0, 1.0, 1.0)
    plain = succeeds(IFCA(step_size=1.0), cell, 400, 5).mean()
    other = succeeds(CFLMGD(step_size=1.0, momentum=0.0), cell, 400, 5).mean()
    assert abs(plain - other) < 4 * math.sqrt(0.5 / 400)
    assert 0.2 < plain < 0.8


def test_a_basin_that_is_too_large_is_seen(plant: Callable[..., Any]) -> None:
    plant(setting, "largest_radius", lambda task: 1.3 * task.separation)
    assert is_refuted("ifca/basin")


def test_a_pair_that_is_not_the_worst_is_seen(plant: Callable[..., Any]) -> None:
    plant(basin, "misassigned", lambda condition, radius: False)
    assert is_refuted("ifca/basin", evaluations=3)


def test_a_start_outside_of_the_basin_is_not_certain(plant: Callable[..., Any]) -> None:
    def far(separation: float, noise: float, clusters: int = 2) -> Cell:
        return Cell(separation, noise, 1.0, clusters)

    plant(success, "Cell", far)
    assert is_refuted("ifca/certain-in-basin")
    assert is_refuted("ifca/cfl-mgd-in-basin")


def test_success_that_falls_is_seen(plant: Callable[..., Any]) -> None:
    plant(success_probability, "SEPARATIONS", (8.0, 2.0, 0.5))
    verdict = theory.check("ifca/monotone-in-basin")
    assert verdict.verdict is Kind.VIOLATED
    assert "(Delta, s) = (8, 1), (2, 1), (0.5, 1)" in verdict.reason


def test_success_that_falls_with_the_noise_is_seen(plant: Callable[..., Any]) -> None:
    plant(success_probability, "NOISES", (0.25, 1.0, 4.0))
    assert is_refuted("ifca/monotone-in-basin#noise")


def test_inside_the_basin_neither_fall_is_found(plant: Callable[..., Any]) -> None:
    true = success.Cell.starts
    plant(success.Cell, "starts", lambda cell, *numbers: true(replace(cell, start=0.25), *numbers))
    assert is_left_whole("ifca/monotone-from-anywhere", 200)
    assert is_left_whole("ifca/cfl-mgd-same-basin", 200)
