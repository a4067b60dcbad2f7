"""CFL-MGD's Table 2: the runs it asks for, what is measured, and what the rows say."""

import itertools
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tolerance import assert_close

from clusterproof.algorithms import CFLMGD, IFCA, FedAvg, FedBCD, Randomness, State
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.cfl_mgd.table_2_columns import CIFAR_10, MNIST
from clusterproof.experiments.tables.cfl_mgd.table_2_runs import EARLY, compute, make_units
from clusterproof.experiments.tables.training_run import (
    Snapshot,
    image_task,
    make_algorithm,
    remember,
    served_by_test_loss,
    served_by_training_data,
    snapshots,
)
from clusterproof.neural.task import ImageTask

DIGITS = {
    "data": "digits",
    "partition": {"name": "rotations", "clusters": 2, "clients": 12, "samples": 100},
    "network": {"name": "mlp", "hidden": [16]},
    "task": {"dtype": "float64"},
}


@pytest.fixture(scope="module")
def digits() -> ImageTask:
    return image_task(DIGITS, 2)


# ------------------------------------------------------------------ what is asked for


def test_printed_gains_are_those_of_the_text() -> None:
    """The paper's conclusion: 4.90 and 3.45 points over IFCA."""
    for experiment, gain in ((CIFAR_10, 4.90), (MNIST, 3.45)):
        values = {name: printed.value for name, printed in experiment.printed.items()}
        assert values["CFL-MGD"] - values["IFCA"] == pytest.approx(gain)
        assert list(values.values()) == sorted(values.values(), reverse=True)
        assert all(printed.spread is not None for printed in experiment.printed.values())


def test_units_are_the_papers_settings_and_the_controls() -> None:
    for experiment, images, scaled in ((MNIST, 60_000, 1.0), (CIFAR_10, 50_000, 0.1)):
        units = make_units(experiment, Request(2))
        assert len({(unit.method, unit.seed) for unit in units}) == len(units)
        settings: dict[str, Mapping[str, Any]] = {unit.method: unit.settings for unit in units}
        seeds = {name: sum(unit.method == name for unit in units) for name in settings}
        for name, own in settings.items():
            assert seeds[name] == (20 if name.startswith(EARLY) else 2)
            partition = own["partition"]
            assert partition["clients"] * partition["samples"] == partition["clusters"] * images
            assert own["algorithm"]["participation"] == 0.1
            assert own["rounds"] == (12 if name.startswith(EARLY) else 300)
            make_algorithm(own["algorithm"])
        steps = {name: own["algorithm"]["step_size"] for name, own in settings.items()}
        published = steps["CFL-MGD"]
        assert steps["IFCA, effective step"] == pytest.approx(scaled)
        assert steps["IFCA, effective step"] == pytest.approx(published / (1 - 0.9))
        assert steps["IFCA"] == steps["FedAvg"] == steps["FedBCD"] == published
        assert settings["FedAvg, momentum"]["algorithm"]["clusters"] == 1
    assert {own["decay"] for own in settings.values()} == {0.99}
    assert settings["IFCA, its own step"]["algorithm"]["step_size"] == 0.25
    three = [unit for unit in make_units(MNIST, Request(1)) if "H = 3" in unit.method]
    assert {unit.settings["algorithm"]["local_steps"] for unit in three} == {3}
    assert len(three) == 3
    for experiment in (MNIST, CIFAR_10):
        small = [unit.settings for unit in make_units(experiment, Request(1, scale="small"))]
        partitions = [own["partition"] for own in small]
        assert {(own["clients"], own["samples"]) for own in partitions} == {experiment.small[:2]}
        assert {own["rounds"] for own in small} == {12, experiment.small[2]}


# ------------------------------------------------------------------ a run


def test_step_sizes_decay_and_every_round_is_plain_descent(digits: ImageTask) -> None:
    """FedAvg with full participation and one full-batch step is gradient descent on the mean loss."""
    decay, step_size, rounds = 0.7, 0.5, 4
    model = digits.initial_models(1, (), Randomness.from_seed(3, "table").initialisation)
    all_clients = np.arange(digits.clients)
    random = np.random.default_rng(0)
    seen = []
    for done in range(rounds):
        points = model.expand(digits.clients, -1)
        gradients = digits.gradients(points, like_clients(all_clients), random)
        model = model - step_size * decay**done * gradients.mean(0)
        seen.append(model)
    looks = list(snapshots(FedAvg(step_size=step_size), digits, rounds=rounds, seed=3, every=2, decay=decay))
    assert [look.round for look in looks] == [2, 4]
    for look in looks:
        np.testing.assert_allclose(look.state.models, seen[look.round - 1], atol=1e-10)
    assert looks[-1].algorithm.step_size == pytest.approx(step_size * decay**3)  # type: ignore[attr-defined]


