"""What a run of FPFC's Figure 1 records: its clusters against scikit-learn, its ceiling, its falling steps."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.tables.fpfc.figure_1_runs import (
    SCALES,
    compute,
    make_unit,
    measure,
    methods,
    single_model_ceiling,
)
from clusterproof.experiments.tables.training_run import image_task, make_algorithm, snapshots

SMALL = Request(1, 3, "small")


@pytest.mark.parametrize("method", ["IFCA", "CFL", "FPFC"])
def test_clusters_are_counted_and_compared_with_the_true_ones(method: str) -> None:
    """Known clusters 0, 1 and 5 of clients in turns: three clusters."""
    task = image_task(make_unit("digits", method, 0, SMALL).settings, 0)
    algorithm = make_algorithm(methods(SCALES["small"])[method].settings)
    *_, look = snapshots(algorithm, task, rounds=1, seed=0, every=1)
    given = np.array([0, 1, 3])[np.arange(task.clients) // 2 % 3]
    record = measure(replace(look, assignments=given), last=False)
    assert record["clusters"] == 3
    assert record["ari"] == pytest.approx(adjusted_rand_score(task.labels, given))
    assert abs(record["ari"]) < 0.9


def curve(**changed: Any) -> dict[str, Any]:
    unit = make_unit("digits", "LOCAL", 0, SMALL)
    settings = {**unit.settings, "every": 1, **changed}
    settings["algorithm"] = {**settings["algorithm"], "participation": 1.0}
    return dict(compute(replace(unit, settings=settings)))


def test_steps_fall_from_round_to_round() -> None:
    """By a factor so small that nothing moves after the first."""
    plain, still = ([record["accuracy"] for record in curve(decay=decay)["curve"]] for decay in (1.0, 1e-12))
    assert still == [plain[0]] * 3
    assert plain[2] != plain[0]


def test_the_ceiling_of_a_run_is_in_per_cent_of_its_own_data() -> None:
    task = image_task(make_unit("digits", "LOCAL", 0, SMALL).settings, 0)
    found = curve(rounds=1)
    assert found["single_model"] == pytest.approx(100 * single_model_ceiling(task.partition))
    assert 70 < found["single_model"] < 100
