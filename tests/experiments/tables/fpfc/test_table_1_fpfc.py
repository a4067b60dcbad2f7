"""FPFC's Table 1 in miniature: units, what is measured of them, rows."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score

from clusterproof.algorithms import FPFC, Randomness
from clusterproof.algorithms.fpfc import group_averages
from clusterproof.algorithms.pairs import connected_groups
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


@pytest.mark.parametrize("strength", [0.2, 0.6])
def test_fpfc_is_grouped_and_averaged_at_every_threshold(strength):
    found = json.loads(json.dumps(run_fpfc(SMALL, penalty="scad", strength=strength)))
    task = SoftmaxMixture(**SMALL_DATA, precision="single", seed=1)
    algorithm = FPFC(step_size=0.1, local_steps=10, strength=strength, participation=0.3)
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
    assert counts[1] == len(set(connected_groups(state.pairs.near).tolist()))
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
    assert run_data(Scenario(2, 30, SMALL_DATA))["others"] != found["others"]  # each seed has its own
    error = np.hypot(others.std(ddof=1) / np.sqrt(40), np.std(exact[1:], ddof=1) / np.sqrt(60))
    assert abs(others.mean() - np.mean(exact[1:])) < 4 * error


@pytest.mark.slow(reason="computes the whole table at small size")
def test_the_results_of_all_units_make_a_table():
    """Read from files; each row has accuracies, and no number of it is missing."""
    request = Request(seeds=2, rounds=30, scale="small")
    found = {(unit.method, unit.seed): json.loads(json.dumps(compute(unit))) for unit in units(request)}
    table = TABLE.assemble(request, found)
    assert [row.name for row in table.rows] == [line.name for line in LINES]
    for row in table.rows:
        assert len(row.cells["Acc %"].values) == 2
        assert all(np.isfinite(cell.values).all() for cell in row.cells.values())
    assert {curve.parameter for curve in table.curves} == {"lambda", "nu"}
    assert all(len(curve.points) == len(curve.cells) == 7 for curve in table.curves)


def test_a_unit_is_the_same_whenever_it_is_computed():
    unit = Unit(
        "cfl, absent as zero",
        0,
        {**METHODS["cfl, absent as zero"].options, "run": "cfl", "rounds": 30, "data": SMALL_DATA},
    )
    assert compute(unit) == compute(unit)
