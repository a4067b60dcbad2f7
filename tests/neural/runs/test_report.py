"""What is said of a training run at its end, from made rows."""

from typing import Any

import pytest

from clusterproof.neural.runs.configuration import configuration_from
from clusterproof.neural.runs.report import describe_training
from clusterproof.neural.runs.training import TrainingResult

MEASURED = {"accuracy": 0.875, "correct_model": 0.5, "training_loss": 1.25, "test_loss": 2.5}
NOTHING = dict.fromkeys((*MEASURED, "accuracy_after_local_training"))
CLUSTERS = {"purity": 0.75, "adjusted_rand_index": 0.25, "clusters": 3}
ROWS: list[dict[str, Any]] = [
    {"round": 1, "seconds": 0.25, **NOTHING, **CLUSTERS, "accuracy": 0.125, "purity": 0.5},
    {"round": 2, "seconds": 0.5, **NOTHING, **MEASURED, **CLUSTERS, "clusters": 2},
    {"round": 3, "seconds": 0.75, **NOTHING, **CLUSTERS},
]


def report(
    *, rows: list[dict[str, Any]] = ROWS, choices: dict[str, Any] | None = None, **sections: Any
) -> list[str]:
    """The lines; of a run that broke off where nothing was chosen."""
    configuration = configuration_from({"training": {"rounds": 9, "seed": 4}, **sections})
    result: Any = None
    if choices is not None:
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        made = {"device": "cpu", "engine": "vmap", "test_assignment": "train", **choices}
        result, rows = TrainingResult(columns, None, made, True), []  # type: ignore[arg-type]
    return describe_training(configuration, rows, result).splitlines()


def test_the_last_evaluation_and_the_last_clusters_are_told() -> None:
    """Rounds 2 and 3 of the three that took 1.5 s; images are told of where something is done to them."""
    lines = [
        "cfl-mgd on digits, rotated-groups, mlp: 3 of 9 rounds, seed 4, 1.50 s",
        "round 2: test accuracy 0.875, share with their cluster's model 0.5, training loss 1.25, test loss 2.5",
        "purity 0.75, adjusted Rand index 0.25, clusters 3",
    ]
    assert report() == lines
    assert report(choices={})[:-1] == lines
    assert report(data={"crop": 6, "flip": True}) == [lines[0], "images: crop 6, flip", *lines[1:]]
    assert report(rows=[]) == [lines[0].replace("3 of", "0 of").replace("1.50", "0.00")]
    assert report(rows=ROWS[2:]) == [lines[0].replace("3 of", "1 of").replace("1.50", "0.75"), lines[2]]


@pytest.mark.parametrize(
    ("algorithm", "choices", "test_loss", "words"),
    [
        ("cfl-mgd", {}, 2.5, "served by the loss on their training data"),
        ("cfl-mgd", {"test_assignment": "test-loss"}, 2.5, "loss on their labelled test data"),
        ("fedavg", {}, 2.5, "served the one model"),
        ("local", {}, None, "served its own model"),
        ("local", {}, 2.5, "served by the loss on their training data"),
        ("per-fedavg", {"personal_step": True}, 2.5, "what its personal step makes"),
    ],
)
def test_who_is_served_which_model_is_told(
    algorithm: str, choices: dict[str, Any], test_loss: float | None, words: str
) -> None:
    rows = [ROWS[0], {**ROWS[1], "test_loss": test_loss}]
    last = report(rows=rows, choices=choices, algorithm={"name": algorithm})[-1]
    assert last.startswith("cpu, engine vmap; ")
    assert words in last
