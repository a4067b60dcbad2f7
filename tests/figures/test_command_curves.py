"""Sweeps and tables as curves: medians, means and ranges over seeds, and the paper's numbers for runs like its own."""

from typing import Any

import numpy as np
import polars
import pytest
from drawings import line

from clusterproof.common import InvalidArgument
from clusterproof.experiments.sweep import Sweep
from clusterproof.experiments.tables import TABLES
from clusterproof.figures.curves import check_rounds, draw_sweep, draw_table


def test_a_curve_has_medians_over_seeds_and_one_without_a_measurement_is_only_named() -> None:
    plan = Sweep(
        measure=("final_error",), seeds=3, grid={"momentum": [0.0, 0.5], "algorithm": ["ifca", "cfl"]}
    )
    rows = [
        {
            "algorithm": algorithm,
            "momentum": momentum,
            "seed": seed,
            "replicate": 0,
            "round": 9,
            "final_error": (1 + momentum) * 2.0**seed if algorithm == "ifca" else None,
        }
        for algorithm in ("ifca", "cfl")
        for momentum in (0.0, 0.5)
        for seed in range(3)
    ]
    panel = draw_sweep(polars.DataFrame(rows), plan).axes[0]
    curves = {line.get_label(): line.get_xydata() for line in panel.lines}
    np.testing.assert_allclose(curves["algorithm ifca"], [[0, 2], [0.5, 3]])
    assert len(curves["algorithm cfl"]) == 0
    (path,) = [path for band in panel.collections for path in band.get_paths()]
    assert {tuple(point) for point in path.vertices} == {(0, 1), (0, 4), (0.5, 1.5), (0.5, 6)}


KIND = TABLES["cfl-mgd/table-2"]
ACCURACY = {"CFL-MGD": [0.3, 0.6], "FedAvg": [0.2, 0.5]}


def results() -> dict[int, dict[str, Any]]:
    """Metrics of two rounds, of seeds 0 and 1; seed 1 is better by a tenth."""
    return {
        seed: {
            method: {
                "round": [10, 20],
                "accuracy": [value + seed / 10 for value in values],
                "correct_model": [0.5 + seed / 2, 1.0],
            }
            for method, values in ACCURACY.items()
        }
        for seed in range(2)
    }


def test_curves_are_means_over_seeds_with_their_range() -> None:
    table = KIND.from_values({"data": "cifar10"})
    accuracy, right = draw_table(table.frame(results()), table).axes
    for method, values in ACCURACY.items():
        places, heights = line(accuracy, method)
        np.testing.assert_allclose(places, [10, 20])
        np.testing.assert_allclose(heights, [100 * value + 5 for value in values])
    bands = {band.get_gid(): band.get_paths()[0].vertices for band in accuracy.collections}
    assert {tuple(point) for point in bands["band FedAvg"].round(9)} == {
        (10, 20),
        (10, 30),
        (20, 50),
        (20, 60),
    }
    assert line(accuracy, "printed FedAvg") == (20, 69.52)  # Table 2
    np.testing.assert_allclose(line(right, "CFL-MGD")[1], [75, 100])
    assert [each.get_label() for each in right.lines] == ["CFL-MGD"], "FedAvg has one model"


def test_other_settings_than_the_papers_have_no_star() -> None:
    table = KIND.from_values({"data": "cifar10", "rounds": 20})
    figure: Any = draw_table(table.frame(results()), table)
    assert not [each for panel in figure.axes for each in panel.lines if "printed" in str(each.get_gid())]
    assert "data cifar10, rounds 20" in figure.caption
    assert "Stars" not in figure.caption


def test_one_seed_has_no_range() -> None:
    table = KIND.from_values({"data": "cifar10"})
    figure = draw_table(table.frame({0: results()[0]}), table)
    assert not figure.axes[0].collections


def test_a_table_without_numbers_by_round_is_refused_before_it_is_computed() -> None:
    with pytest.raises(InvalidArgument, match="only numbers after the last round"):
        check_rounds(TABLES["sofl/table-2"].from_values({}), "x.png")
    check_rounds(KIND.from_values({}), "x.png")
