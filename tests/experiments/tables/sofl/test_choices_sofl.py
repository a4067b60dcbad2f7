"""What SoFL's tables say of what was chosen."""

import pytest
from made_tables import accuracies_of, table

from clusterproof.algorithms import InvalidArgument
from clusterproof.experiments.choices import Value
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.tables.sofl import runs as sofl_runs

pytestmark = pytest.mark.usefixtures("without_data")


def test_sofls_notes_state_what_was_chosen() -> None:
    plain = accuracies_of("sofl/table-4-mnist", Request(3))
    assert any(
        "rounds 50, images 10000, step size 0.1, network mlp hidden 100," in note for note in plain.notes
    )
    assert "choices" not in plain.settings
    given: dict[str, Value] = {
        "step-size": 0.2,
        "hidden": (50,),
        "clustering-round": 7,
        "grid": 6,
        "map-start": "random",
        "participation": 0.5,
        "cfl-thresholds": (0.3, 0.6),
        "share": "full",
        "ifca-least-share": 0.1,
        "cfl-noise-ratio": 0.5,
        "weighting": "samples",
    }
    made = accuracies_of("sofl/table-4-mnist", Request(3, choices=given))
    text = " ".join(made.notes[1:])
    for part in (
        "clustering round 7, rounds 50, images 10000, step size 0.2, network mlp hidden 50,",
        "cfl thresholds 0.3 0.6, participation 0.5, share full, grid 6, map start random,",
        "weighting samples, ifca restarts 1, ifca least share 0.1, cfl noise ratio 0.5.",
    ):
        assert part in text
    assert made.notes[0].startswith("Chosen in place of the default: step size 0.2 (0.1); hidden 50 (100); ")
    assert "cfl thresholds 0.3,0.6 (0.2,0.5)" in made.notes[0]
    assert {row.settings for row in made.rows} == {"every group has all images"}
    assert made.settings["choices"] == given
    for key, value in (("step_size", 0.2), ("clustering_round", 7), ("grid", 6), ("share", "full")):
        assert made.settings[key] == value
    # the paper does not exclude it: every cell is judged as without the choice
    verdicts = [[cell.judged for row in one.rows for cell in row.cells.values()] for one in (plain, made)]
    assert verdicts[0] == verdicts[1] == [True] * len(verdicts[0])


def test_both_readings_of_the_division_change_places() -> None:
    for share, other in (("split", "full"), ("full", "split")):
        made = accuracies_of("sofl/table-3-mnist", Request(2, choices={"share": share}))
        words = sofl_runs.SHARES
        main = [row.name for row in made.rows if row.settings == words[share]]
        assert main == sofl_runs.MNIST.methods
        assert [row.name for row in made.rows if row.settings == words[other]] == ["FedAvg", "SoFL"]
        assert all(words[share] in curve.name for curve in made.curves)


def test_thresholds_make_a_row_where_there_is_none() -> None:
    given = {"cfl-thresholds": (0.1, 0.4)}
    made = accuracies_of("sofl/table-4-cifar10", Request(2, choices=given))
    plain = accuracies_of("sofl/table-4-cifar10", Request(2))
    assert {row.name for row in made.rows} - {row.name for row in plain.rows} == {"CFL, thresholds"}


def test_a_run_must_outlast_its_clustering() -> None:
    definition = table("sofl/table-4-mnist")
    with pytest.raises(InvalidArgument, match=r"clustering-round=50.*less than the 50 rounds"):
        definition.units(Request(1, choices={"clustering-round": 50}))
    assert definition.units(Request(1, 51, choices={"clustering-round": 50}))
    with pytest.raises(InvalidArgument, match="more than 20, the round of the clustering"):
        definition.units(Request(1, rounds=20))
    assert definition.units(Request(1, rounds=21))[0].settings["rounds"] == 21
    with pytest.raises(InvalidArgument, match="says what --rounds says"):
        table("sofl/table-2").units(Request(1, 5, choices={"clustering-round": 5}))
    units = table("sofl/table-2").units(Request(1, choices={"clustering-round": 5, "grid": 3}))
    assert (units[0].settings["rounds"], units[0].settings["grid"]) == (5, 3)
