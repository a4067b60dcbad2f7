"""FPFC's Table 1 in miniature: units, what is measured of them, rows, sentences."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score

from clusterproof.algorithms import FPFC, Randomness
from clusterproof.algorithms.fpfc import group_averages
from clusterproof.algorithms.grouping import grouped
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.fpfc.table_1 import (
    CURVE_SEEDS,
    METHODS,
    PAPER,
    SMALL_DATA,
    TABLE,
    compute,
    lines,
    units,
)
from clusterproof.experiments.tables.fpfc.table_1_methods import (
    THRESHOLDS,
    Scenario,
    Training,
    run_data,
    run_fpfc,
    run_oracle,
)
from clusterproof.synthetic.softmax import SoftmaxMixture

SMALL = Scenario(1, 30, SMALL_DATA)
LINES = lines(Training())


@pytest.fixture(scope="module")
def results():
    """Units of two seeds, as they are read from a file."""
    request = Request(seeds=2, rounds=30, scale="small")
    found = {(unit.method, unit.seed): compute(unit) for unit in units(request)}
    return request, {key: json.loads(json.dumps(result)) for key, result in found.items()}


def test_every_unit_is_named_once_and_follows_the_request():
    full = units(Request(seeds=5))
    assert len({(unit.method, unit.seed) for unit in full}) == len(full)
    strengths = [name for name, method in METHODS.items() if not method.in_table]
    assert len(full) == 5 * (len(METHODS) - len(strengths)) + CURVE_SEEDS * len(strengths)
    assert {unit.settings["rounds"] for unit in full} == {2000}
    assert all(unit.settings["data"] == {} for unit in full)
    assert {unit.settings["rounds"] for unit in units(Request(seeds=1, rounds=7))} == {7}
    small = units(Request(seeds=1, scale="small"))
    assert all(unit.settings["data"] == SMALL_DATA and unit.settings["rounds"] < 200 for unit in small)
    json.dumps([dict(unit.settings) for unit in full])


def test_the_papers_rows_are_those_that_it_prints():
    # counts of three runs that give the printed means and population deviations
    for counts, (mean, deviation) in {(1, 3, 3): (2.33, 0.94), (36, 43, 47): (42.0, 4.55)}.items():
        assert round(float(np.mean(counts)), 2) == mean
        assert round(float(np.std(counts)), 2) == deviation
        printed = [row["Num"] for row in PAPER.values() if "Num" in row and row["Num"].value == mean]
        assert [cell.spread for cell in printed] == [deviation]
    assert {line.name for line in LINES if line.published} == set(PAPER)


def test_deviations_of_accuracies_are_printed_as_shares_and_held_in_points():
    """A second transcription of the column of accuracies: percent, and next to them parts of one."""
    page = {
        "LOCAL": "84.97 0.06",
        "FedAvg": "30.35 0.05",
        "Per-FedAvg": "56.28 0.06",
        "IFCA": "60.42 0.17",
        "CFL": "86.60 0.05",
        "FPFC-l1": "83.85 0.06",
        "FPFC": "89.46 0.04",
    }
    for name, text in page.items():
        mean, share = map(float, text.split())
        assert (PAPER[name]["Acc %"].value, PAPER[name]["Acc %"].spread) == (mean, pytest.approx(100 * share))


def test_numbers_of_clusters_and_indices_are_printed_with_their_deviations():
    """A second transcription of the columns Num and ARI; who does not cluster has neither."""
    page = {
        "IFCA": "2.33 0.94 0.47 0.33",
        "CFL": "42.0 4.55 0.28 0.11",
        "FPFC-l1": "5.67 2.87 0.63 0.21",
        "FPFC": "4.00 0.00 1.00 0.00",
    }
    found = {
        name: [number for key in ("Num", "ARI") for number in (row[key].value, row[key].spread)]
        for name, row in PAPER.items()
        if len(row) == 3
    }
    assert found == {name: list(map(float, text.split())) for name, text in page.items()}
    assert all(set(row) == {"Acc %"} for name, row in PAPER.items() if name not in page)
    # of three runs, whose deviations divide by three
    assert {(one.runs, one.population, one.resolution) for row in PAPER.values() for one in row.values()} == {
        (3, True, 0.01)
    }


def test_fpfc_is_grouped_and_averaged_at_every_threshold():
    found = json.loads(json.dumps(run_fpfc(SMALL, penalty="scad", strength=0.6)))
    task = SoftmaxMixture(**SMALL_DATA, precision="single", seed=1)
    algorithm = FPFC(step_size=0.1, local_steps=10, strength=0.6, participation=0.3)
    randomness = Randomness.from_seed(1, "fpfc/table-1")
    state = algorithm.initialise(task.initial_models(1, (), randomness.initialisation), task)
    for _ in range(30):
        state = algorithm.step(state, task, randomness)
    lengths = algorithm.difference_lengths(state)
    assert task.sizes.max() > 2 * task.sizes.min()
    clients = np.arange(task.clients)
    assert found["own_accuracy"] == pytest.approx(100 * task.accuracies(state.models, clients).mean())
    assert set(found["thresholds"]) == {f"{threshold:g}" for threshold in THRESHOLDS}
    counts = []
    for threshold in THRESHOLDS:
        measured = found["thresholds"][f"{threshold:g}"]
        # groups by walking from client to client
        groups = np.full(task.clients, -1)
        for first in clients:
            if groups[first] >= 0:
                continue
            queue, groups[first] = [first], first
            while queue:
                one = queue.pop()
                for other in np.flatnonzero((lengths[one] <= threshold) & (groups < 0)):
                    groups[other] = first
                    queue.append(other)
        averaged = np.empty_like(state.models)
        for group in np.unique(groups):
            members = groups == group
            averaged[members] = np.average(state.models[members], axis=0, weights=task.sizes[members])
        assert measured["clusters"] == len(np.unique(groups))
        assert measured["index"] == pytest.approx(adjusted_rand_score(task.labels, groups))
        exact = 100 * task.accuracies(averaged, clients).mean()
        assert measured["accuracy"] == pytest.approx(exact, abs=0.15)
        counts.append(measured["clusters"])
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]
    # a threshold that the class takes itself
    assert counts[1] == len(set(grouped(state.pairs.near)[0].tolist()))
    averages = group_averages(state.models, state.assignments, task.sizes.astype(np.float32))
    assert found["thresholds"]["0.1"]["accuracy"] == pytest.approx(
        100 * task.accuracies(averages, clients).mean()
    )


def test_the_ceiling_is_a_logistic_regression_of_each_clusters_pooled_samples():
    found = run_oracle(SMALL)
    task = SoftmaxMixture(**SMALL_DATA, precision="single", seed=1)
    scores = np.empty(task.clients)
    for cluster in range(task.clusters):
        members = np.flatnonzero(task.labels == cluster)
        x = np.concatenate([task.training_data(client)[0] for client in members]).astype(float)
        y = np.concatenate([task.training_data(client)[1] for client in members])
        fit = LogisticRegression(C=1e5, solver="newton-cg", max_iter=1000).fit(x, y)
        for client in members:
            features, targets = task.testing_data(client)
            scores[client] = fit.score(features, targets)
    assert found["accuracy"] == pytest.approx(100 * scores.mean(), abs=1.5)
    assert found["largest_slope"] < 1e-3


def test_the_data_are_compared_with_others_of_their_law():
    found = run_data(SMALL)
    stream = np.random.default_rng(0)
    task = SoftmaxMixture(**SMALL_DATA, precision="single", seed=1)
    exact = []
    for matrices in [task.generating_models, *stream.standard_normal((60, 4, task.dimension))]:
        scores = []
        for matrix in matrices.reshape(4, 4, 11):
            noiseless = stream.random((2000, 10)) @ matrix[:, :-1].T + matrix[:, -1]
            noisy = noiseless + 0.5 * stream.standard_normal(noiseless.shape)
            scores.append((noiseless.argmax(axis=1) == noisy.argmax(axis=1)).mean())
        exact.append(100 * np.mean(scores))
    assert abs(found["accuracy"] - exact[0]) < 3.5  # some 1500 test samples
    others = np.array(found["others"])
    assert len(set(others.tolist())) == len(others) == 40
    error = np.hypot(others.std(ddof=1) / np.sqrt(40), np.std(exact[1:], ddof=1) / np.sqrt(60))
    assert abs(others.mean() - np.mean(exact[1:])) < 4 * error


@pytest.mark.slow(reason="computes the whole table at small size")
def test_the_table_holds_every_row_curve_and_difference(results):
    request, found = results
    table = TABLE.assemble(request, found)
    assert [row.name for row in table.rows] == [line.name for line in LINES]
    oracle = [found["oracle", seed]["accuracy"] for seed in range(2)]
    for row, line in zip(table.rows, LINES, strict=True):
        expected = []
        for seed in range(2):
            result = found[line.method, seed]
            if line.threshold is not None:
                result = result["thresholds"][f"{line.threshold:g}"]
            expected.append(result["accuracy"])
        cell = row.cells["Acc %"]
        assert cell.values == pytest.approx(expected)
        assert cell.verdict is None  # shortened: no verdict on the paper
        if line.method != "oracle":
            assert cell.gap == pytest.approx(np.mean(oracle) - np.mean(expected))
        assert "nan" not in row.sentence
    by_name = {comparison.name: comparison.values for comparison in table.comparisons}
    difference = [
        found["cfl, everybody", seed]["accuracy"] - found["cfl, absent as zero", seed]["accuracy"]
        for seed in range(2)
    ]
    assert by_name["CFL everybody - CFL as coded"] == pytest.approx(difference)
    assert {curve.parameter for curve in table.curves} == {"lambda", "nu"}
    assert all(len(curve.points) == len(curve.cells) == 7 for curve in table.curves)
    lambdas = next(curve for curve in table.curves if curve.parameter == "lambda")
    strongest = [
        found["fpfc, lambda 2", seed]["thresholds"]["0.1"]["clusters"] for seed in range(CURVE_SEEDS)
    ]
    assert lambdas.cells[-1]["Num"].values == tuple(strongest)


@pytest.mark.slow(reason="computes the whole table at small size")
def test_every_method_has_its_cost_beside_it(results):
    """By hand: 6 of 20 clients in 30 rounds, 44 numbers, 190 - 91 pairs with a participant."""
    costs = {}
    for note in TABLE.assemble(*results).notes:
        if note.startswith("Cost of "):
            names, _, cost = note.removeprefix("Cost of ").partition(": ")
            costs |= dict.fromkeys(names.split("; "), cost)
    assert costs.keys() == {name for name, method in METHODS.items() if method.in_table} - {"oracle", "data"}
    assert (
        costs["fpfc, lambda 0.7"]
        == costs["fpfc-l1, lambda 0.6"]
        == (
            "30 rounds of 6; 10 forward and 10 backward passes, worth 30; 176 bytes down, 176 up; server 317. In all "
            "5,400 passes and 63,360 bytes."
        )
    )
    for name, part in {
        "local": "30 rounds of 20; 10 forward and 10 backward passes, worth 30; 0 bytes down, 0 up; server 0.",
        "fedavg": "30 rounds of 6; 10 forward and 10 backward passes, worth 30; 176 bytes down, 176 up; server 6.",
        "fine-tuned": "30 rounds of 6; 11 forward and 11 backward passes, worth 33;",
        "per-fedavg, first-order": "30 rounds of 6; 10 forward and 10 backward passes, worth 30;",
        "per-fedavg, second-order": "worth 30 and 5 products with a Hessian;",
        "ifca, published": "30 rounds of 6; 4 forward and 1 backward passes, worth 6; 704 bytes down, 176 up;",
        "ifca, members' mean": "13 forward and 10 backward passes, worth 33; 704 bytes down, 176 up;",
        "cfl, everybody": "9 rounds of 20; 1 forward and 1 backward passes, worth 3; 176 bytes down, 176 up; server "
        "20. In all 540 passes and 63,360 bytes.",
        "cfl, absent as zero": "30 rounds of 6; 1 forward and 1 backward passes, worth 3;",
    }.items():
        assert part in costs[name], name


@pytest.mark.slow(reason="computes the whole table at small size")
def test_only_the_published_run_is_judged(results):
    _, found = results
    full = TABLE.assemble(Request(seeds=2), found)
    for row, line in zip(full.rows, LINES, strict=True):
        for column, cell in row.cells.items():
            told = line.published and column in PAPER[line.name]
            assert (cell.verdict is not None) == told
    other = TABLE.assemble(Request(seeds=2, rounds=1999), found)
    assert all(cell.verdict is None for row in other.rows for cell in row.cells.values())


def test_a_single_seed_is_enough(results):
    _, found = results
    table = TABLE.assemble(Request(seeds=1, rounds=30, scale="small"), found)
    assert all(comparison.interval is None for comparison in table.comparisons)
    assert all(row.cells["Acc %"].deviation is None for row in table.rows)


def test_sentences_follow_the_numbers(results):
    request, found = results
    changed = json.loads(json.dumps(list(found.values())))
    other = dict(zip(found, changed, strict=True))
    for seed in range(2):
        other["fpfc, lambda 0.7", seed]["thresholds"]["0.1"].update(index=1.0, clusters=4, stray_sizes=[])
        other["fpfc, lambda 0.6", seed]["thresholds"]["0.1"].update(
            index=0.9, clusters=7, stray_sizes=[212, 250, 304]
        )
        other["fpfc, lambda 0.6", seed]["shortest_between"] = 2.5
        other["fpfc, lambda 0.7", seed]["shortest_between"] = 2.5
    table = TABLE.assemble(request, other)
    sentences = {(row.name, row.settings): row.sentence for row in table.rows}
    readme = sentences["FPFC", "lambda 0.6, nu 0.1 (README)"]
    assert "6 of the clients, with 212 to 304 training samples, median 250" in readme
    merged = sentences["FPFC", "lambda 0.6, nu 3 (main.py)"]
    assert "nu joins clients of different clusters on 2 seeds: their models are 2.50 apart" in merged
    assert sentences["FPFC", "lambda 0.7, nu 0.1"] == ""


def test_a_unit_is_the_same_whenever_it_is_computed():
    unit = Unit(
        "cfl, absent as zero",
        0,
        {**METHODS["cfl, absent as zero"].options, "run": "cfl", "rounds": 30, "data": SMALL_DATA},
    )
    assert compute(unit) == compute(unit)
