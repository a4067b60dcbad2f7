"""What is measured of a run, against plain loops over clients and images with networks of torch.nn."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_images import client_data, load, module, plain_gradient, random_partition
from small_training import TINY, configure
from tiers import examples
from torch.nn.functional import cross_entropy

from clusterproof.algorithms import ALGORITHMS, State
from clusterproof.common import InvalidArgument
from clusterproof.neural import training
from clusterproof.neural.configuration import configuration_from
from clusterproof.neural.networks import MLP
from clusterproof.neural.round_metrics import evaluate, share_with_correct_model
from clusterproof.neural.task import ImageTask
from clusterproof.neural.training import assemble, train
from clusterproof.running.contract import Guard

NETWORK = MLP((1, 4, 4), 3, (5,))
SIZES = (6, 9, 4, 7, 5)


@settings(max_examples=examples(40))
@given(data=st.data(), clusters=st.integers(1, 4), models=st.integers(1, 5))
def test_right_is_the_best_of_all_matchings(data: st.DataObject, clusters: int, models: int) -> None:
    labels = np.array(data.draw(st.lists(st.integers(0, clusters - 1), min_size=1, max_size=12)))
    chosen = np.array(
        data.draw(st.lists(st.integers(-1, models - 1), min_size=len(labels), max_size=len(labels)))
    )
    best = 0.0
    # None: a cluster to which no model is matched
    for owners in itertools.permutations([*range(models), *[None] * clusters], clusters):
        right = [owners[label] == choice for choice, label in zip(chosen, labels, strict=True)]
        best = max(best, float(np.mean(right)))
    assert share_with_correct_model(chosen, labels, clusters) == pytest.approx(best)


def make_task(*, paired: bool, batch_size: int | None = None) -> ImageTask:
    partition = random_partition(SIZES, test_sizes=SIZES if paired else (5, 3, 8), paired=paired)
    return ImageTask(partition=partition, network=NETWORK, dtype="float64", batch_size=batch_size)


def loss_and_accuracy(point: torch.Tensor, client_images: Any, client: int) -> tuple[float, float]:
    network = module(NETWORK).double()
    load(network, point)
    images, targets = client_data(client_images, client, torch.float64)
    scores = network(images)
    hits = (scores.argmax(1) == targets).double()
    return float(cross_entropy(scores, targets).detach()), float(hits.mean())


def gradient_of(point: torch.Tensor, client_images: Any, client: int) -> torch.Tensor:
    return plain_gradient(NETWORK, point, *client_data(client_images, client, torch.float64))[1]


def measured(
    name: str, task: ImageTask, state: State, assignments: Any, *, protocol: str = "train", **options: Any
) -> dict[str, float | None]:
    given: dict[str, Any] = {"test_assignment": protocol, "seed": 0, "done": 1, "after_local_training": False}
    given |= {key: options.pop(key) for key in tuple(options) if key in given}
    algorithm = ALGORITHMS[name](**{"step_size": 0.1, **options})
    guard = Guard("algorithm.name", name, (), torch.Tensor, task.dtype)
    return evaluate(algorithm, task, state, np.asarray(assignments), guard=guard, **given).metrics


@pytest.mark.parametrize("batch_size", [None, 3])
@pytest.mark.parametrize(("paired", "protocol"), [(True, "train"), (True, "test-loss"), (False, "test-loss")])
def test_a_test_client_is_served_by_the_protocol(paired: bool, protocol: str, batch_size: int | None) -> None:
    task = make_task(paired=paired, batch_size=batch_size)
    models = 3 * task.initial_models(4, (), np.random.default_rng(3))
    present = torch.tensor([0, 3, 4])
    state = State(models, present, torch.tensor([1, 0, 2]))
    found = measured("ifca", task, state, [1, -1, -1, 0, 2], protocol=protocol)
    train_half, test_half = task.partition.train, task.partition.test
    chosen, losses, accuracies = [], [], []
    for client in range(len(test_half.sizes)):
        tests = [loss_and_accuracy(model, test_half, client) for model in models]
        own = train_half if protocol == "train" else test_half
        deciding = [loss_and_accuracy(model, own, client)[0] for model in models]
        chosen.append(int(np.argmin(deciding)))
        losses.append(tests[chosen[-1]][0])
        accuracies.append(tests[chosen[-1]][1])
    assert len(set(chosen)) > 1, "there would be nothing to tell apart"
    assert found["accuracy"] == pytest.approx(np.mean(accuracies))
    samples = test_half.sizes
    assert found["accuracy_over_samples"] == pytest.approx(samples @ accuracies / samples.sum())
    assert found["test_loss"] == pytest.approx(np.mean(losses))
    least = [min(loss_and_accuracy(model, train_half, client)[0] for model in models) for client in (0, 3, 4)]
    assert found["training_loss"] == pytest.approx(np.mean(least))
    assert found["correct_model"] == share_with_correct_model(np.array(chosen), test_half.labels, 2)


@pytest.mark.parametrize("name", ["local", "cfl", "sofl", "fpfc"])
def test_every_client_is_served_its_own_model(name: str) -> None:
    task = make_task(paired=True)
    models = 3 * task.initial_models(len(SIZES), (), np.random.default_rng(3))
    assignments = np.array([0, 1, 0, 1, 1])
    state = State(models, torch.arange(len(SIZES)), torch.tensor(assignments))
    found = measured(name, task, state, assignments)
    own = [loss_and_accuracy(models[i], task.partition.test, i)[1] for i in range(len(SIZES))]
    assert found["accuracy"] == pytest.approx(np.mean(own))
    assert found["correct_model"] == share_with_correct_model(assignments, task.partition.test.labels, 2)
    assert found["correct_model"] == 4 / 5


def test_other_test_clients_choose_among_the_clusters_means() -> None:
    task = make_task(paired=False)
    models = 3 * task.initial_models(len(SIZES), (), np.random.default_rng(3))
    assignments = np.array([4, 1, 4, 1, 1])
    state = State(models, torch.arange(len(SIZES)), torch.tensor(assignments))
    found = measured("fpfc", task, state, assignments, protocol="test-loss")
    means = [models[[1, 3, 4]].mean(0), models[[0, 2]].mean(0)]
    accuracies = []
    for client in range(3):
        pairs = [loss_and_accuracy(mean, task.partition.test, client) for mean in means]
        accuracies.append(min(pairs)[1])
    assert found["accuracy"] == pytest.approx(np.mean(accuracies))


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("name", ["fedavg", "ifca", "sofl", "gradient-loss"])
def test_accuracy_after_local_training_is_that_of_plain_steps(name: str) -> None:
    task = make_task(paired=True)
    count = {"fedavg": 1, "sofl": len(SIZES)}.get(name, 2)
    models = 3 * task.initial_models(count, (), np.random.default_rng(3))
    steps = 1 if name == "gradient-loss" else 3  # which has no such setting
    options: dict[str, Any] = {"step_size": 0.5, "after_local_training": True}
    options |= {} if steps == 1 else {"local_steps": steps}
    options |= {"averaging": "model"} if name == "ifca" else {}
    assignments = np.arange(len(SIZES)) % count
    state = State(models, torch.arange(len(SIZES)), torch.tensor(assignments))
    found = measured(name, task, state, assignments, **options)
    train_half = task.partition.train
    expected = []
    for client in range(len(SIZES)):
        losses = [loss_and_accuracy(model, train_half, client)[0] for model in models]
        point = models[client if name == "sofl" else int(np.argmin(losses))]
        for _ in range(steps):
            point = point - 0.5 * gradient_of(point, train_half, client)
        expected.append(loss_and_accuracy(point, task.partition.test, client)[1])
    assert found["accuracy_after_local_training"] == pytest.approx(np.mean(expected))


def test_measuring_takes_nothing_from_the_runs_random_numbers() -> None:
    models = []
    for every in (1, 5):
        asked = {"rounds": 5, "batch_size": 5, "evaluate_every": every, "after_local_training": every == 1}
        configuration = configure({"name": "fedavg", "participation": 0.5}, **asked)
        models.append(train(configuration).state.models)
    assert torch.equal(models[0], models[1])


def test_losses_that_are_no_numbers_are_left_out() -> None:
    task = make_task(paired=True)
    models = task.initial_models(2, (), np.random.default_rng(3)) * torch.inf
    state = State(models, torch.arange(5), torch.zeros(5, dtype=torch.int64))
    with np.errstate(all="ignore"):
        found = measured("ifca", task, state, np.zeros(5, int))
    assert found["training_loss"] is None
    assert found["test_loss"] is None


@pytest.mark.parametrize(
    ("section", "table", "argument"),
    [
        ("algorithm", {"name": "local"}, "algorithm.name is 'local'"),
        ("training", {"test_assignment": "train"}, "training.test_assignment is 'train'"),
        ("training", {"after_local_training": True}, "training.after_local_training is True"),
    ],
)
def test_what_needs_the_training_clients_tests_says_so(
    tmp_path: Path, section: str, table: dict[str, Any], argument: str
) -> None:
    configuration = configuration_from({"partition": {"name": "rotations"}, section: table})
    with pytest.raises(InvalidArgument, match="needs test data of the training clients") as caught:
        train(configuration, out=tmp_path / "run")
    assert str(caught.value).startswith(argument)
    assert list(tmp_path.iterdir()) == []


def test_the_protocol_is_by_training_data_where_there_are_some(tmp_path: Path) -> None:
    for name, expected in (("rotated-groups", "train"), ("rotations", "test-loss")):
        configuration = configuration_from({"partition": {"name": name}, "training": {"rounds": 1}})
        assert train(configuration, out=tmp_path / name).choices["test_assignment"] == expected


@pytest.mark.parametrize("name", ["per-fedavg", "sofl"])
def test_a_personal_step_is_taken_before_the_accuracy_is_measured(name: str) -> None:
    """By autograd on networks of torch.nn, client by client."""
    task = make_task(paired=True)
    parameters: dict[str, Any] = {"method": "per-fedavg"} if name == "sofl" else {"inner_step_size": 3.0}
    count = len(SIZES) if name == "sofl" else 1
    models = task.initial_models(count, (), np.random.default_rng(1))
    all_clients = torch.arange(len(SIZES))
    state = State(models, all_clients, 0 * all_clients)
    # the inner step is half of the step in SoFL
    found = measured(name, task, state, np.zeros(len(SIZES), int), step_size=6.0, **parameters)
    after, before = [], []
    for client in range(len(SIZES)):
        point = models[client % count]
        gradient = gradient_of(point, task.partition.train, client)
        after.append(loss_and_accuracy(point - 3.0 * gradient, task.partition.test, client)[1])
        before.append(loss_and_accuracy(point, task.partition.test, client)[1])
    assert found["accuracy"] == pytest.approx(np.mean(after))
    assert np.mean(after) != pytest.approx(np.mean(before))
    if count == 1:  # others than the training clients have no data for the step
        others = make_task(paired=False)
        found = measured(name, others, state, np.zeros(len(SIZES), int), protocol="test-loss", step_size=6.0)
        served = [loss_and_accuracy(models[0], others.partition.test, client)[1] for client in range(3)]
        assert found["accuracy"] == pytest.approx(np.mean(served))


def test_what_an_evaluation_draws_belongs_to_seed_and_round() -> None:
    """Personal steps, each on one image: seven of them give several accuracies."""
    task = make_task(paired=True, batch_size=1)
    models = task.initial_models(1, (), np.random.default_rng(1))
    state = State(models, torch.arange(len(SIZES)), torch.zeros(len(SIZES), dtype=torch.int64))

    def accuracy(seed: int, done: int) -> float | None:
        options = {"inner_step_size": 3.0, "seed": seed, "done": done}
        return measured("per-fedavg", task, state, np.zeros(len(SIZES), int), **options)["accuracy"]

    assert accuracy(3, 4) == accuracy(3, 4)
    assert len({accuracy(3, done) for done in range(7)}) > 1
    assert len({accuracy(seed, 4) for seed in range(7)}) > 1


@pytest.mark.parametrize(
    ("name", "partition", "personal"),
    [
        ("per-fedavg", "rotated-groups", True),
        ("per-fedavg", "rotations", False),
        ("ifca", "rotated-groups", False),
    ],
)
def test_a_personal_step_is_announced_where_it_is_taken(name: str, partition: str, personal: bool) -> None:
    configuration = configuration_from({"partition": {"name": partition}, "algorithm": {"name": name}})
    assert assemble(configuration).choices.get("personal_step", False) == personal


def test_a_pass_is_refused_where_single_gradients_are_asked(tmp_path: Path) -> None:
    training = {"local_unit": "epoch", "batch_size": 5, "rounds": 1}
    sections = {**TINY, "algorithm": {"name": "per-fedavg"}, "training": training}
    with pytest.raises(InvalidArgument) as refusal:
        train(configuration_from(sections), out=tmp_path / "run")
    assert refusal.value.argument == "training.local_unit"
    averaging = {"name": "cfl-mgd", "averaging": "model"}
    assert train(configuration_from({**sections, "algorithm": averaging})).complete


@pytest.mark.parametrize(("name", "models"), [("fedavg", 1), ("ifca", 2), ("local", 4)])
def test_models_that_memory_cannot_hold_are_refused(name: str, models: int, plant: Any) -> None:
    """Those before and after a round in float32, and two bounds of the start in float64, of 64 x 4 + 4 x 10 weights."""
    free = iter(np.array([0, -1]) + (64 * 4 + 4 + 4 * 10 + 10) * (2 * models * 4 + 2 * 8))
    plant(training, "free_memory", lambda: next(free))
    configuration = configuration_from(TINY | {"algorithm": {"name": name}})
    assemble(configuration)
    with pytest.raises(InvalidArgument, match=f"for {models} models"):
        assemble(configuration)


def test_the_task_has_the_settings_of_the_configuration() -> None:
    asked = {"batch_size": 7, "local_unit": "epoch", "dtype": "float64", "engine": "serial"}
    given = TINY | {"training": {"threads": 3, "device": "cpu", **asked}, "data": {"flip": True}}
    assembly = assemble(configuration_from(given))
    task = assembly.task
    assert assembly.choices["threads"] == 3
    assert {name: getattr(task, name) for name in asked} == asked
    assert task.preprocessing.settings == {"flip": True}
