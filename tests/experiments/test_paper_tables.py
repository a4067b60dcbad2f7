"""The papers' tables at toy size: their rows are those of the algorithms called directly, and the printed numbers."""

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
import polars
import pytest
from toy_tables import TOY

from clusterproof.algorithms import CFL, FPFC, IFCA, FedAvg, Local, SoFL, best_matching_units
from clusterproof.common import InvalidArgument, Randomness, generator
from clusterproof.common.options import parameter_descriptions
from clusterproof.experiments.paper_table import COLUMNS, PaperTable, Row, stored_results
from clusterproof.experiments.summary import HEADING, PAGE, stored_summary
from clusterproof.experiments.tables import (
    TABLES,
    fpfc_table_1,
    gradient_loss_figures_4_and_5,
    sofl_table_2,
)
from clusterproof.experiments.tables.fpfc_table_1 import PRINTED, AbsentAsZeroCFL, SharedIFCA, WeightedFedAvg
from clusterproof.running import adjusted_rand_index
from clusterproof.synthetic.softmax import SoftmaxMixture


def toy(name: str, **settings: Any) -> PaperTable:
    return TABLES[name].from_values({**TOY[name], **settings})


def results_of(table: PaperTable, seed: int = 0) -> dict[str, Any]:
    """Compute the units of a seed in this process; what is stored as JSON reads the same."""
    units = table.units(seed)
    return {name: json.loads(json.dumps(unit.function(**unit.settings))) for name, unit in units.items()}


def values_of(table: PaperTable, results: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    rows = table.rows(table.frame({0: results}))
    return {(row.method, row.column): row.values[0] for row in rows}


# ------------------------------------------------------------------ settings


@pytest.mark.parametrize("name", TABLES)
def test_every_setting_is_described_and_units_are_json(name: str) -> None:
    table = toy(name)
    assert set(parameter_descriptions(type(table))) == {field.name for field in fields(table)}
    units = table.units(0)
    assert json.loads(json.dumps({key: dict(unit.settings) for key, unit in units.items()})) == {
        key: unit.settings for key, unit in units.items()
    }
    assert len({unit.file for unit in [*units.values(), *table.units(1).values()]}) == 2 * len(units)
    # what a table stores of its settings makes the same table
    again = type(table).from_values(table.changes)
    assert [unit.settings for unit in again.units(0).values()] == [unit.settings for unit in units.values()]


@pytest.mark.parametrize("name", TABLES)
def test_without_changes_a_table_is_the_papers(name: str) -> None:
    table = TABLES[name].from_values({})
    assert table.judged
    assert set(table.changes) <= {"data"}
    assert not toy(name).judged or name == "fpfc/figure-1"


def test_a_data_set_brings_its_settings_and_a_user_s_go_first() -> None:
    kind = TABLES["cfl-mgd/table-2"]
    cifar: Any = kind.from_values({"data": "cifar10"})
    assert (cifar.clients, cifar.samples, cifar.clusters, cifar.batch_size) == (200, 500, 2, 50)
    assert cifar.judged
    changed: Any = kind.from_values({"data": "cifar10", "local_steps": 3, "clients": 100})
    assert (changed.local_steps, changed.clients, changed.samples) == (3, 100, 500)
    assert changed.changes == {"data": "cifar10", "local_steps": 3, "clients": 100}
    assert not changed.judged
    assert kind.from_values({"data": "cifar10", "local_steps": 3}).judged, "the paper prints no local steps"
    assert cifar.sections()["IFCA"]["training"]["step_size_decay"] == 0.99


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"rouds": 3}, "Write rounds"),
        ({"rounds": 0}, "at least 1"),
        ({"rounds": 2.5}, "wrong type"),
        ({"momentum": 1.0}, "below 1"),
        ({"local_unit": "pass"}, "must be one of"),
        ({"methods": ["FedDyn"]}, "wrong type|Invalid|must be"),
    ],
)
def test_a_wrong_setting_is_refused(values: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidArgument, match=rule):
        TABLES["cfl-mgd/table-2"].from_values(values)


# ------------------------------------------------------------------ networks


