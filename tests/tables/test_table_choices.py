"""What can be chosen in the papers' tables on images: which runs it reaches, and what the tables then say."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from planting import planted

from clusterproof.algorithms import InvalidArgument, Randomness
from clusterproof.neural.data import loading
from clusterproof.tables import training_run
from clusterproof.tables.cfl_mgd import table_2_columns as cfl_mgd_columns
from clusterproof.tables.cfl_mgd import table_2_runs as cfl_mgd_runs
from clusterproof.tables.gradient_loss import figures_4_and_5 as gradient_loss
from clusterproof.tables.gradient_loss import runs as gradient_loss_runs
from clusterproof.tables.gradient_loss.runs import Problem
from clusterproof.tables.machine.choices import Choice, Count, Counts, Number, Thresholds, Value, Word
from clusterproof.tables.machine.comparison import Table
from clusterproof.tables.machine.report import table_json, table_text
from clusterproof.tables.machine.reproducible_table import ReproducibleTable, Request
from clusterproof.tables.machine.store import Unit
from clusterproof.tables.machine.workers import load
from clusterproof.tables.registry import TABLES
from clusterproof.tables.sofl import runs as sofl_runs
from clusterproof.tables.training_run import image_task, make_algorithm, served_by_training_data, snapshots

NAMES = sorted(TABLES)


@pytest.fixture(autouse=True)
def without_data() -> Iterator[None]:
    """As if all data sets were there; nothing is trained on them."""
    room = "clusterproof.tables.gradient_loss"
    with (
        planted(training_run, "require_data", lambda name: None),
        planted(loading, "load", lambda name: type("Set", (), {"note": ""}), within=room),
    ):
        yield


def table(name: str) -> ReproducibleTable:
    found = load(TABLES[name][1])
    assert isinstance(found, ReproducibleTable)
    return found


def identities(units: list[Unit]) -> dict[tuple[str, int], str]:
    """What tells stored units apart, as it is written into files."""
    return {
        (unit.method, unit.seed): json.dumps(dict(unit.settings), sort_keys=True)
        for unit in sorted(units, key=lambda unit: unit.name)
    }


def another(choice: Choice) -> Value:
    """Give a valid value that is not the default."""
    default, kind = choice.default, choice.kind
    if isinstance(kind, Number):
        if not default:
            return 0.125
        assert isinstance(default, float)
        return kind.read(str(default / 2 if kind.above < default / 2 else default * 1.5))
    if isinstance(kind, Count):
        return 20 if default is None else kind.read(str(2 if default == 1 else int(str(default)) - 1))
    if isinstance(kind, Counts):
        assert isinstance(default, tuple)
        return tuple(int(width) + 3 for width in default) or (17,)
    if isinstance(kind, Thresholds):
        return (0.125, 0.75)
    assert isinstance(kind, Word)
    return next(word for word in kind.words if word != default)


# ------------------------------------------------------------------ which runs a choice reaches


@pytest.mark.parametrize("name", NAMES)
def test_defaults_are_what_is_taken_without_a_choice(name: str) -> None:
    """Nothing that is stored is lost by saying what is the default anyway."""
    definition = table(name)
    for scale in ("full", "small"):
        plain = identities(definition.units(Request(2, None, scale)))
        for choice in definition.choices:
            if choice.only_full and scale == "small":
                continue
            given = {choice.name: choice.default_at(scale)}
            assert identities(definition.units(Request(2, None, scale, given))) == plain, choice.name
        every = {
            choice.name: choice.default_at(scale) for choice in definition.choices if not choice.only_full
        }
        assert identities(definition.units(Request(2, None, scale, every))) == plain


STORED = {
    "cfl-mgd/table-2-cifar10": "32fd469e7b33",
    "cfl-mgd/table-2-mnist": "fc2b92b18a2c",
    "fpfc/figure-1": "34c73bfa6f02",
    "fpfc/table-1": "0912f81c087b",
    "gradient-loss/cifar10-cnn": "747317a08d56",
    "gradient-loss/cifar10-mlp": "217f75b0f5ab",
    "gradient-loss/emnist-cnn": "844574f4e73a",
    "gradient-loss/emnist-mlp": "87036c34f3d2",
    "gradient-loss/fashion-mnist-cnn": "58219813c951",
    "gradient-loss/fashion-mnist-mlp": "67ad8278f0a1",
    "gradient-loss/iterations": "4ef9a251c0bb",
    "gradient-loss/mnist-cnn": "532e997c79b4",
    "gradient-loss/mnist-mlp": "2b30ee7ae1c1",
    "gradient-loss/mnist-mlp-small-step": "bec47a724ff1",
    "sofl/table-2": "a3d73f6b6e39",
    "sofl/table-3-cifar10": "8294d148fcce",
    "sofl/table-3-mnist": "eb194f1f2225",
    "sofl/table-4-cifar10": "acf0ee5e20ca",
    "sofl/table-4-mnist": "44847fba0b52",
    "sofl/table-5-cifar10": "37636f423a12",
    "sofl/table-5-mnist": "91f9e75fd9f0",
}
"""Of all units of one seed. Where one is changed on purpose, units that are stored are not found any more: raise the
table's version if they would come out differently, and write the new digest here."""


