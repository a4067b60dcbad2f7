"""Each setting of a table reaches its place in the runs of its methods, and no other; the papers' own settings."""

import re
import tomllib
from dataclasses import fields
from typing import Any

import pytest

from clusterproof.common.options import parameter_descriptions
from clusterproof.experiments.paper_table import Number, Row, curve
from clusterproof.experiments.tables import TABLES

REACHES: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(
    """
["cfl-mgd/table-2"]
".*" = {rounds = 9, step_size = 0.3, batch_size = 7,
clusters = 2, clients = 30, samples = 33, step_size_decay = 0.5, local_unit = "epoch", test_assignment = "train",
participation = 0.6, local_steps = 4, images.crop = 20, device = "cuda", precision = "bf16"}
"CFL-MGD|IFCA|FedAvg" = {hidden = [7], network = "resnet-20", channels = [3, 4]}
FedBCD = {penalty.proximal = 0.7, fedbcd_network.network = "resnet-20", fedbcd_hidden.hidden = [7]}
CFL-MGD.momentum = 0.4
"CFL-MGD|IFCA" = {least_share = 0.2, restarts = 3}
["gradient-loss/figures-4-and-5"]
".*" = {rounds = 9, step_size = 0.3, batch_size = 7, hidden = [7], network = "resnet-20", channels = [3, 4],
clients_per_cluster = 3, sign = "as-printed", empty_cluster = "always", device = "cuda", precision = "bf16"}
["sofl/tables-3-to-5"]
".*" = {rounds = 9, step_size = 0.3, batch_size = 7, hidden = [7], network = "resnet-20", channels = [3, 4],
images = 77, share = "full", local_epochs.local_steps = 4, participation = 0.6, device = "cuda", precision = "bf16"}
SoFL = {grid = 3, cluster_count = "silhouette", map_start.initialisation = "random", clustering_round.pretraining = 6}
CFL = {clustering_round.warm_up = 6, cfl_thresholds = {mean_threshold = 0.3, client_threshold = 0.7}}
IFCA.restarts = 3
["sofl/table-2"]
".*" = {rounds = {rounds = 9, evaluate_every = 9}, step_size = 0.3, batch_size = 7, hidden = [7], grid = 3,
images = 77, share = "full", local_epochs.local_steps = 4, k_means_start = "k-means++", k_means_attempts = 3,
map_start = "random", cluster_count = "silhouette", repetitions = 3}
["fpfc/figure-1"]
".*" = {rounds = 9, step_size = 0.3, batch_size = 7, hidden = [7], network = "resnet-20", channels = [3, 4],
clients = 8, padding = [1, 1], step_size_decay = 0.5, participation = 0.6, device = "cuda", precision = "bf16"}
"FPFC.*".strength = 0.3
Per-FedAvg = {step_size.inner_step_size = 0.3, meta_steps.local_steps = 6}
"(?!Per-FedAvg).*".local_epochs.local_steps = 4
""".replace(",\n", ", ")
)
"""Another value of each setting, below the options that get it where their names differ, by its methods."""

PRINTED: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(
    """
["cfl-mgd/table-2 mnist"]
".*" = {clusters = 4, clients = 2400, samples = 100, step_size = 0.1, rounds = 300, network = "mlp"}
FedBCD.hidden = [200, 200]
"CFL-MGD|IFCA".averaging = "model"
["cfl-mgd/table-2 cifar10"]
".*" = {clusters = 2, clients = 200, samples = 500, step_size = 0.01, rounds = 300, participation = 0.1,
step_size_decay = 0.99}
"CFL-MGD|IFCA|FedAvg".network = "cnn"
FedBCD.network = "resnet-20"
CFL-MGD.momentum = 0.9
["gradient-loss/figures-4-and-5 mnist"]
".*" = {partition = "classes", test_assignment = "train"}
"GL-CFL, lambda 0.5".weight = 0.5
["sofl/tables-3-to-5 mnist"]
".*" = {images = 10_000, local_steps = 3, batch_size = 100, local_unit = "epoch"}
"FedProx,.*".proximal = 0.1
"SoFL,.*".pretraining = 20
".*, K = 2".clusters = 2
".*, K = 8" = {clusters = 8, partition = "label-shift"}
".*, phi = 0.5" = {clusters = 4, concentration = 0.5, partition = "quantity"}
".*, phi = 10".concentration = 10
["sofl/tables-3-to-5 cifar10"]
".*" = {images = 20_000, local_steps = 5, batch_size = 100, local_unit = "epoch"}
"SoFL,.*".pretraining = 40
["sofl/table-2 mnist"]
".*" = {images = 10_000, local_steps = 3, batch_size = 100, local_unit = "epoch", clusters = 4,
cluster_count = "elbow"}
["fpfc/figure-1 mnist"]
Per-FedAvg = {local_unit = "step", partition = "label-swap"}
"(?!Per-FedAvg).*" = {local_unit = "epoch", clients = 20}
FPFC-l1.penalty = "l1"
""".replace(",\n", ", ")
)
"""What the papers print of their runs, and what the methods are."""