def trained(sections: Mapping[str, Any]) -> Any:
    """Carry out a configuration by the algorithm's own steps; return task, state and the last known clusters."""
    from clusterproof.neural.configuration import configuration_from
    from clusterproof.neural.training import assemble

    configuration = configuration_from(sections)
    run = assemble(configuration)
    seed, algorithm = configuration.training.seed, run.algorithm
    randomness = Randomness.from_seed(seed, "image")
    state = algorithm.initialise(algorithm.draw_models(run.task, (), randomness), run.task)
    known = np.full(run.task.clients, -1)
    for done in range(configuration.training.rounds):
        step_size = algorithm.settings["step_size"] * configuration.training.step_size_decay**done
        state = replace(algorithm, step_size=step_size).step(state, run.task, randomness)
        known[np.asarray(state.clients)] = np.asarray(state.assignments)
    return run.task, state, known


def test_cfl_mgd_s_rows_are_the_accuracies_of_the_algorithms() -> None:
    """A test client gets the model of least loss on its test data: accuracies by hand, from scores of each model."""
    table: Any = toy("cfl-mgd/table-2", methods=["CFL-MGD", "FedAvg"])
    values = values_of(table, results_of(table))
    for method, sections in table.sections().items():
        sections["training"] |= {"seed": 0, "threads": 1}
        task, state, _ = trained(sections)
        scores = task.scores(state.models)
        losses, accuracies = np.asarray(scores.losses), np.asarray(scores.accuracies)
        chosen = losses.argmin(axis=1)
        expected = 100 * accuracies[np.arange(len(chosen)), chosen].mean()
        assert values[method, "accuracy %"] == pytest.approx(expected, rel=1e-6)
    assert set(values) == {("CFL-MGD", "accuracy %"), ("CFL-MGD", "right model %"), ("FedAvg", "accuracy %")}


def test_gradient_loss_s_savings_by_hand() -> None:
    """From made curves: IFCA arrives after 4 iterations, GL-CFL after 1; its accuracy never, which is no saving."""
    table: Any = toy("gradient-loss/figures-4-and-5")
    low = {"round": [1, 2, 3, 4, 5], "accuracy": [0.1, 0.2, 0.3, 0.8, 0.7]}
    made = {
        "IFCA": {**low, "purity": [0.5, 0.6, 0.7, 0.9, 0.8]},
        "GL-CFL, lambda 0.2": {**low, "purity": [0.95, 0.6, 0.7, 0.9, 0.8], "accuracy": [0.1] * 5},
    }
    values = values_of(table, made)
    method = "GL-CFL, lambda 0.2"
    assert values["IFCA", "to purity 0.9"] == 4
    assert values[method, "to purity 0.9"] == 1
    assert values[method, "saved to purity 0.9 %"] == pytest.approx(75)
    assert values[method, "to accuracy 0.8"] == 6
    assert values["IFCA", "to accuracy 0.8"] == 4
    assert (method, "saved to accuracy 0.8 %") not in values
    exchanged = values_of(table, {"IFCA": made[method], method: made["IFCA"]})
    assert exchanged[method, "saved to purity 0.9 %"] == pytest.approx(-300)
    assert (method, "saved to accuracy 0.8 %") not in exchanged  # IFCA never arrives
    assert values["IFCA", "purity"] == pytest.approx(0.7)
    first_hit = gradient_loss_figures_4_and_5.first_hit
    assert [first_hit([0.2, 0.9], 0.9), first_hit([0.2, 0.8], 0.9), first_hit([1.0], 0.9)] == [2, 3, 1]


def test_fpfc_s_figure_has_the_clusters_of_methods_that_cluster() -> None:
    table: Any = toy("fpfc/figure-1")
    results = results_of(table)
    values = values_of(table, results)
    clustering = {method for method, column in values if column == "clusters"}
    assert clustering == {"IFCA", "CFL", "FPFC-l1", "FPFC"}
    assert {method for method, _ in values} == {"LOCAL", "FedAvg", "Per-FedAvg", *clustering}
    sections = table.sections()["FPFC"]
    sections["training"] |= {"seed": 0, "threads": 1}
    task, state, known = trained(sections)
    accuracies = np.asarray(task.accuracies(state.models, np.arange(task.clients)))
    assert values["FPFC", "accuracy %"] == pytest.approx(100 * accuracies.astype(float).mean(), rel=1e-6)
    seen = known >= 0
    assert values["FPFC", "clusters"] == len(set(known[seen].tolist()))
    indices = {method: results[method]["adjusted_rand_index"][-1] for method in clustering}
    assert {method: values[method, "adjusted Rand index"] for method in clustering} == indices
    assert any(indices.values())