@pytest.mark.parametrize("name", NAMES)
def test_units_that_are_stored_are_still_found(name: str) -> None:
    definition = table(name)
    listed = [
        sorted(f"{key}: {own}" for key, own in identities(definition.units(Request(1, None, scale))).items())
        for scale in ("full", "small")
    ]
    content = json.dumps([definition.version, listed]).encode()
    assert hashlib.sha256(content).hexdigest()[:12] == STORED[name]


def always(unit: str) -> bool:
    return True


def of(*words: str) -> Callable[[str], bool]:
    return lambda unit: any(word in unit for word in words)


def but(*words: str) -> Callable[[str], bool]:
    return lambda unit: not any(word in unit for word in words)


KEYS = {
    "step-size": {"step_size", "inner_step_size"},
    "local-steps": {"local_steps"},
    "local-unit": {"local_unit"},
    "batch-size": {"batch_size"},
    "hidden": {"hidden"},
    "hidden-mlp": {"hidden"},
    "hidden-cnn": {"hidden"},
    "channels": {"channels"},
    "test-assignment": {"test_assignment"},
    "fedbcd-penalty": {"proximal"},
    "participation": {"participation"},
    "momentum": {"momentum", "step_size"},
    "step-size-decay": {"decay"},
    "clustering-round": {"pretraining", "warm_up", "rounds"},
    "share": {"share"},
    "grid": {"grid"},
    "map-start": {"initialisation"},
    "cfl-thresholds": {"mean_threshold", "client_threshold"},
    "empty-cluster": {"empty_cluster"},
    "strength": {"strength"},
    "augmentation": {"augmentation"},
    "weighting": {"weighting"},
    "ifca-restarts": {"restarts"},
    "ifca-least-share": {"least_share"},
    "cfl-noise-ratio": {"noise_ratio"},
    "least-share": {"least_share"},
    "restarts": {"restarts"},
    "network": {"name"},
    "crop": {"crop"},
    "flip": {"flip"},
    "contrast": {"contrast"},
    "standardise": {"standardise"},
    "augmentation-per": {"augmentation_per"},
}
"""Where in the settings of a unit each choice may be seen."""

REACHED: dict[tuple[str, str], Callable[[str], bool]] = {
    ("cfl-mgd", "local-steps"): but("H = 3"),
    ("cfl-mgd", "momentum"): of("CFL-MGD", "momentum", "effective"),
    ("cfl-mgd", "fedbcd-penalty"): of("FedBCD"),
    ("cfl-mgd", "least-share"): of("IFCA", "CFL-MGD"),
    ("cfl-mgd", "restarts"): of("IFCA", "CFL-MGD"),
    ("sofl/table-3", "ifca-least-share"): of("IFCA"),
    ("sofl/table-3", "cfl-noise-ratio"): of("CFL"),
    ("sofl/table-3", "grid"): of("SoFL"),
    ("sofl/table-3", "map-start"): of("SoFL"),
    ("sofl/table-3", "cfl-thresholds"): of("CFL, thresholds"),
    ("sofl/table-3", "weighting"): but("IFCA"),
    ("sofl/table-3", "ifca-restarts"): of("IFCA"),
    ("sofl/table-3", "clustering-round"): of("SoFL", "CFL"),
    ("gradient-loss", "ifca-restarts"): of("apart, IFCA"),
    ("gradient-loss", "hidden-mlp"): of("MLP"),
    ("gradient-loss", "hidden-cnn"): of("CNN"),
    ("gradient-loss", "channels"): of("CNN"),
    ("fpfc/figure-1", "strength"): lambda unit: "FPFC" in unit and "lambda" not in unit,
    ("fpfc/table-1", "step-size"): but("oracle", "data"),
    ("fpfc/table-1", "local-steps"): but("oracle", "data", "cfl", "ifca, published"),
    ("fpfc/table-1", "participation"): but("oracle", "data", "local"),
    ("fpfc/table-1", "augmentation"): of("fpfc"),
}
"""Which units, by the beginning of the table's id and the choice; all of them where nothing is said."""


