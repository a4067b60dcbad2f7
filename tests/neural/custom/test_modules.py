"""Users' modules: which are refused and why, and that the others train as plain autograd trains them."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from small_images import client_data, random_partition
from torch import Tensor, nn

from clusterproof.algorithms import Descent
from clusterproof.common import InvalidArgument
from clusterproof.neural.custom.module_network import ModuleNetwork, initialised, maker, own_network
from clusterproof.neural.data.images import Images
from clusterproof.neural.networks import MLP
from clusterproof.neural.task import ImageTask


class Positions(nn.Module):
    """Constant buffers and a frozen layer; with ``by_sum`` a branch on values, which vmap does not take."""

    def __init__(self, by_sum: bool = False) -> None:
        super().__init__()
        self.register_buffer("positions", torch.linspace(-1, 1, 16))
        self.register_buffer("order", torch.arange(15, -1, -1))
        self.frozen, self.head, self.by_sum = nn.Linear(16, 5), nn.Linear(5, 3), by_sum
        self.frozen.requires_grad_(False)

    def forward(self, images: Tensor) -> Tensor:
        """Scores."""
        values = self.frozen(images.flatten(1)[:, self.order] + self.positions)
        if self.by_sum and float(values.sum()) > 1e9:
            values = -values
        return self.head(torch.tanh(values))


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 3)
        self.second.weight = self.first.weight

    def forward(self, images: Tensor) -> Tensor:
        """Scores."""
        return self.head(self.second(torch.tanh(self.first(images.flatten(1)))))


class Odd(nn.Module):
    """Parameters that nothing initialises again, and on which the scores do not depend."""

    def __init__(self) -> None:
        super().__init__()
        self.spare, self.head = nn.Parameter(torch.ones(3)), nn.Linear(16, 3)

    def forward(self, images: Tensor) -> Tensor:
        """Scores."""
        return self.head(images.flatten(1))


def layers(*between: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 6), *between, nn.Linear(6, 3))


REFUSED: dict[str, tuple[Any, str]] = {
    "batch statistics": (lambda: layers(nn.BatchNorm1d(6)), "changes its buffer"),
    "batch statistics, not kept": (
        lambda: layers(nn.BatchNorm1d(6, track_running_stats=False)),
        "Expected more than 1 value",
    ),
    "mean of the batch": (lambda: layers(Centred()), "in a batch and by itself"),
    "dropout": (lambda: layers(nn.Dropout(0.5)), "draws random numbers"),
    "no parameters": (lambda: nn.Flatten(), "has no trainable parameters. Add some"),
    "too few scores": (lambda: nn.Sequential(nn.Flatten(), nn.Linear(16, 2)), "scores of shape"),
    "a parameter without effect": (Odd, "not have been used in the graph"),
    "lazy": (lambda: nn.Sequential(nn.Flatten(), nn.LazyLinear(3)), "uninitialized parameter"),
    "an error": (lambda: nn.Linear(5, 3), "raised RuntimeError"),
}


class Centred(nn.Module):
    """Values less their mean over the batch."""

    def forward(self, values: Tensor) -> Tensor:
        """Centred values."""
        return values - values.mean(0)


def network(make: Any) -> ModuleNetwork:
    samples = torch.as_tensor(np.random.default_rng(0).random((4, 1, 4, 4)), dtype=torch.float32)
    return ModuleNetwork("mine:Net", {"width": 6}, make, samples, 3)


@pytest.mark.parametrize(("make", "words"), REFUSED.values(), ids=REFUSED)
def test_modules_that_are_no_function_of_parameters_and_sample_are_refused(make: Any, words: str) -> None:
    with pytest.raises(InvalidArgument, match=words) as refusal:
        network(make)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("make", "engine"),
    [
        (Positions, "vmap"),
        (Positions, "serial"),
        (Tied, "vmap"),
        (Tied, "serial"),
        (lambda: Positions(by_sum=True), "auto"),
        (lambda: layers(nn.BatchNorm1d(6).eval(), nn.Dropout(0.0)), "vmap"),
    ],
    ids=["vmap", "serial", "tied, vmap", "tied, serial", "not for vmap", "in evaluation mode"],
)
def test_other_modules_train_as_by_plain_autograd(make: Any, engine: str) -> None:
    net = network(make)
    partition = random_partition((7, 3, 5))
    task = ImageTask(partition=partition, network=net, engine=engine, dtype="float64")
    points = task.initial_models(3, (), np.random.default_rng(2))
    ends = task.local_steps(points, torch.arange(3), np.random.default_rng(3), Descent(0.3, 3, 0.5)).points
    for client in range(3):
        module = net.module.double()
        trained = [value for value in module.parameters() if value.requires_grad]
        nn.utils.vector_to_parameters(points[client].clone(), trained)
        optimiser = torch.optim.SGD(trained, lr=0.3, momentum=0.5)
        images, targets = client_data(partition.train, client, torch.float64)
        for _ in range(3):
            optimiser.zero_grad()
            nn.functional.cross_entropy(module(images), targets).backward()
            optimiser.step()
        expected = nn.utils.parameters_to_vector(trained).detach()
        torch.testing.assert_close(ends[client], expected, rtol=1e-10, atol=1e-12)


def test_models_start_apart_by_the_given_generator_alone() -> None:
    """Torch's own generator stays where it is, and the first layer's entries have torch's law."""
    before = torch.get_rng_state()
    net = network(lambda: layers(nn.Tanh()))
    assert net.settings == {"network": "mine:Net", "width": 6}
    assert copy.deepcopy(net).module is not net.module  # threads write to their copies
    models = net.initial((30,), np.random.default_rng(4))
    assert torch.equal(torch.get_rng_state(), before)
    assert len(np.unique(models, axis=0)) == 30
    assert np.array_equal(models, net.initial((30,), np.random.default_rng(4)))
    assert stats.kstest(4 * models[:, :96].ravel(), "uniform", (-1, 2)).pvalue > 1e-6