def runs_of(name: str, **settings: Any) -> dict[str, dict[str, Any]]:
    """Return all options of each run of a table by the run's name; a section is the option of its name."""
    runs = {}
    for run, unit in TABLES[name].from_values(settings).units(0).items():
        flat = {key: value for key, value in unit.settings.items() if key != "sections"}
        for section, options in unit.settings["sections"].items():
            flat |= {section if key == "name" else key: value for key, value in options.items()}
        runs[run] = flat
    return runs


def asked(setting: str, value: Any) -> Any:
    """Return a setting's value from those of its options."""
    parts = list(value.values()) if isinstance(value, dict) and setting != "images" else [value]
    return parts[0] if setting != "cfl_thresholds" else parts


@pytest.mark.parametrize("name", REACHES)
def test_a_setting_reaches_the_runs_of_its_methods_and_no_other(name: str) -> None:
    usual, values = runs_of(name), [item for of in REACHES[name].values() for item in of.items()]
    settings = {setting for setting, _ in values}
    assert settings == {field.name for field in fields(TABLES[name])} - {
        "data",
        "methods",
        "weights",
        "partitions",
    }
    for setting, value in values:
        assert asked(setting, value) != getattr(TABLES[name].from_values({}), setting), setting
        for run, options in runs_of(name, **{setting: asked(setting, value)}).items():
            expected = dict(usual[run])
            for methods, of in REACHES[name].items():
                if setting in of and re.fullmatch(methods, run.partition(", ")[0]):
                    expected |= of[setting] if isinstance(of[setting], dict) else {setting: of[setting]}
            assert options == expected, (run, setting)


def test_the_runs_have_the_settings_that_the_papers_print() -> None:
    for place, expected in PRINTED.items():
        name, data = place.split()
        runs = runs_of(name, data=data)
        for methods, options in expected.items():
            chosen = [run for run in runs if re.fullmatch(methods, run)]
            assert chosen
            for run in chosen:  # the result does not depend on the machine
                assert runs[run].items() >= {**options, "threads": 1, "device": "cpu"}.items(), run
    # the public code multiplies by 0.9 after every fifth round
    assert runs["FPFC"]["step_size_decay"] ** 5 == pytest.approx(0.9)


def test_rows_are_judged_unless_a_printed_setting_is_changed() -> None:
    """The settings' descriptions say what is not printed."""
    kind = TABLES["cfl-mgd/table-2"]
    texts = parameter_descriptions(kind)
    for setting, value in (REACHES[kind.id][".*"] | REACHES[kind.id]["CFL-MGD"]).items():
        assert kind.from_values({setting: value}).judged == ("does not print" in texts[setting]), setting


def test_numbers_of_a_curve_by_hand() -> None:
    """By round in the table's unit; and of GL-CFL's figures the mean of the last ten iterations of twelve."""
    metrics = {"round": [1, 2, 4], "accuracy": [0.25, None, 0.5], "loss": [1.0, 2.0, None]}
    columns = {"accuracy %": ("accuracy", 100.0), "loss": ("loss", 1.0)}
    assert list(curve(metrics, columns)) == [
        Number("accuracy %", 25.0, 1),
        Number("accuracy %", 50.0, 4),
        Number("accuracy %", 50.0),
    ]
    table = TABLES["gradient-loss/figures-4-and-5"].from_values({})
    values = [0.0, 0.0, *[0.5] * 5, *[1.0] * 5]
    results = {"IFCA": {"round": range(12), "accuracy": values, "purity": values}}
    found = {number.column: number.value for _, number in table.numbers(results) if number.round is None}
    assert found == {"to purity 0.9": 8, "to accuracy 0.8": 8, "purity": 0.75, "accuracy %": 75.0}
    as_printed = TABLES[table.id].from_values({"sign": "as-printed"})
    assert as_printed.printed("GL-CFL, lambda 0.2", "saved to purity 0.9 %") is None
    assert Row("FPFC", "adjusted Rand index", (0.0625,)).cells[3] == "0.062"
