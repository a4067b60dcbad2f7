"""What CFL-MGD's Table 2 says of what was chosen."""

import pytest
from made_tables import mgd

from clusterproof.experiments.choices import Value

pytestmark = pytest.mark.usefixtures("without_data")


def test_cfl_mgds_rows_and_notes_state_what_was_chosen() -> None:
    plain = mgd("cfl-mgd/table-2-mnist", {})
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
    made = mgd("cfl-mgd/table-2-mnist", given)
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
    plain, made = mgd("cfl-mgd/table-2-cifar10", {}), mgd("cfl-mgd/table-2-cifar10", IFCAS)
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