def like_clients(clients: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(clients)


def test_methods_of_a_seed_share_starts_and_participants(digits: ImageTask) -> None:
    """Without momentum CFL-MGD is IFCA; with one model it is FedAvg with momentum."""
    common: dict[str, Any] = {"step_size": 0.3, "averaging": "model", "local_steps": 2, "participation": 0.5}
    ifca, plain = (
        list(snapshots(algorithm, digits, rounds=5, seed=1))[-1]
        for algorithm in (IFCA(**common), CFLMGD(momentum=0.0, **common))
    )
    assert_close(to_numpy(ifca.state.models), to_numpy(plain.state.models))
    assert np.array_equal(ifca.assignments, plain.assignments)
    assert (ifca.assignments >= 0).sum() >= 6
    assert ifca.assignments.max() <= 1
    del common["averaging"]
    single = list(snapshots(FedAvg(**common), digits, rounds=2, seed=1))[-1]
    one = CFLMGD(momentum=0.0, clusters=1, averaging="model", **common)
    momentum = list(snapshots(one, digits, rounds=2, seed=1))[-1]
    assert_close(to_numpy(single.state.models), to_numpy(momentum.state.models))


def test_the_last_round_is_always_measured(digits: ImageTask) -> None:
    looks = list(snapshots(FedBCD(step_size=0.1), digits, rounds=5, seed=0, every=3))
    assert [look.round for look in looks] == [3, 5]
    assert [look.algorithm.step_size for look in looks] == [0.1, 0.1], "without a decay it stays"  # type: ignore[attr-defined]


def test_absent_clients_keep_their_last_cluster() -> None:
    known = np.full(4, -1)
    remember(known, State(np.zeros((2, 1)), np.array([1, 3]), np.array([0, 1])))
    assert known.tolist() == [-1, 0, -1, 1]
    remember(known, State(np.zeros((2, 1)), np.array([0, 3]), np.array([1, 0])))
    assert known.tolist() == [1, 0, -1, 0]
    remember(known, State(np.zeros((2, 1)), np.array([2]), np.array([3, 2, 1, 0])))  # a whole partition
    assert known.tolist() == [3, 2, 1, 0]


@given(st.integers(0, 2**20), st.integers(1, 4), st.booleans())
def test_each_test_client_gets_the_model_of_least_loss(seed: int, models: int, diverged: bool) -> None:
    random = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], 5)
    losses, accuracies = random.random((2, 15, models))
    if diverged and models > 1:
        losses[:, 0] = np.nan
    scores = SimpleNamespace(losses=losses, accuracies=accuracies)
    test = SimpleNamespace(labels=labels)
    task: Any = SimpleNamespace(
        scores=lambda points: scores, partition=SimpleNamespace(test=test), clusters=3
    )
    state = State(np.zeros((models, 2)), None, None)
    found = served_by_test_loss(Snapshot(0, 1, FedAvg(step_size=1.0), task, state, labels))
    chosen = [min(range(models), key=lambda p: (np.isnan(row[p]), row[p])) for row in losses]
    assert found["accuracy"] == pytest.approx(100 * np.mean([accuracies[i, p] for i, p in enumerate(chosen)]))
    # of all ways to give models to clusters, none twice, the best
    owners = itertools.permutations([*range(models), None, None, None], 3)
    best = max(sum(owner[labels[i]] == p for i, p in enumerate(chosen)) for owner in set(owners))
    assert found["correct_model"] == pytest.approx(best / 15)
    assert found["found"] <= min(models, 3)


def test_a_lost_cluster_is_counted(digits: ImageTask) -> None:
    """One of two models is put out of the race: its cluster has none."""
    models = digits.initial_models(2, (), np.random.default_rng(0))
    models[1] = models[0]
    models[1, -10] += 50.0  # always the first class
    look = Snapshot(0, 1, FedAvg(step_size=1.0), digits, State(models, None, None), digits.labels)
    found = served_by_test_loss(look)
    assert (found["correct_model"], found["found"]) == (0.5, 1)


def test_units_of_the_digits() -> None:
    settings = {**DIGITS, "task": {}, "rounds": 12, "every": 6, "decay": 1.0, "test_assignment": "test-loss"}
    results = {}
    for name in ("FedAvg", "IFCA", "CFL-MGD", "FedBCD", "FedAvg, momentum", "CFL-MGD, reset"):
        algorithm = {
            **MNIST.algorithm(MNIST.methods[name]),
            "step_size": 0.2,
            "local_steps": 5,
            "participation": 0.5,
        }
        unit = Unit(name, 0, {**settings, "algorithm": algorithm})
        results[name] = compute(unit)
        assert [record["round"] for record in results[name]["curve"]] == [6, 12]
    again = compute(unit)
    assert again == results["CFL-MGD, reset"]
    score = {name: result["curve"][-1]["accuracy"] for name, result in results.items()}
    assert score["CFL-MGD"] > score["IFCA"] > 20
    assert score["FedAvg, momentum"] > score["FedAvg"]
    assert all(0 <= value <= 100 for value in score.values())


SETTINGS = {**DIGITS, "rounds": 3, "every": 1, "decay": 1.0, "test_assignment": "test-loss"}
FEDAVG = {"algorithm": "fedavg", "step_size": 0.5, "local_steps": 5}


def accuracies(decay: float) -> list[float]:
    """After each round."""
    unit = Unit("FedAvg", 0, {**SETTINGS, "algorithm": FEDAVG, "decay": decay})
    return [record["accuracy"] for record in compute(unit)["curve"]]


def test_steps_decay_from_round_to_round() -> None:
    """By a factor so small that nothing moves after the first round."""
    plain, still = accuracies(1.0), accuracies(1e-12)
    assert still == [plain[0]] * 3
    assert len(set(plain)) == 3


def test_clients_are_served_as_the_settings_say() -> None:
    algorithm = {"algorithm": "ifca", "averaging": "model", "step_size": 0.3}
    task = image_task(SETTINGS, 1)
    *_, look = snapshots(make_algorithm(algorithm), task, rounds=3, seed=1, every=1)
    records = {}
    for served, measure in (
        ({"test_assignment": "test-loss"}, served_by_test_loss),
        ({"test_assignment": "train"}, served_by_training_data),
    ):
        found = compute(Unit("IFCA", 1, {**SETTINGS, "algorithm": algorithm, **served}))["curve"][-1]
        assert found == {"round": 3, **measure(look)}
        records[measure] = found["accuracy"]
    assert len(set(records.values())) == 2