# ------------------------------------------------------------------ sofl/table-2


def test_sofl_s_table_2_clusters_updates_that_are_apart() -> None:
    """Four directions, five clients each: every method that knows or finds four clusters is right."""
    directions = np.repeat(np.eye(4, 30), 5, axis=0)
    updates = directions + 0.01 * np.random.default_rng(0).standard_normal((20, 30))
    options: dict[str, Any] = {
        **{"k_means_start": "k-means++", "k_means_attempts": 10, "grid": 5, "map_start": "sample"},
        **{"cluster_count": "silhouette", "repetitions": 3},
    }
    table = sofl_table_2.SoFLTable2(**options)
    found = {
        method: sofl_table_2.clusterings(method, updates, 4, 0, table) for method in sofl_table_2.METHODS
    }
    assert [len(labels) for labels in found.values()] == [3, 3, 3]
    for method in ("K-means", "SOM + K-means"):
        assert [sofl_table_2.scores(labels)["right partition %"] for labels in found[method]] == [100.0] * 3
    assert all(sofl_table_2.scores(labels)["purity"] == 1 for labels in found["SOM"])
    right = []  # of ten random starts of k-means; of many attempts the best is taken
    for attempts in (1, 50):
        options |= {"k_means_start": "random", "k_means_attempts": attempts, "repetitions": 10}
        table = sofl_table_2.SoFLTable2(**options)
        labels = sofl_table_2.clusterings("K-means", updates, 4, 0, table)
        right.append(sum(sofl_table_2.scores(one)["purity"] == 1 for one in labels))
    assert right[0] < right[1] == 10
    # the map with k-means is the algorithm's own clustering, from the stream of the start
    sofl = SoFL(step_size=1.0, initialisation="sample", cluster_count="silhouette", grid=5)
    direct = sofl.cluster(updates, generator(0, "table", "start", "sample", 1))
    assert adjusted_rand_index(np.asarray(found["SOM + K-means"][1]), direct) == 1
    neurons = best_matching_units(*sofl.train_map(updates, generator(0, "table", "start", "sample", 1)))
    assert found["SOM"][1] == neurons.tolist()


def test_scores_by_hand() -> None:
    """Two of the four clusters are joined: purity 3/4; the printed labels have the scores of the paper's partition."""
    joined = np.array([0] * 5 + [1] * 5 + [2] * 10)
    assert sofl_table_2.scores(joined)["purity"] == 0.75
    assert sofl_table_2.scores(joined)["clusters"] == 3
    assert sofl_table_2.scores(joined)["right partition %"] == 0
    true = sorted([*range(4)] * 5)  # a seed's value is the mean over its starts
    numbers = TABLES["sofl/table-2"].from_values({}).numbers({"updates": {"SOM": [true, joined]}})
    assert {number.column: number.value for _, number in numbers}["purity"] == (1 + 0.75) / 2
    table = TABLES["sofl/table-2"].from_values({})
    printed = table.printed("SOM + K-means", "right partition %")
    assert printed is not None
    assert printed.value == 100
    som = table.printed("SOM", "clusters")
    assert som is not None
    assert som.value == 10


# ------------------------------------------------------------------ fpfc/table-1


def softmax_run(algorithm: Any, task: SoftmaxMixture, rounds: int, start: np.ndarray | None = None) -> Any:
    randomness = Randomness.from_seed(0, "fpfc/table-1")
    models = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
    state = algorithm.initialise(models if start is None else start, task)
    for _ in range(rounds):
        state = algorithm.step(state, task, randomness)
    return state, randomness


