"""FPFC's Figure 1: the measurements by plain loops, FPFC as coded, the ceiling, and what rows say."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from image_data import identify
from planting import planted
from small_images import module
from tolerance import assert_close

from clusterproof.algorithms import FPFC, InvalidArgument, Randomness
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.algorithms.fpfc import FusionState
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.tables import training_run
from clusterproof.experiments.tables.fpfc import figure_1 as fpfc_figure_1
from clusterproof.experiments.tables.fpfc.figure_1_runs import (
    SCALES,
    compute,
    make_unit,
    measure,
    methods,
    single_model_ceiling,
)
from clusterproof.experiments.tables.fpfc.shared_body import SharedBodyFPFC
from clusterproof.experiments.tables.training_run import image_task, make_algorithm, snapshots
from clusterproof.neural.data.loading import load
from clusterproof.neural.networks import network
from clusterproof.neural.partitions.by_name import partition
from clusterproof.neural.task import ImageTask

SMALL = Request(1, 3, "small")


def digits_task(seed: int, batch_size: int | None) -> ImageTask:
    """Digits with swapped labels, in double precision."""
    settings = dict(make_unit("digits", "FPFC", seed, SMALL).settings)
    settings["task"] = {"batch_size": batch_size, "dtype": "float64", "local_unit": "epoch"}
    return image_task(settings, seed)


def scores(task: ImageTask, point: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
    """Of one model, by torch's own layers."""
    net: torch.nn.Module = module(task.network).double()
    torch.nn.utils.vector_to_parameters(point, net.parameters())
    found: torch.Tensor = net(images).detach()
    return found