def reached(name: str, choice: str) -> Callable[[str], bool]:
    kind = "sofl/table-3" if name.startswith(("sofl/table-4", "sofl/table-5")) else name
    for (family, chosen), which in REACHED.items():
        if kind.startswith(family) and chosen == choice:
            return which
    return always


def leaves(settings: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in settings.items():
        below = leaves(value, f"{path}{key}.") if isinstance(value, Mapping) else {f"{path}{key}": value}
        found |= below
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_choice_reaches_the_runs_that_depend_on_it_and_no_other_setting(name: str) -> None:
    definition = table(name)
    assert definition.choices
    plain = definition.units(Request(2))
    for choice in definition.choices:
        value = another(choice)
        units = definition.units(Request(2, choices={choice.name: value}))
        which = reached(name, choice.name)
        changed = 0
        for before, after in paired(plain, units):
            own, chosen = leaves(before.settings), leaves(after.settings)
            differ = {key for key in own.keys() | chosen.keys() if own.get(key) != chosen.get(key)}
            assert bool(differ) == which(before.name), (choice.name, before.name)
            assert {key.rpartition(".")[2] for key in differ} <= KEYS[choice.name], (choice.name, before.name)
            changed += bool(differ)
            if differ:
                shown = [chosen[key] for key in sorted(differ, reverse=True) if key in chosen]
                assert shown in as_stored(choice.name, value), (choice.name, before.name)
        assert changed or choice.default is None, choice.name
        assert set(identities(units).values()) != set(identities(plain).values()), choice.name


def paired(plain: list[Unit], units: list[Unit]) -> list[tuple[Unit, Unit]]:
    """The same runs without and with a choice: by their order, in which names may say what is chosen."""
    if len(plain) == len(units):
        return list(zip(plain, units, strict=True))
    names = {unit.name: unit for unit in units}  # there are more
    return [(unit, names[unit.name]) for unit in plain]


def as_stored(name: str, value: Value) -> list[list[Any]]:
    """How a value may be found in the settings of a unit, by key from the last."""
    if name == "cfl-thresholds":
        assert isinstance(value, tuple)
        return [list(value)]
    if name == "share":  # the rows of the other reading change places
        return [["full"], ["split"]]
    if name == "momentum":  # of the control at eta / (1 - beta) the step size
        assert isinstance(value, float)
        return [[value], [0.1 * (1 / (1 - value))]]
    if name == "local-unit" and value == "step":
        return [[]]  # a task's own, which is left out
    if value == "yes":
        return [[True]]
    stored = list(value) if isinstance(value, tuple) else value
    return [[stored], [stored, stored]]


# ------------------------------------------------------------------ what the tables say


def accuracies_of(name: str, request: Request) -> Table:
    """A table of SoFL's accuracies from made results."""
    definition = table(name)
    results = {}
    for index, unit in enumerate(definition.units(request)):
        record = {"round": 50, "server": (37 * index) % 90, "local": 50.0, "clusters": 4, "rand": 0.5}
        results[unit.method, unit.seed] = {"curve": [record], "device": "cpu"}
    return shown(definition.table(request, results))


def shown(made: Table) -> Table:
    """Require that a table can be printed and written."""
    assert table_text(made, 100)
    assert table_json(made, {})
    return made


def test_sofls_notes_state_what_was_chosen() -> None:
    plain = accuracies_of("sofl/table-4-mnist", Request(3))
    assert any("step size 0.1, 100 hidden units, 50 rounds" in note for note in plain.notes)
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
    }
    made = accuracies_of("sofl/table-4-mnist", Request(3, choices=given))
    text = " ".join(made.notes[1:])
    for part in (
        "step size 0.2, 50 hidden units, 50 rounds with the clustering after round 7",
        "a 6x6 map that starts at random unit vectors",
        "50 % of the clients take part",
        "than 0.3 while the largest is longer than 0.6",
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


def test_sofls_tables_have_the_costs_beside_them() -> None:
    """By hand: a perceptron of 785 * 100 + 101 * 10 numbers; 20 clients, or 24 in 8 groups."""
    notes = accuracies_of("sofl/table-4-mnist", Request(3)).notes
    heads = [note for note in notes if note.startswith("Cost account")]
    assert ["K = 2" in heads[0], "K = 4" in heads[1], "K = 8" in heads[2]] == [True] * 3
    assert all("a model is 79,510 numbers of 4 bytes" in head for head in heads)
    both, ifca = notes[notes.index(heads[2]) + 1 : notes.index(heads[2]) + 3]
    assert both == (
        "Cost of FedAvg; FedProx; CFL; CFL, thresholds; SoFL; SoFL, guarded: 50 rounds of 24; 3 forward and 3 backward "
        "passes, worth 9; 318,040 bytes down, 318,040 up; server 24. In all 10,800 passes and 763,296,000 bytes."
    )
    assert ifca == (
        "Cost of IFCA: 50 rounds of 24; 11 forward and 3 backward passes, worth 17; 2,544,320 bytes down, 318,040 up; "
        "server 24. In all 20,400 passes and 3,434,832,000 bytes."
    )
    assert "300 draws of an update with 25 neurons and moves these, once: 15,000 vectors" in notes[-1]
    chosen = accuracies_of(
        "sofl/table-3-mnist", Request(3, choices={"participation": 0.5, "hidden": (50,)})
    ).notes
    assert any("a model is 39,760 numbers" in note for note in chosen)
    assert any("50 rounds of 10; 7 forward and 3 backward passes, worth 13" in note for note in chosen)


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
    with pytest.raises(InvalidArgument, match="says what --rounds says"):
        table("sofl/table-2").units(Request(1, 5, choices={"clustering-round": 5}))
    units = table("sofl/table-2").units(Request(1, choices={"clustering-round": 5, "grid": 3}))
    assert (units[0].settings["rounds"], units[0].settings["grid"]) == (5, 3)


def mgd(name: str, given: dict[str, Value]) -> Table:
    """A table of CFL-MGD from made results."""
    request, definition = Request(2, choices=given), table(name)
    results = {}
    for index, unit in enumerate(definition.units(request)):
        record = {"round": 300, "accuracy": float(index % 90), "right": 1.0, "found": 2}
        results[unit.method, unit.seed] = {"curve": [record], "device": "cpu"}
    return shown(definition.table(request, results))


def test_cfl_mgds_rows_and_notes_state_what_was_chosen() -> None:
    plain, three = mgd("cfl-mgd/table-2-mnist", {}), mgd("cfl-mgd/table-2-mnist", {"local-steps": 3})
    assert sum("Of H = 10 and H = 3" in row.sentence for row in plain.rows) == 3
    assert not any("nearer" in row.sentence for row in three.rows)  # H = 3 twice
    assert "10 steps on the full local data and the network of IFCA's code" in plain.notes[1]
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
    assert "4 epochs of batches of 20 and 50 hidden units in the network of IFCA's code" in text
    assert "own training data" in text
    assert "labelled" not in text
    assert "half of that cluster's clients." in text
    assert "CIFAR-10 alone: here 0.25, 0.5 and 0.9." in text
    abouts = [row.settings for row in made.rows]
    assert abouts.count("3 local passes") == 3
    assert "3 local steps" not in abouts
    methods = made.settings["methods"]
    assert methods["IFCA, effective step"]["step_size"] == pytest.approx(0.1 / (1 - 0.5))
    assert methods["CFL-MGD, H = 3"]["momentum"] == 0.5
    assert all(cell.judged for row in made.rows for cell in row.cells.values())


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


# ------------------------------------------------------------------ runs


def test_served_by_training_data_as_by_plain_loops() -> None:
    """Least loss on the client's own training images, then all test images of its rotation."""
    settings = {
        "data": "digits",
        "partition": {"name": "rotations", "clusters": 2, "clients": 12, "samples": 100},
        "network": {"name": "mlp", "hidden": [16]},
        "task": {"dtype": "float64"},
    }
    task = image_task(settings, 2)
    algorithm = make_algorithm({"algorithm": "ifca", "averaging": "model", "step_size": 0.3})
    (look,) = snapshots(algorithm, task, rounds=4, seed=1)
    for models in (look.state.models, task.initial_models(2, (), Randomness.from_seed(3, "x").gradient)):
        look = replace(look, state=replace(look.state, models=models))
        found = served_by_training_data(look)
        chosen, shares = [], []
        for client, cluster in enumerate(task.labels):
            train, test = task.partition.train, task.partition.test
            losses = [
                loss(model, train.pixels[train.indices[client]], train.targets[client])[0] for model in models
            ]
            chosen.append(int(np.argmin(losses)))
            holders = test.labels == cluster
            images, targets = test.pixels[test.indices[holders].ravel()], test.targets[holders].ravel()
            shares.append(loss(models[chosen[-1]], images, targets)[1])
        assert found["accuracy"] == pytest.approx(100 * np.mean(shares))
        agree = [
            np.mean(np.array(chosen) == (task.labels if same else 1 - task.labels)) for same in (True, False)
        ]
        assert found["right"] == pytest.approx(max(agree))


def loss(model: torch.Tensor, pixels: np.ndarray, targets: np.ndarray) -> tuple[float, float]:
    """Cross-entropy and accuracy of a perceptron with 16 hidden units, by torch's own layers."""
    net = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Linear(16, 10)
    ).double()
    torch.nn.utils.vector_to_parameters(model, net.parameters())
    scores = net(torch.from_numpy(pixels / 255)).detach()
    labels = torch.from_numpy(targets)
    return (
        float(torch.nn.functional.cross_entropy(scores, labels)),
        float((scores.argmax(1) == labels).double().mean()),
    )


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


