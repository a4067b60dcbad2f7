"""What is found out about a user's module by trying it, and what a network made of it computes."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from image_data import made_set
from torch import Tensor, nn

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.networks import MLP
from clusterproof.neural.own.module_checks import probe
from clusterproof.neural.own.module_network import ModuleNetwork, maker
from clusterproof.neural.partitions.by_name import partition
from clusterproof.neural.task import ImageTask

SHAPE, CLASSES = (1, 6, 6), 3
SAMPLES = torch.rand((4, *SHAPE), generator=torch.Generator().manual_seed(1))


def own(make: Callable[..., nn.Module]) -> ModuleNetwork:
    """A network of a module, tried."""
    ready = maker("mine:Net", make, SHAPE, CLASSES, {})
    found = probe("mine:Net", ready, SAMPLES, CLASSES)
    return ModuleNetwork(SHAPE, CLASSES, label="mine:Net", options={}, make=ready, found=found)


def flat(*middle: nn.Module, width: int = 36) -> nn.Module:
    return nn.Sequential(nn.Flatten(), *middle, nn.Linear(width, CLASSES))


class Calls(nn.Module):
    """A linear layer, whose call is given."""

    def __init__(self, call: Callable[["Calls", Tensor], Tensor]) -> None:
        super().__init__()
        self.layer = nn.Linear(36, CLASSES)
        self.call, self.count, self.last = call, 0, None
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, samples: Tensor) -> Tensor:
        return self.call(self, samples.flatten(1))


def counting(module: Calls, samples: Tensor) -> Tensor:
    module.count += 1
    return module.layer(samples)


def counting_and_using(module: Calls, samples: Tensor) -> Tensor:
    return counting(module, samples) * (1 + module.count % 2)


def counting_in_a_buffer(module: Calls, samples: Tensor) -> Tensor:
    module.seen += 1
    return module.layer(samples)


def by_training(module: Calls, samples: Tensor) -> Tensor:
    return module.layer(samples) * (2 if module.training else 1)


def global_draw(module: Calls, samples: Tensor) -> Tensor:
    return module.layer(samples) + 0 * torch.rand(())


def spare() -> nn.Module:
    module = Calls(lambda m, x: m.layer(x))
    module.spare = nn.Linear(2, 2)
    return module


REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    ("batch normalisation", lambda: flat(nn.BatchNorm1d(36)), "batch normalisation"),
    (
        "its own statistics",
        lambda: flat(nn.BatchNorm1d(36, track_running_stats=False)),
        "batch normalisation",
    ),
    ("dropout", lambda: flat(nn.Dropout(0.5)), "Dropout"),
    (
        "functional dropout",
        lambda: Calls(lambda m, x: nn.functional.dropout(m.layer(x), 0.1)),
        "random numbers",
    ),
    ("draws", lambda: Calls(global_draw), "random numbers"),
    ("a buffer", lambda: Calls(counting_in_a_buffer), "buffers"),
    ("memory", lambda: Calls(counting_and_using), "other scores when it is called again"),
    ("company", lambda: Calls(lambda m, x: m.layer(x - x.mean(0))), "in company"),
    ("evaluation", lambda: Calls(by_training), "in evaluation"),
    ("idle parameters", spare, "spare.weight"),
    ("no parameters", nn.Flatten, "no parameters"),
    ("wrong scores", lambda: nn.Sequential(nn.Flatten(), nn.Linear(36, 4)), r"\(4, 3\)"),
    ("an error", lambda: nn.Linear(7, CLASSES), "RuntimeError"),
    ("no module", lambda: 3, "torch.nn.Module"),
    ("its own start", lambda: nn.Sequential(nn.Flatten(), drawn_by_numpy()), "same seed"),
    ("double", lambda: flat().double(), "float32"),
]


def drawn_by_numpy() -> nn.Module:
    layer = nn.Linear(36, CLASSES)
    layer.weight.data = torch.from_numpy(np.random.default_rng().random((CLASSES, 36), np.float32))
    return layer


@pytest.mark.parametrize(("make", "words"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_is_no_function_of_parameters_and_samples_is_refused(
    make: Callable[[], nn.Module], words: str
) -> None:
    before = torch.random.get_rng_state()
    with pytest.raises(InvalidArgument, match=words) as refusal:
        own(make)
    assert refusal.value.argument == "network.name"
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(
    "make",
    [
        lambda: flat(nn.Dropout(0.0)),
        lambda: flat(nn.LayerNorm(36)),
        lambda: nn.Sequential(nn.GroupNorm(1, 1), nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(64, CLASSES)),
    ],
)
def test_what_is_one_may_be_computed_by_several_threads(make: Callable[[], nn.Module]) -> None:
    assert (own(make).one_thread, own(make).vectorises) == ("", True)


def test_what_writes_to_itself_or_cannot_be_copied_has_one_thread_and_says_why() -> None:
    assert "`count`" in own(lambda: Calls(counting)).one_thread

    def locked() -> nn.Module:
        module = flat()
        module.lock = threading.Lock()
        return module

    network = own(locked)
    assert "cannot be copied" in network.one_thread
    point = torch.as_tensor(network.initial((), np.random.default_rng(0), np.float32))
    assert network.function(network.views(point), SAMPLES).shape == (4, CLASSES)


def test_what_branches_on_its_values_is_not_vectorised() -> None:
    network = own(lambda: Calls(lambda m, x: m.layer(x) if x.sum() > 0 else 2 * m.layer(x)))
    assert not network.vectorises
    data = made_set(40, 20, classes=CLASSES)
    task = ImageTask(partition=partition("label-shift", data, seed=0, clusters=2), network=network)
    assert task.chosen_engine.name == "serial"
    with pytest.raises(InvalidArgument, match="vmap"):
        ImageTask(partition=task.partition, network=network, engine="batched")


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 6), nn.ReLU(), nn.Linear(6, CLASSES))


@pytest.mark.parametrize("engine", ["serial", "batched"])
def test_a_module_answers_as_the_same_perceptron_of_ours(engine: str) -> None:
    """Ours has its gradients written by hand: another route to every number."""
    data = made_set(120, 40, classes=CLASSES)
    division = partition("quantity", data, seed=0, clusters=2, clients_per_cluster=3)
    own_task = ImageTask(
        partition=division, network=own(perceptron), engine=engine, dtype="float64", batch_size=4
    )
    ours = ImageTask(partition=division, network=MLP(SHAPE, CLASSES, (6,)), dtype="float64", batch_size=4)
    stream = np.random.default_rng
    models = ours.initial_models(2, (), stream(0))
    clients = torch.arange(6)
    points = models[clients % 2]
    for ask in (
        lambda task: task.losses(models, clients, stream(1)),
        lambda task: task.gradients(points, clients, stream(2)),
        lambda task: task.scores(models).losses,
        lambda task: task.hessian_products(points, points.flip(0), clients, stream(3)),
        lambda task: task.local_training(
            points, None, None, clients, stream(4), step_size=0.1, momentum=0.5, proximal=0.0, local_steps=3
        )[0],
    ):
        torch.testing.assert_close(ask(own_task), ask(ours), rtol=1e-10, atol=1e-12)


def test_several_threads_give_the_bits_of_one() -> None:
    data = made_set(400, 40, classes=CLASSES)
    division = partition("label-shift", data, seed=0, clusters=2, clients_per_cluster=20)
    task = ImageTask(partition=division, network=own(perceptron))
    models, clients = task.initial_models(2, (), np.random.default_rng(0)), torch.arange(40)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 4):
            torch.set_num_threads(threads)
            found.append(task.losses(models, clients, np.random.default_rng(1)))
            found.append(task.gradients(models[clients % 2], clients, np.random.default_rng(1)))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0], found[2])
    assert torch.equal(found[1], found[3])


def test_models_start_as_the_module_does_and_apart() -> None:
    network = own(perceptron)
    models = network.initial((3,), np.random.default_rng(5))
    assert len(np.unique(models[:, 0])) == 3
    seed = int(np.random.default_rng(5).integers(2**63))
    torch.manual_seed(seed)
    expected = torch.cat([value.detach().ravel() for value in perceptron().parameters()])
    np.testing.assert_array_equal(models[0], expected.double().numpy())
    instance = perceptron()
    again = ModuleNetwork(
        SHAPE,
        CLASSES,
        label="",
        options={},
        make=maker("m", instance, SHAPE, CLASSES, {}),
        found=network.found,
    )
    assert np.array_equal(again.initial((3,), np.random.default_rng(5)), models)


def test_a_module_that_cannot_start_again_is_refused() -> None:
    class Bare(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(36, CLASSES))

        def forward(self, samples: Tensor) -> Tensor:
            return samples.flatten(1) @ self.weight

    with pytest.raises(InvalidArgument, match="reset_parameters"):
        probe("m", maker("m", Bare(), SHAPE, CLASSES, {}), SAMPLES, CLASSES)
