"""The report of a run: when it is written, what is in it, and that it disturbs nothing."""

import json
from dataclasses import replace

import numpy as np
import pytest

from clusterproof.algorithms import CFLMGD, IFCA, FedAvg, InvalidArgument, Randomness
from clusterproof.experiments.diagnosis.diagnose import Diagnostician, default_rounds
from clusterproof.experiments.diagnosis.hypotheses import HYPOTHESES
from clusterproof.synthetic import LogisticMixture, RegressionMixture
from clusterproof.synthetic.softmax import SoftmaxMixture

METHOD = CFLMGD(step_size=0.5, momentum=0.5)


def regression(clusters=2, **options):
    return RegressionMixture.random(
        clusters=clusters, clients=6, dimension=3, separation=2.0, samples=40, seed=1, **options
    )


def start(task, method=METHOD):
    randomness = Randomness.from_seed(0, "report")
    models = task.initial_models(2, (), randomness.initialisation)
    return method.initialise(models, task), randomness


def finished(folder, watcher, state):
    """Finish a diagnosis and read its JSON."""
    watcher.finish(state.models)
    return json.loads((folder / "diagnosis.json").read_text(), parse_constant=pytest.fail)


def carry_out(folder, rounds=9, first=0, task=None, method=METHOD):
    """Run and diagnose; with ``first`` above 0 as if the run had been broken off after that round."""
    task = regression() if task is None else task
    state, randomness = start(task, method)
    for done in range(rounds):
        if done in (0, first):
            watcher = Diagnostician(task, method, rounds=rounds, folder=folder)
        if done == 0:
            watcher.observe(done, state.models, state.assignments)
        state = method.step(state, task, randomness)
        watcher.observe(done + 1, state.models, state.assignments)
    return watcher, state


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [(30, (20, 22, 25, 28, 30)), (300, (200, 225, 250, 275, 300)), (3, (2, 3)), (1, (1,))],
)
def test_last_third_in_five_evenly_spaced_rounds(rounds, expected):
    assert default_rounds(rounds) == expected


def test_both_files_say_the_same_and_nothing_else_stays(tmp_path):
    watcher, state = carry_out(tmp_path)
    assert watcher.pending
    assert len(list(tmp_path.iterdir())) == 1 + len(
        watcher.measured_rounds
    )  # snapshots, the first among them
    record = finished(tmp_path, watcher, state)
    assert not watcher.pending
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "diagnosis-000000.npz",
        "diagnosis.json",
        "diagnosis.md",
    ]
    assert [each["round"] for each in record["observations"]] == list(watcher.measured_rounds)
    assert record["settings"]["algorithm"] == METHOD.settings
    curvature = record["observations"][0]["clusters"][0]["curvature"]
    assert curvature["value"] == pytest.approx([1.0, 1.0])
    text = (tmp_path / "diagnosis.md").read_text()
    assert len(record["hypotheses"]) == len(HYPOTHESES)
    for each in record["hypotheses"]:
        assert f"**{each['name']}**" in text
        assert f"| {each['measured']} | **{each['answer']}**" in text
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 2 + len(HYPOTHESES) + 2 + len(watcher.measured_rounds)
    cells = {line.replace("\\|", "").count("|") for line in table[: 2 + len(HYPOTHESES)]}
    assert cells == {6}  # five columns, whatever stands in them


def test_the_table_of_rounds_has_the_numbers_of_the_record(tmp_path):
    """The largest or the smallest over clusters of what each cluster measured, to the digits that are shown."""
    watcher, state = carry_out(tmp_path, task=regression(condition_number=5.0))
    record = finished(tmp_path, watcher, state)
    text = (tmp_path / "diagnosis.md").read_text()
    header, _, *lines = [line for line in text.splitlines() if line.startswith("|")][2 + len(HYPOTHESES) :]
    names = [name.strip() for name in header.split("|")[1:-1]]
    for line, seen in zip(lines, record["observations"], strict=True):
        shown = dict(zip(names, (cell.strip() for cell in line.split("|")[1:-1]), strict=True))
        clusters = seen["clusters"]
        wrong, asked = (sum(cell[name] for cell in clusters) for name in ("wrong", "asked"))
        assert shown["wrong choices"] == f"{wrong} of {asked}"
        expected = {
            "round": seen["round"],
            "largest eigenvalue (L)": max(cell["curvature"]["value"][1] for cell in clusters),
            "smallest (mu)": min(cell["curvature"]["value"][0] for cell in clusters),
            "sigma^2": max(max(cell["loss_variance"]["value"]) for cell in clusters),
            "gradient norm": max(cell["gradient_norm"] for cell in clusters),
            "smallest gap": min(
                gap
                for cell in clusters
                for model, gap in enumerate(cell["gaps"]["value"])
                if model != cell["model"]
            ),
        }
        assert {name: float(shown[name]) for name in expected} == pytest.approx(expected, rel=5e-3)