def test_fpfc_s_rows_are_the_accuracies_of_the_algorithms() -> None:
    table: Any = toy("fpfc/table-1")
    values = values_of(table, results_of(table))
    sizes = {name: TOY["fpfc/table-1"][name] for name in ("clients", "features", "classes", "largest")}
    common: dict[str, Any] = {"step_size": 0.1, "local_steps": 10, "participation": 0.5}

    def made(**options: Any) -> SoftmaxMixture:
        return SoftmaxMixture(**sizes, precision="single", seed=0, **options)

    def accuracy(task: SoftmaxMixture, models: np.ndarray) -> float:
        """By hand: the class of largest score, on each client's test data."""
        shares = []
        for client in range(task.clients):
            samples, classes = task.testing[client]
            scores = models[client].reshape(task.classes, -1) @ samples
            shares.append(np.mean(scores.argmax(axis=0) == classes))
        return 100 * float(np.mean(shares))

    task = made()
    state, _ = softmax_run(Local(step_size=0.1, local_steps=10), task, 3)
    assert values["LOCAL", "accuracy %"] == pytest.approx(accuracy(task, state.models))
    state, _ = softmax_run(FPFC(**common, penalty="scad", strength=0.6), task, 3)
    lengths = FPFC(**common, penalty="scad", strength=0.6).difference_lengths(state)
    near = lengths <= TOY["fpfc/table-1"]["threshold"]
    reached = np.linalg.matrix_power(near.astype(float), task.clients) > 0
    groups = reached.argmax(axis=1)
    weights = task.client_samples / np.array([task.client_samples[groups == group].sum() for group in groups])
    means = np.stack([(weights[groups == g, None] * state.models[groups == g]).sum(axis=0) for g in groups])
    assert values["FPFC", "accuracy %"] == pytest.approx(accuracy(task, means))
    assert values["FPFC", "clusters"] == len(set(groups.tolist()))
    passes = made(batch_size=100)
    state, randomness = softmax_run(WeightedFedAvg(**common, fine_tune=True), passes, 3)
    points = np.repeat(state.models, task.clients, axis=0)
    tuned = points - 0.1 * made().gradients(points, np.arange(task.clients), randomness.gradient)
    assert values["Per-FedAvg", "accuracy %"] == pytest.approx(accuracy(task, tuned))


def test_ifca_s_clients_are_tested_with_the_models_that_they_chose_last() -> None:
    """Whoever was absent in the last round keeps its choice, and whoever never came has the first model."""
    table: Any = toy("fpfc/table-1", methods=["IFCA"])
    sizes = {name: TOY["fpfc/table-1"][name] for name in ("clients", "features", "classes", "largest")}
    task = SoftmaxMixture(**sizes, precision="single", seed=0)
    randomness = Randomness.from_seed(0, "fpfc/table-1")
    algorithm = SharedIFCA(step_size=0.1, participation=0.5, averaging="model", clusters=4)
    start = randomness.initialisation.standard_normal((4, task.dimension)).astype(np.float32)
    state, last = algorithm.initialise(start, task), dict.fromkeys(range(task.clients), 0)
    for _ in range(3):
        state = algorithm.step(state, task, randomness)
        last |= dict(zip(state.clients.tolist(), state.assignments.tolist(), strict=True))
    absent = set(last) - set(state.clients.tolist())
    assert any(last[client] for client in absent), "there would be nothing to tell apart"
    found = table.units(0)["IFCA"]
    index = adjusted_rand_index(np.array(list(last.values())), task.labels)
    assert found.function(**found.settings)["index"] == pytest.approx(index)


