"""Runs with other choices, and choices that do not go together."""

from dataclasses import replace

import pytest
from made_tables import table

from clusterproof.algorithms import InvalidArgument
from clusterproof.experiments.choices import Value
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.tables.cfl_mgd import table_2_columns as cfl_mgd_columns
from clusterproof.experiments.tables.cfl_mgd import table_2_runs as cfl_mgd_runs
from clusterproof.experiments.tables.sofl import runs as sofl_runs

pytestmark = pytest.mark.usefixtures("without_data")


def test_a_run_with_other_choices_on_the_digits() -> None:
    """Every method of SoFL's tables and of CFL-MGD's with all that can be chosen, once."""
    digits = replace(sofl_runs.MNIST, name="digits", images=1400, network={"name": "mlp", "hidden": [16]})
    given: dict[str, Value] = {
        "step-size": 0.3,
        "hidden": (7,),
        "grid": 3,
        "map-start": "random",
        "participation": 0.25,
        "clustering-round": 2,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sofl_runs.SMALL, "digits", (1400, 4, 3))
        column = sofl_runs.Column("label", digits, "label", 2, {})
        for method in sofl_runs.METHODS:
            unit = sofl_runs.make_unit(column, method, "split", 0, Request(1, None, "small", given))
            curve = sofl_runs.compute(unit)["curve"]
            assert curve[-1]["round"] == 4
            assert 0 <= curve[-1]["server"] <= 100
            assert 1 <= curve[-1]["clusters"] <= 20
    small = replace(cfl_mgd_columns.MNIST, data="digits", clusters=2, small=(12, 100, 3))
    request = Request(1, None, "small", {"hidden": (7,), "test-assignment": "train", "batch-size": 20})
    units = cfl_mgd_runs.make_units(small, request)
    for unit in [unit for unit in units if unit.method in ("IFCA", "CFL-MGD, reset", "FedBCD")]:
        record = cfl_mgd_runs.compute(unit)["curve"][-1]
        assert 0 <= record["accuracy"] <= 100
        assert unit.settings["network"]["hidden"] == [7]


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("cfl-mgd/table-2-cifar10", {"network": "tutorial-cnn", "hidden": (9,)}, "is not of tutorial-cnn"),
        ("cfl-mgd/table-2-cifar10", {"crop": 15}, "at least 16"),
        ("sofl/table-4-mnist", {"ifca-least-share": 0.2}, "at most 1 / 8"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(name: str, given: dict[str, Value], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        table(name).units(Request(1, choices=given))
