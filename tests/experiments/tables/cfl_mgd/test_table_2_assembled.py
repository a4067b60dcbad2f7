"""What CFL-MGD's Table 2 makes of its runs: differences, curves and cells, by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from made_tables import shown

from clusterproof.experiments.choices import Value
from clusterproof.experiments.comparison import Table
from clusterproof.experiments.reproducible_table import ReproducibleTable, Request
from clusterproof.experiments.tables.cfl_mgd.table_2 import ACCURACY, LOST, RIGHT, TABLE_CIFAR, TABLE_MNIST
from clusterproof.experiments.tables.cfl_mgd.table_2_columns import CIFAR_10, MNIST
from clusterproof.experiments.tables.cfl_mgd.table_2_runs import EARLY, make_units

EFFECTIVE = "IFCA, effective step"
ANY = {"FedAvg": [50.0, 60.0]}
"""Accuracies where they do not matter."""


def assembled(
    accuracies: Mapping[str, Sequence[float]],
    found: Mapping[str, Sequence[int]] | None = None,
    *,
    definition: ReproducibleTable = TABLE_MNIST,
    choices: Mapping[str, Value] | None = None,
    rounds: int | None = None,
    scale: str = "full",
) -> Table:
    """The table of final accuracies and numbers of clusters with a model, one per seed; half as much at round 10."""
    experiment = MNIST if definition is TABLE_MNIST else CIFAR_10
    seeds = len(next(iter(accuracies.values())))
    request = Request(seeds, rounds, scale, choices or {})
    results: dict[tuple[str, int], dict[str, Any]] = {}
    for unit in make_units(experiment, request):
        early = unit.method.startswith(EARLY)
        value = 0.0 if early else accuracies.get(unit.method, [50.0] * seeds)[unit.seed]
        whole = (found or {}).get(unit.method, [experiment.clusters] * 20)[unit.seed % 20]
        last = {"round": 300, "accuracy": value, "correct_model": 0.75, "found": whole}
        first = {**last, "round": 10, "accuracy": value / 2}
        results[unit.method, unit.seed] = {"curve": [first, last], "device": "cpu"}
    return shown(definition.table(request, results))


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (
            TABLE_MNIST,
            {
                "CFL-MGD - IFCA (paper +3.45)": (4 - 2, 14 - 22),
                "CFL-MGD - FedAvg (paper +6.21)": (4 - 1, 14 - 31),
                "IFCA - FedAvg (paper +2.76)": (2 - 1, 22 - 31),
                "CFL-MGD - IFCA, effective step": (4 - 32, 14 - 5),
                "CFL-MGD - CFL-MGD, reset": (4 - 64, 14 - 9),
                "CFL-MGD, H = 3 - IFCA, H = 3": (16 - 8, 25 - 61),
                "FedAvg, momentum - FedAvg": (128 - 1, 3 - 31),
            },
        ),
        (
            TABLE_CIFAR,
            {
                "CFL-MGD - IFCA (paper +4.90)": (4 - 2, 14 - 22),
                "CFL-MGD - FedAvg (paper +10.91)": (4 - 1, 14 - 31),
                "IFCA - FedAvg (paper +6.01)": (2 - 1, 22 - 31),
                "CFL-MGD - IFCA, effective step": (4 - 32, 14 - 5),
                "CFL-MGD - IFCA, its own step": (4 - 256, 14 - 70),
                "CFL-MGD - CFL-MGD, reset": (4 - 64, 14 - 9),
                "FedAvg, momentum - FedAvg": (128 - 1, 3 - 31),
            },
        ),
    ],
    ids=["mnist", "cifar10"],
)
def test_differences_are_those_of_their_names(
    definition: ReproducibleTable, expected: dict[str, tuple[int, int]]
) -> None:
    """Two seeds, all numbers so different that no other pair has these differences."""
    scores = {
        "FedAvg": (1, 31),
        "IFCA": (2, 22),
        "CFL-MGD": (4, 14),
        "IFCA, H = 3": (8, 61),
        "CFL-MGD, H = 3": (16, 25),
        EFFECTIVE: (32, 5),
        "CFL-MGD, reset": (64, 9),
        "FedAvg, momentum": (128, 3),
        "IFCA, its own step": (256, 70),
    }
    made = assembled(scores, definition=definition)
    assert {comparison.name: comparison.values for comparison in made.comparisons} == expected


@pytest.mark.parametrize("definition", [TABLE_MNIST, TABLE_CIFAR], ids=lambda table: table.id)
def test_each_row_has_the_accuracies_of_its_runs(definition: ReproducibleTable) -> None:
    experiment = MNIST if definition is TABLE_MNIST else CIFAR_10
    scores = {name: [10.0 * place, 10.0 * place + 0.5] for place, name in enumerate(experiment.methods)}
    lost = {"first rounds of IFCA": [experiment.clusters - 1] * 4 + [experiment.clusters] * 16}
    made = assembled(scores, lost, definition=definition)
    assert made.id == definition.id
    rows = dict(zip(experiment.methods, made.rows, strict=True))
    for name, row in rows.items():
        assert row.cells[ACCURACY].values == tuple(scores[name])
        assert (row.cells[ACCURACY].printed is None) == (not experiment.methods[name].paper)
        assert row.cells[ACCURACY].judged
    assert rows["IFCA"].cells[LOST].mean == 20
    for shorter in ({"rounds": 100}, {"scale": "small"}):
        table = assembled(scores, definition=definition, **shorter)
        assert not any(row.cells[ACCURACY].judged for row in table.rows)
        assert "no verdicts" in table.notes[-1]


def test_curves_have_the_accuracies_of_their_rounds() -> None:
    curves = {curve.name: curve for curve in assembled({"IFCA": [20.0, 40.0], "FedAvg": [60.0, 8.0]}).curves}
    assert set(curves) == set(MNIST.methods)
    assert list(curves["IFCA"].points) == [10, 300]
    assert [cells[ACCURACY].values for cells in curves["IFCA"].cells] == [(10, 20), (20, 40)]
    assert [cells[ACCURACY].values for cells in curves["FedAvg"].cells] == [(30, 4), (60, 8)]


def test_shares_of_clients_and_seeds_are_in_per_cent_of_their_methods() -> None:
    made = assembled({"IFCA": [50.0] * 3}, {"first rounds of IFCA": [3] * 5 + [4] * 15})
    rows = {(row.name, row.settings): row.cells for row in made.rows}
    for (name, _), cells in rows.items():
        clustered = name in ("IFCA", "CFL-MGD")
        assert (RIGHT in cells) == clustered
        if clustered:
            assert cells[RIGHT].values == (75, 75, 75)
    assert rows["IFCA", "as published"][LOST].mean == 25
    assert {key for key, cells in rows.items() if LOST in cells} == {
        ("IFCA", "as published"),
        ("CFL-MGD", "as published"),
        ("IFCA", "at step eta / (1 - beta)"),
    }


def test_printed_numbers_and_spreads_are_those_of_the_page() -> None:
    """A second transcription of Table 2, method by method: CIFAR-10 and MNIST."""
    page = {
        "CFL-MGD": "80.43 0.14 96.05 0.12",
        "IFCA": "75.53 0.90 92.60 0.27",
        "FedAvg": "69.52 1.09 89.84 0.32",
        "FedBCD": "47.31 1.50 70.06 0.92",
    }
    for name, text in page.items():
        numbers = list(map(float, text.split()))
        for experiment, (value, spread) in ((CIFAR_10, numbers[:2]), (MNIST, numbers[2:])):
            printed = experiment.printed[name]
            assert (printed.value, printed.spread, printed.resolution) == (value, spread, 0.01)


def test_more_seeds_than_usual_are_also_asked_whether_they_lose_a_cluster() -> None:
    for scale, seeds, expected in (("full", 25, 25), ("full", 3, 20), ("small", 8, 8), ("small", 1, 6)):
        units = make_units(MNIST, Request(seeds, scale=scale))
        assert sum(unit.method == EARLY + "IFCA" for unit in units) == expected
        assert sum(unit.method == "IFCA" for unit in units) == seeds
    assert {unit.settings["rounds"] for unit in make_units(MNIST, Request(1, rounds=7))} == {7, 12}


def test_cfl_mgds_rows_and_notes_state_what_was_chosen() -> None:
    plain = assembled(ANY)
    assert "local steps 10, local unit step, batch size none, network mlp hidden 200, " in plain.notes[1]
    assert "labelled test data" in plain.notes[0]
    given: dict[str, Value] = {
        "local-steps": 4,
        "local-unit": "epoch",
        "batch-size": 20,
        "hidden": (50,),
        "test-assignment": "train",
        "momentum": 0.5,
        "participation": 0.25,
        "step-size-decay": 0.9,
    }
    made = assembled(ANY, choices=given)
    text = " ".join(made.notes[1:])
    assert "local steps 4, local unit epoch, batch size 20, network mlp hidden 50," in text
    assert "own training data" in text
    assert "labelled" not in text
    assert "half of that cluster's clients." in text
    assert "participation 0.25, momentum 0.5, step size decay 0.9." in text
    abouts = [row.settings for row in made.rows]
    assert abouts.count("3 local passes") == 3
    assert "3 local steps" not in abouts
    methods = made.settings["methods"]
    assert methods["IFCA, effective step"]["step_size"] == pytest.approx(0.1 / (1 - 0.5))
    assert methods["CFL-MGD, H = 3"]["momentum"] == 0.5
    assert all(cell.judged for row in made.rows for cell in row.cells.values())


IFCAS: dict[str, Value] = {
    "network": "tutorial-cnn",
    "crop": 24,
    "flip": "yes",
    "contrast": 0.8,
    "standardise": "yes",
    "augmentation-per": "batch",
    "least-share": 0.35,
    "restarts": 3,
}


def test_cifar_states_what_ifcas_code_does_and_what_waits() -> None:
    plain, made = (assembled(ANY, definition=TABLE_CIFAR, choices=given) for given in ({}, IFCAS))
    texts = [" ".join(one.notes) for one in (plain, made)]
    assert "Images: as they are, in training and testing." in texts[0]
    assert "local steps 5, local unit epoch, batch size 50, network cnn," in texts[0]
    assert "least share none, restarts 1," in texts[0]
    for part in (
        "Images: crop 24, flip True, contrast 0.8, standardise True, augmentation per batch.",
        "network tutorial-cnn, least share 0.35, restarts 3,",
    ):
        assert part in texts[1]
    assert all("75.6 % after 100 rounds" in text for text in texts)
    methods = made.settings["methods"]
    for name in ("IFCA", "CFL-MGD, reset", "IFCA, its own step"):
        assert (methods[name]["least_share"], methods[name]["restarts"]) == (0.35, 3)
    assert not {"least_share", "restarts"} & {*methods["FedAvg"], *methods["FedAvg, momentum"]}