def test_the_public_code_s_servers_by_hand() -> None:
    """One full gradient step of each client: the servers' means are sums over clients in float64."""
    task = SoftmaxMixture(clients=8, features=4, classes=3, largest=400, seed=1)
    randomness = Randomness.from_seed(0, "fpfc/table-1")
    start = task.initial_models(1, (), np.random.default_rng(0))
    all_clients = np.arange(8)
    gradients = task.gradients(np.repeat(start, 8, axis=0), all_clients, np.random.default_rng(0))
    weights = task.client_samples / task.client_samples.sum()
    weighted = WeightedFedAvg(step_size=0.1).step(
        WeightedFedAvg(step_size=0.1).initialise(start, task), task, randomness
    )
    np.testing.assert_allclose(
        weighted.models[0], start[0] - 0.1 * weights @ gradients, rtol=1e-12, atol=1e-14
    )
    tuned = WeightedFedAvg(step_size=0.1, fine_tune=True)
    after = tuned.step(tuned.initialise(start, task), task, randomness).models[0]
    once = start - 0.1 * gradients  # each client's own step, after which it trains
    twice = once - 0.1 * task.gradients(once, all_clients, np.random.default_rng(0))
    np.testing.assert_allclose(after, weights @ twice, rtol=1e-12, atol=1e-14)
    plain = FedAvg(step_size=0.1)
    mean = plain.step(plain.initialise(start, task), task, randomness).models[0]
    assert not np.allclose(weighted.models[0], mean, rtol=1e-6)
    two = np.concatenate([start, 1 + start])
    shared = SharedIFCA(step_size=0.1, averaging="model", clusters=2)
    state = shared.step(shared.initialise(two, task), task, randomness)
    members = np.asarray(state.assignments)
    received = two[members]
    trained_models = received - 0.1 * task.gradients(received, all_clients, np.random.default_rng(0))
    for cluster in range(2):
        expected = trained_models[members == cluster].sum(axis=0) / 8
        np.testing.assert_allclose(state.models[cluster], expected, rtol=1e-12, atol=1e-14)
    # absent clients count as zero updates: of half the clients half the mean moves, weighted by samples
    cfl = AbsentAsZeroCFL(step_size=0.1, participation=0.5)
    begun = cfl.initialise(start, task)
    state = cfl.step(begun, task, Randomness.from_seed(0, "fpfc/table-1"))
    moved = state.models[0] - start[0]
    halves = map(list, itertools.combinations(range(8), 4))
    updates = [-0.1 * weights[half] @ gradients[half] for half in halves]
    assert sum(np.allclose(update, moved, rtol=1e-9, atol=1e-12) for update in updates) == 1


def test_fpfc_s_settings_reach_the_algorithms() -> None:
    others = {"step_size": 0.25, "local_steps": 6, "participation": 0.75, "clusters": 3, "strength": 0.9}
    others |= {"l1_strength": 0.3, "augmentation": 2.5}
    common: dict[str, Any] = {"step_size": 0.25, "participation": 0.75}
    fusion = {**common, "local_steps": 6, "augmentation": 2.5, "reuse_memory": True}
    coded = {
        "LOCAL": Local(step_size=0.25, local_steps=6),
        "FedAvg": WeightedFedAvg(**common, local_steps=6),
        "Per-FedAvg": WeightedFedAvg(**common, local_steps=6, fine_tune=True),
        "IFCA": SharedIFCA(**common, averaging="model", clusters=3),
        "CFL": AbsentAsZeroCFL(**common, warm_up=21, mean_threshold=0.5, client_threshold=1.0),
        "FPFC-l1": FPFC(**fusion, penalty="l1", strength=0.3),
        "FPFC": FPFC(**fusion, penalty="scad", strength=0.9),
    }
    ifca = IFCA(**common, averaging="model", clusters=3, local_steps=6)
    for as_coded, expected in ((True, coded), (False, {"IFCA": ifca, "CFL": CFL(**common)})):
        table: Any = TABLES["fpfc/table-1"].from_values({**others, "as_coded": as_coded})
        for method, algorithm in expected.items():
            assert fpfc_table_1.make_algorithm(method, table) == algorithm


# ------------------------------------------------------------------ rows and stored results


def test_a_row_s_cells_and_who_is_judged() -> None:
    table = TABLES["cfl-mgd/table-2"].from_values({})
    printed = table.printed("FedAvg", "accuracy %")
    cells = Row("FedAvg", "accuracy %", (89.0, 90.0, 91.0), printed).cells
    assert cells[:5] == ["FedAvg", "accuracy %", "89.84 ± 0.32", "90.00 ± 1.00", "3"]
    assert cells[6] == f"compatible to {cells[5]}"
    assert Row("FedAvg", "accuracy %", (79.0, 90.0, 99.0), printed).cells[5:] == ["-", "too few runs to say"]
    assert Row("FedAvg", "accuracy %", (89.0, 90.0, 91.0), printed, judged=False).cells[5:] == ["-", "-"]
    assert Row("FedAvg", "accuracy %", (9.0, 9.1, 9.2), printed).cells[6] == "not reproduced"
    schema = {name: getattr(polars, kind) for name, kind in COLUMNS.items()}
    numbers = [("FedAvg", 0, 89.0), ("FedAvg", 1, 90.0), ("IFCA", 0, 95.0), ("IFCA", 1, math.nan)]
    lines = [("cfl-mgd/table-2", "{}", "1", m, "accuracy %", s, None, v) for m, s, v in numbers]
    rows = table.rows(polars.DataFrame(lines, schema=schema, orient="row"))
    assert [(row.method, row.values, row.judged) for row in rows] == [
        ("FedAvg", (89.0, 90.0), True),
        ("IFCA", (95.0,), False),  # a seed has no number
    ]


