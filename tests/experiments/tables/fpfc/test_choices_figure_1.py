"""What FPFC's Figure 1 says of a chosen penalty."""

import pytest
from made_tables import shown, table

from clusterproof.experiments.reproducible_table import Request

pytestmark = pytest.mark.usefixtures("without_data")


def test_fpfcs_curve_goes_through_the_chosen_penalty() -> None:
    definition = table("fpfc/figure-1")
    for strength, extra in ((0.4, set()), (0.7, {"FPFC, lambda 0.4"}), (0.5, {"FPFC, lambda 0.4"})):
        request = Request(1, choices={"strength": strength})
        units = definition.units(request)
        ends = {}
        for unit in units:
            own = unit.settings["algorithm"].get("strength", 0)
            record = {
                "round": 200,
                "accuracy": 10 * own,
                "tuned": 1.0,
                "clusters": 4,
                "ari": 1.0,
                "averaged": 1.0,
            }
            ends[unit.method, unit.seed] = {"curve": [record], "single_model": 80.0, "device": "cpu"}
        made = shown(definition.table(request, ends))
        curve = next(curve for curve in made.curves if curve.parameter == "lambda")
        assert set(curve.points) == {0.4, 0.7, 1.0, 1.5, 2.0, strength}
        assert [cells["accuracy %"].mean for cells in curve.cells] == pytest.approx(
            [10 * point for point in curve.points]
        )
        rows = {row.name: row for row in made.rows if row.settings == "mnist"}
        assert rows["FPFC"].cells["accuracy %"].mean == pytest.approx(10 * strength)
        assert f"lambda = {strength:g} for both penalties" in " ".join(made.notes)
        assert ("documentation" in " ".join(made.notes)) == (strength == 0.4)
        assert {unit.method.partition(", ")[2] for unit in units} >= extra