def held(client_images: Any, client: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A client's images and labels."""
    size = client_images.sizes[client]
    pixels = client_images.pixels[client_images.indices[client, :size]]
    return torch.tensor(pixels / 255.0), torch.tensor(client_images.targets[client, :size])


class PlainPairs:
    """theta and v of all pairs of vectors (m, h), dense, by the paper's regions; rho = 1, a = 3.7, xi = 0.001."""

    def __init__(self, vectors: np.ndarray, strength: float) -> None:
        self.w, self.strength = vectors.copy(), strength
        self.theta = np.zeros((len(vectors), *vectors.shape))
        self.v = np.zeros_like(self.theta)
        self.regions: set[int] = set()

    def anchor(self, i: int) -> np.ndarray:
        return np.asarray((self.w + self.theta[i] - self.v[i]).mean(axis=0))

    def shorten(self, delta: np.ndarray) -> np.ndarray:
        length, strength = float(np.linalg.norm(delta)), self.strength
        limits = (0.001 + strength, 2 * strength, 3.7 * strength)
        region = sum(length > limit for limit in limits)
        self.regions.add(region)
        past = 3.7 * strength / 2.7
        factors = (
            0.001 / (strength + 0.001),
            1 - strength / length,
            (1 - past / length) / (1 - 1 / 2.7),
            1.0,
        )
        return factors[region] * delta

    def update(self, active: list[int]) -> None:
        for i in range(len(self.w)):
            for j in range(i + 1, len(self.w)):
                if i in active or j in active:
                    difference = self.w[i] - self.w[j]
                    theta = self.shorten(difference + self.v[i, j])
                    self.v[i, j] += difference - theta
                    self.theta[i, j] = theta
                    self.theta[j, i], self.v[j, i] = -theta, -self.v[i, j]

    def groups(self) -> list[int]:
        """Chains of pairs with theta of at most 0.1, numbered by first appearance."""
        labels = list(range(len(self.w)))
        for _ in labels:
            for i in range(len(labels)):
                for j in range(len(labels)):
                    if np.linalg.norm(self.theta[i, j]) <= 0.1:
                        labels[i] = min(labels[i], labels[j])
        return [sorted(set(labels)).index(label) for label in labels]


def batch_gradient(task: ImageTask, point: torch.Tensor, client: int) -> torch.Tensor:
    """Return the gradient on all of a client's training data."""
    leaf = point.clone().requires_grad_()
    images, labels = held(task.partition.train, client)
    net: torch.nn.Module = module(task.network).double()
    named = dict(net.named_parameters())
    parts, offset = {}, 0
    for name, parameter in named.items():
        parts[name] = leaf[offset : offset + parameter.numel()].view_as(parameter)
        offset += parameter.numel()
    loss = torch.nn.functional.cross_entropy(torch.func.functional_call(net, parts, images), labels)
    return torch.autograd.grad(loss, leaf)[0]


def mean_accuracy(task: ImageTask, models: list[torch.Tensor]) -> float:
    """Per cent, each client with its model on its own test images."""
    shares = []
    for client, model in enumerate(models):
        images, labels = held(task.partition.test, client)
        shares.append(float((scores(task, model, images).argmax(dim=1) == labels).double().mean()))
    return 100 * float(np.mean(shares))


@pytest.mark.parametrize("method", ["LOCAL", "FedAvg", "Per-FedAvg", "IFCA", "CFL", "FPFC"])
def test_each_client_is_measured_with_the_model_that_it_would_use(method: str) -> None:
    task = digits_task(0, None)
    algorithm: Any = make_algorithm(methods(SCALES["small"])[method].settings)
    rounds = 1 if method == "IFCA" else 3  # after one, half of the clients have not been asked yet
    *_, look = snapshots(algorithm, task, rounds=rounds, seed=0, every=3, decay=1.0)
    record = measure(look, last=True)
    server = look.state.models.detach()
    clients = range(task.clients)
    if method in ("LOCAL", "CFL", "FPFC"):
        models = [server[client] for client in clients]
    elif method == "FedAvg":
        models = [server[0]] * task.clients
    elif method == "Per-FedAvg":
        models = [server[0] - 0.1 * batch_gradient(task, server[0], client) for client in clients]
    else:
        losses = [
            [float(torch.nn.functional.cross_entropy(scores(task, one, images), labels)) for one in server]
            for images, labels in (held(task.partition.train, client) for client in clients)
        ]
        known = look.assignments
        chosen = [int(np.argmin(losses[i])) if known[i] < 0 else int(known[i]) for i in clients]
        assert len({chosen[i] for i in clients if known[i] < 0}) > 1
        models = [server[each] for each in chosen]
        assert record["clusters"] == len(set(chosen))
    assert record["accuracy"] == pytest.approx(mean_accuracy(task, models))
    if method == "FedAvg":
        tuned = [
            server[0] - algorithm.step_size * batch_gradient(task, server[0], client) for client in clients
        ]
        assert record["tuned"] == pytest.approx(mean_accuracy(task, tuned))
    clustering = method in ("IFCA", "CFL", "FPFC")
    assert ("ari" in record) == clustering


def test_models_are_averaged_in_their_groups_by_numbers_of_images() -> None:
    task = digits_task(0, None)
    apart = make_algorithm(methods(SCALES["small"])["LOCAL"].settings)
    *_, trained = snapshots(apart, task, rounds=3, seed=0, every=3)
    *_, look = snapshots(FPFC(step_size=0.1), task, rounds=1, seed=0, every=1)
    models, groups = trained.state.models, torch.arange(task.clients) % 3
    look = replace(look, state=replace(look.state, models=models, assignments=groups))
    sizes = torch.tensor(task.partition.train.sizes).double()
    averaged = []
    for group in groups:
        own = groups == group
        averaged.append((sizes[own, None] * models[own]).sum(dim=0) / sizes[own].sum())
    assert measure(look, last=True)["averaged"] == pytest.approx(mean_accuracy(task, averaged))
    assert "averaged" not in measure(look, last=False)


def test_as_coded_fuses_the_last_layer_and_averages_the_others() -> None:
    task = digits_task(0, None)
    algorithm = SharedBodyFPFC.of(FPFC(step_size=0.3, local_steps=3, strength=0.1, participation=0.5), task)
    body = 64 * 32 + 32
    assert (algorithm.body, algorithm.local_steps) == (body, 3)
    randomness = Randomness.from_seed(5, "test")
    start = task.initial_models(1, (), randomness.initialisation)
    state: FusionState = algorithm.initialise(start, task)
    pairs = PlainPairs(np.repeat(to_numpy(start[:, body:]), task.clients, axis=0), 0.1)
    models = [start[0].clone() for _ in range(task.clients)]
    for _ in range(4):
        before = to_numpy(state.models)
        state = algorithm.step(state, task, randomness)
        active = np.flatnonzero((before != to_numpy(state.models)).any(axis=1)).tolist()
        assert len(active) == task.clients // 2
        for client in active:
            anchor = torch.tensor(pairs.anchor(client))
            for _ in range(3):
                step = batch_gradient(task, models[client], client)
                step[body:] += models[client][body:] - anchor
                models[client] = models[client] - 0.3 * step
        mean = torch.stack([models[client][:body] for client in active]).mean(dim=0)
        for client in active:
            models[client][:body] = mean
            pairs.w[client] = models[client][body:].numpy()
        pairs.update(active)
        assert_close(to_numpy(state.models), to_numpy(torch.stack(models)))
    assert len(pairs.regions) > 1
    assert to_numpy(state.assignments).tolist() == pairs.groups()


def test_without_layers_below_it_is_fpfc() -> None:
    task = digits_task(1, None)
    plain = FPFC(step_size=0.2, local_steps=2, strength=0.3, participation=0.5)
    coded = replace(SharedBodyFPFC.of(plain, task), body=0)
    looks = [
        [look.state.models for look in snapshots(one, task, rounds=3, seed=1, every=1)]
        for one in (plain, coded)
    ]
    for one, other in zip(*looks, strict=True):
        torch.testing.assert_close(one, other)


def test_no_single_model_exceeds_the_ceiling_and_one_reaches_it() -> None:
    data = load("digits")
    made = partition("label-swap", data, seed=2)
    classes = [[int(data.test.labels[row]) for row, _ in found] for found in identify(made.test, data.test)]
    targets = [made.test.targets[client, :size].tolist() for client, size in enumerate(made.test.sizes)]

    def accuracy(answers: np.ndarray) -> float:
        """Return the mean over the clients of the share of right answers of a model that sees the class."""
        right = [
            np.mean([answers[one] == other for one, other in zip(*pair, strict=True)])
            for pair in zip(classes, targets, strict=True)
        ]
        return float(np.mean(right))

    ceiling = single_model_ceiling(made)
    stream = np.random.default_rng(0)
    assert all(accuracy(stream.integers(0, 10, 10)) <= ceiling + 1e-12 for _ in range(50))
    best = np.zeros(10, dtype=int)
    for one in range(10):  # the classes add up: each is chosen by itself
        tries = [accuracy(np.where(np.arange(10) == one, answer, best)) for answer in range(10)]
        best[one] = int(np.argmax(tries))
    assert accuracy(best) == pytest.approx(ceiling)
    assert 0.7 < ceiling < 1


def test_the_ceiling_of_two_clients_by_hand() -> None:
    made = partition("label-swap", load("digits"), seed=2)
    # classes 0, 0, 0, 8 in cluster 0, which swaps the two, and 0, 4 in cluster 1
    targets = np.array([[8, 8, 8, 0], [0, 4, 0, 0]])
    test = replace(made.test, targets=targets, sizes=np.array([4, 2]), labels=np.array([0, 1]))
    # class 0: 3/8 of the weight say 8 and 1/4 say 0; class 8: 1/8; class 4: 1/4
    assert single_model_ceiling(replace(made, test=test)) == pytest.approx(3 / 8 + 1 / 8 + 1 / 4)


def test_per_fedavg_and_as_coded_make_as_many_steps_as_a_pass_costs() -> None:
    unit = make_unit("digits", "Per-FedAvg", 0, SMALL)
    seen = []

    def record(algorithm: Any, task: ImageTask, **more: Any) -> Any:
        seen.append((algorithm, task))
        return snapshots(algorithm, task, **more)

    with planted(training_run, "snapshots", record):
        compute(replace(unit, settings={**unit.settings, "task": {"batch_size": 10, "local_unit": "epoch"}}))
    algorithm, task = seen[0]
    gradients_of_a_pass = task.partition.train.sizes.mean() / 10
    assert 2 * algorithm.local_steps == pytest.approx(gradients_of_a_pass, abs=1)
    coded = SharedBodyFPFC.of(FPFC(step_size=0.1, local_steps=4), task)
    assert coded.local_steps == pytest.approx(4 * gradients_of_a_pass, abs=0.5)


def test_a_miniature_goes_from_units_to_a_table(
    monkeypatch: pytest.MonkeyPatch, plant: Callable[..., Any], tmp_path: Path
) -> None:
    monkeypatch.setenv("CLUSTERPROOF_DATA", str(tmp_path))
    with pytest.raises(InvalidArgument, match="clusterproof data fetch mnist"):
        fpfc_figure_1.units(Request(1))
    plant(fpfc_figure_1, "DATA", ("digits",))
    made = fpfc_figure_1.units(SMALL)
    assert len({(unit.method, unit.seed) for unit in made}) == len(made)
    assert len({str(unit.settings) for unit in made}) == len(made)
    table = fpfc_figure_1.assemble(SMALL, {(unit.method, unit.seed): compute(unit) for unit in made})
    assert all(set(row.cells) <= set(table.columns) for row in table.rows)
    assert table.settings["rounds"] == 3
    full = [make_unit("mnist", method, 0, Request(1)) for method in methods(SCALES["full"])]
    net = network(**full[0].settings["network"], image_shape=(1, 28, 28), classes=10)
    assert net.dimension == 6 * 25 + 6 + 16 * 6 * 25 + 16 + 400 * 10 + 10
    assert {unit.settings["rounds"] for unit in full} == {200}
