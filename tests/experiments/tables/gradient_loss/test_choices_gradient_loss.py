"""What GL-CFL's tables say of what was chosen."""

import pytest
from made_tables import shown, table

from clusterproof.experiments.choices import Value
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.tables.gradient_loss import figures_4_and_5 as gradient_loss
from clusterproof.experiments.tables.gradient_loss import runs as gradient_loss_runs
from clusterproof.experiments.tables.gradient_loss.runs import Problem, arms

pytestmark = pytest.mark.usefixtures("without_data")


def test_gradient_loss_states_what_was_chosen() -> None:
    definition = table("gradient-loss/mnist-mlp")
    given: dict[str, Value] = {
        "step-size": 0.05,
        "batch-size": 25,
        "hidden": (9, 8),
        "empty-cluster": "always",
    }
    for choices in ({}, given):
        request = Request(2, choices=choices)
        results = {
            (unit.method, unit.seed): {
                **dict.fromkeys(("purity", "ari", "accuracy"), [0.5] * 10 + [1.0] * 140),
                "note": "",
                "device": "cpu",
            }
            for unit in definition.units(request)
        }
        assert {unit.settings["rounds"] for unit in definition.units(request)} == {150}
        made = shown(definition.table(request, results))
        text = " ".join(made.notes)
        widths, step, batch, pinned = (
            ("9-8", "step 0.05", 25, "in each iteration")
            if choices
            else ("64-32", "step 0.1", 50, "when a cluster is empty")
        )
        assert all(f"MLP {widths}, {step}" in row.settings for row in made.rows)
        assert f"Mini-batches of {batch}," in text
        assert f"In both, {pinned}," in text
        assert any(cell.judged for row in made.rows for cell in row.cells.values() if cell.printed)


def test_a_table_of_the_digits_with_a_choice() -> None:
    problem = Problem("digits", "MLP")
    request = Request(1, 3, "small", {"batch-size": 10, "hidden": (6, 5), "empty-cluster": "always"})
    definition = gradient_loss.iterations_table("gradient-loss/digits", "Digits", problem)
    results = {
        (unit.method, unit.seed): gradient_loss_runs.compute(unit) for unit in definition.units(request)
    }
    made = shown(definition.table(request, results))
    assert [row.name for row in made.rows] == [arm.method for arm in arms(problem, "small")]
    assert all(set(row.cells) <= set(made.columns) for row in made.rows)
    assert made.settings["rounds"] == {"digits MLP, step 0.1": 3}
    assert all("MLP 6-5" in row.settings for row in made.rows)
    assert made.settings["batch_size"] == 10
    assert made.notes[0] == (
        "Chosen in place of the default: batch size 10 (50); empty cluster always (when-empty); hidden 6,5 (64,32)."
    )
