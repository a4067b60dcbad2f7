"""A table as curves: means and ranges over seeds by round, and the paper's numbers where the runs are the paper's."""

from typing import Any

import numpy as np
import pytest
from drawings import line

from clusterproof.common import InvalidArgument
from clusterproof.experiments.tables import TABLES
from clusterproof.figures.curves import check_rounds, draw_table

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
    with pytest.raises(InvalidArgument, match="after the last round alone"):
        check_rounds(TABLES["sofl/table-2"].from_values({}), "x.png")
    check_rounds(KIND.from_values({}), "x.png")