def test_a_table_of_the_digits_with_a_choice() -> None:
    problem = Problem("digits", "MLP")
    request = Request(1, 3, "small", {"batch-size": 10, "hidden": (6, 5), "empty-cluster": "always"})
    definition = gradient_loss.iterations_table("gradient-loss/digits", "Digits", problem)
    results = {
        (unit.method, unit.seed): gradient_loss_runs.compute(unit) for unit in definition.units(request)
    }
    made = shown(definition.table(request, results))
    assert all("MLP 6-5" in row.settings for row in made.rows)
    assert made.settings["batch_size"] == 10
    assert made.notes[0] == (
        "Chosen in place of the default: batch size 10 (50); empty cluster always (when-empty); hidden 6,5 (64,32)."
    )


# ------------------------------------------------------------------ images, starts and devices


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
    assert "batches of 50 and FedAvg's network." in texts[0]
    assert "without restarts" in texts[0]
    assert (
        "Images: random crops of 24, the central one in testing, random flips, random contrast within 0.8 of 1, "
        "each standardised, drawn for each batch." in texts[1]
    )
    for part in (
        "tutorial network",
        "the tutorial's law",
        "the best for 35 % of",
        "best of 3 after ten rounds",
    ):
        assert part in texts[1]
    assert all("80.43" in text and "waits for a larger machine" in text for text in texts)
    methods = made.settings["methods"]
    for name in ("IFCA", "CFL-MGD, reset", "IFCA, its own step"):
        assert (methods[name]["least_share"], methods[name]["restarts"]) == (0.35, 3)
    assert not {"least_share", "restarts"} & {*methods["FedAvg"], *methods["FedAvg, momentum"]}


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


def test_sofls_fair_baselines_are_stated() -> None:
    given: dict[str, Value] = {"ifca-least-share": 0.1, "cfl-noise-ratio": 0.5, "weighting": "samples"}
    text = " ".join(accuracies_of("sofl/table-4-mnist", Request(1, choices=given)).notes)
    assert "gamma_max = 0.5" in text
    assert "each drawn until every model is the best for 10 % of the clients" in text
    assert "weights n_m / n" in text


def test_a_task_is_made_as_its_settings_say() -> None:
    settings = {
        "data": "digits",
        "partition": {"name": "rotations", "clusters": 2, "clients": 12, "samples": 100},
        "network": {"name": "mlp", "hidden": [4]},
        "preprocessing": {"crop": 6, "flip": True},
        "gpu": True,
    }
    task = image_task({**settings, "device": "cpu"}, 0)
    assert task.network.image_shape == (1, 6, 6)
    assert (task.device, task.settings["preprocessing"]) == ("cpu", {"crop": 6, "flip": True})
    with pytest.raises(InvalidArgument, match="precision"):
        image_task({**settings, "device": "cpu", "precision": "tf32"}, 0)