def test_fedbcd_is_judged_with_the_network_of_the_captions_only() -> None:
    """Captions of Figures 3 and 4: ResNet-20 on CIFAR-10, three layers on MNIST."""
    for settings, judged in (
        ({"data": "mnist"}, True),
        ({"data": "mnist", "fedbcd_hidden": [64, 32]}, True),
        ({"data": "mnist", "fedbcd_hidden": [200]}, False),
        ({"data": "mnist", "fedbcd_network": "resnet-20", "fedbcd_hidden": None}, False),
        ({"data": "cifar10"}, True),
        ({"data": "cifar10", "fedbcd_network": "cnn"}, False),
        ({"data": "mnist", "clients": 10}, False),
    ):
        table = TABLES["cfl-mgd/table-2"].from_values(settings)
        assert table.judges("FedBCD") == judged, settings
        assert table.judges("IFCA") == ("clients" not in settings)


def test_printed_numbers_are_the_papers() -> None:
    """Read off the papers' tables, a few of each."""
    for name, data, method, column, value in (
        ("cfl-mgd/table-2", "mnist", "CFL-MGD", "accuracy %", 96.05),
        ("cfl-mgd/table-2", "cifar10", "FedBCD", "accuracy %", 47.31),
        ("gradient-loss/figures-4-and-5", "mnist", "GL-CFL, lambda 0.2", "saved to purity 0.9 %", 99),
        ("gradient-loss/figures-4-and-5", "fashion-mnist", "GL-CFL, lambda 0.2", "saved to purity 0.9 %", 98),
        ("sofl/tables-3-to-5", "mnist", "SoFL", "Table 3, rotated, server's model %", 91.08),
        ("sofl/tables-3-to-5", "mnist", "FedAvg", "Table 4, K = 8, after local training %", 15.84),
        ("sofl/tables-3-to-5", "cifar10", "IFCA", "Table 5, phi = 0.5, server's model %", 42.18),
    ):
        found = TABLES[name].from_values({"data": data}).printed(method, column)
        assert found is not None
        assert found.value == pytest.approx(value)
    gradient_loss = TABLES["gradient-loss/figures-4-and-5"].from_values({"data": "mnist"})
    assert gradient_loss.printed("GL-CFL, lambda 0.1", "saved to purity 0.9 %") is None
    fpfc = TABLES["fpfc/table-1"].from_values({})
    cell = fpfc.printed("CFL", "clusters")
    assert cell is not None
    assert (cell.value, cell.spread, cell.runs, cell.population) == (42.0, 4.55, 3, True)
    assert fpfc.printed("LOCAL", "clusters") is None
    assert list(PRINTED) == ["LOCAL", "FedAvg", "Per-FedAvg", "IFCA", "CFL", "FPFC-l1", "FPFC"]


def test_stored_results_are_of_known_tables_and_settings() -> None:
    frame = stored_results()
    assert len(frame)
    assert frame.schema == {name: getattr(polars, kind) for name, kind in COLUMNS.items()}
    for (name, settings), group in frame.group_by("table", "settings"):
        table = TABLES[str(name)].from_values(json.loads(str(settings)))
        assert json.dumps(table.changes) == settings
        known = set(table.units(0))
        for row in table.rows(group):
            assert any(row.method in unit for unit in known) or "updates" in known
            assert all(map(math.isfinite, row.values))
            if row.column.endswith("%") and not row.column.startswith("saved"):
                assert all(0 <= value <= 100 for value in row.values)


def test_the_page_of_the_results_has_their_summary() -> None:
    text, _, table = PAGE.read_text(encoding="utf-8").partition(HEADING)
    assert text.count("\n") <= 80
    assert table.strip() == stored_summary().strip(), "python -m clusterproof.experiments.summary writes it"