def test_a_run_that_was_broken_off_gives_the_same_report(tmp_path):
    reports = []
    for first in (0, 7):
        folder = tmp_path / str(first)
        folder.mkdir()
        watcher, state = carry_out(folder, first=first)
        watcher.finish(state.models)
        reports.append([(folder / name).read_bytes() for name in ("diagnosis.md", "diagnosis.json")])
    assert reports[0] == reports[1]


def test_more_rounds_have_a_report_of_their_own(tmp_path):
    task = regression()
    first, state = carry_out(tmp_path, rounds=3, task=task)
    start_distances = finished(tmp_path, first, state)["start_distances"]
    watcher = Diagnostician(task, METHOD, rounds=30, folder=tmp_path)
    assert not watcher.pending
    watcher.observe(20, state.models, state.assignments)
    watcher.observe(21, state.models, state.assignments)  # of no interest
    found = finished(tmp_path, watcher, state)
    assert [observation["round"] for observation in found["observations"]] == [20]
    assert found["start_distances"] == start_distances
    again = Diagnostician(task, METHOD, rounds=30, folder=tmp_path, seed=1)
    again._variants = replace(again._variants, held=10**6)
    again.observe(20, state.models, state.assignments)
    other = finished(tmp_path, again, state)
    assert other["observations"] != found["observations"]  # of other samples
    (row,) = (each for each in other["hypotheses"] if each["name"].startswith("Assumption 5"))
    assert row["numbers"]["needed"] == (40 + 40) * 30


def test_the_run_goes_on_as_if_nobody_looked(tmp_path):
    _, watched = carry_out(tmp_path)
    task = regression()
    state, randomness = start(task)
    for _ in range(9):
        state = METHOD.step(state, task, randomness)
    np.testing.assert_array_equal(watched.models, state.models)


def test_rounds_that_diverged_are_named_and_left_out(tmp_path):
    watcher, state = carry_out(tmp_path)
    watcher.observe(8, state.models * np.nan, state.assignments)
    found = finished(tmp_path, watcher, state)
    assert 8 in watcher.measured_rounds
    assert 8 not in [observation["round"] for observation in found["observations"]]
    assert "After rounds 8 a model was not finite" in (tmp_path / "diagnosis.md").read_text()


def test_a_run_that_diverged_altogether_is_an_error_and_writes_nothing(tmp_path):
    watcher, state = carry_out(tmp_path)
    for done in (0, *watcher.measured_rounds):
        watcher.observe(done, state.models * np.inf, state.assignments)
    with pytest.raises(InvalidArgument, match="finite"):
        watcher.finish(state.models)
    assert not (tmp_path / "diagnosis.md").exists()


def test_a_damaged_snapshot_is_named(tmp_path):
    watcher, state = carry_out(tmp_path)
    path = next(tmp_path.glob("*9.npz"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InvalidArgument, match=path.name):
        watcher.finish(state.models)


def test_the_step_size_of_the_round_counts(tmp_path):
    task = regression()
    state, randomness = start(task)
    watcher = Diagnostician(task, METHOD, rounds=1, folder=tmp_path)
    state = METHOD.step(state, task, randomness)
    watcher.observe(1, state.models, state.assignments, step_size=0.125)
    rows = finished(tmp_path, watcher, state)["hypotheses"]
    (row,) = (each for each in rows if each["name"] == "Theorem 1 (step size)")
    assert row["numbers"]["step_times_smoothness"] == pytest.approx(0.125)


def test_other_algorithms_tasks_and_single_clusters_are_refused(tmp_path):
    def refused(task, method, word):
        with pytest.raises(InvalidArgument, match=word):
            Diagnostician(task, method, rounds=3, folder=tmp_path)

    refused(regression(), FedAvg(step_size=0.1), "cfl-mgd or ifca")
    refused(
        regression(clusters=1), METHOD, "= 1: is the data.s number of clusters, which must be at least two"
    )
    refused(
        regression(),
        IFCA(step_size=0.1, clusters=1),
        "= 1: is the algorithm.s number of models, which must be at least two",
    )


@pytest.mark.parametrize(
    "task",
    [
        LogisticMixture.random(clusters=2, clients=6, dimension=3, samples=20, seed=0),
        SoftmaxMixture(clients=6, clusters=2, features=3, classes=3, largest=30),
    ],
    ids=["logistic", "softmax"],
)
def test_other_tasks_have_reports(tmp_path, task):
    method = IFCA(step_size=0.1)
    watcher, state = carry_out(tmp_path, rounds=3, task=task, method=method)
    for observation in finished(tmp_path, watcher, state)["observations"]:
        for cluster in observation["clusters"]:
            smallest, largest = cluster["curvature"]["value"]
            assert task.strong_convexity - 1e-9 <= smallest <= largest <= task.smoothness + 1e-9


def test_a_folder_that_is_gone_is_an_error(tmp_path):
    watcher = Diagnostician(regression(), METHOD, rounds=3, folder=tmp_path / "gone")
    with pytest.raises(InvalidArgument, match="out"):
        watcher.observe(0, np.zeros((2, 3)), None)