def test_a_module_that_vmap_does_not_take_is_refused_by_that_engine() -> None:
    with pytest.raises(InvalidArgument, match="Use 'serial'"):
        ImageTask(partition=random_partition((3, 3)), network=network(lambda: Positions(True)), engine="vmap")


def test_a_module_that_is_given_itself_is_initialised_again() -> None:
    """With the numbers that making it once more draws."""
    given = layers(nn.Tanh())
    before = [value.clone() for value in given.parameters()]
    again = initialised(maker("own", given, (1, 4, 4), 3, {}), 5)
    fresh = initialised(lambda: layers(nn.Tanh()), 5)
    assert all(torch.equal(*pair) for pair in zip(again.parameters(), fresh.parameters(), strict=True))
    assert all(torch.equal(*pair) for pair in zip(given.parameters(), before, strict=True))
    apart = initialised(lambda: layers(nn.Tanh()), 6)
    assert not any(torch.equal(*pair) for pair in zip(apart.parameters(), fresh.parameters(), strict=True))


def test_an_attention_that_is_given_starts_as_torch_makes_it() -> None:
    """It sets the bias of a layer that it holds to 0 when that has drawn its own; it has no `reset_parameters`."""

    def held() -> nn.Module:
        return nn.Sequential(nn.TransformerEncoderLayer(6, 2, 5), nn.Linear(6, 3))

    again = initialised(maker("own", held(), (1, 4, 4), 3, {}), 5)
    fresh = initialised(held, 5)
    for (name, drawn), value in zip(again.named_parameters(), fresh.parameters(), strict=True):
        assert torch.equal(drawn, value), name


@pytest.mark.parametrize(
    ("given", "words"),
    [(Odd(), "contains Odd without"), (3, "must be a torch.nn.Module"), (lambda: 3, "not a int")],
)
def test_other_objects_make_no_network(given: Any, words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        maker("own", given, (1, 4, 4), 3, {})()


def test_a_class_of_networks_is_made_for_the_images_with_its_options() -> None:
    images = Images(np.zeros((2, 3, 4, 5), np.uint8), np.arange(2), 7)
    made = own_network("clusterproof.neural.networks:MLP", images, {"hidden": (6,)})
    assert isinstance(made, MLP)
    assert made.dimension == (3 * 4 * 5 + 1) * 6 + (6 + 1) * 7
