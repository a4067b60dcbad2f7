"""What a round asks of a GPU: launches, transfers and synchronisations, counted where there is none."""

from collections import Counter

import numpy as np
import pytest
import torch
from pretended_device import OnDevice, pretended_device
from small_images import random_partition

from clusterproof.algorithms import ALGORITHMS, Randomness
from clusterproof.neural.networks import CNN, MLP, ResNet20
from clusterproof.neural.task import ImageTask

SETTINGS = {
    "perceptron": (MLP((1, 16, 16), 3, (6,)), None),
    "deep perceptron": (MLP((1, 16, 16), 3, (6, 5)), None),
    "perceptron, mini-batches": (MLP((1, 16, 16), 3, (6,)), 4),
    "convolutions, mini-batches": (CNN((1, 16, 16), 3, (2, 3), (5,)), 4),
}
LIMITS = {MLP: 30, CNN: 40}
"""Launches of a local step."""

TWO_GRADIENTS = {MLP: 40, CNN: 72}
"""The same of Per-FedAvg: two gradients at different points, each with data of its own."""

RESNET_STEP = 1100
"""The same on ResNet-20, 19 convolutions and as many normalisations by torch's gradients, three quarters backward."""

TRAINING = [
    ("cfl-mgd", {"momentum": 0.7, "averaging": "model"}),
    ("cfl-mgd", {"momentum": 0.7, "averaging": "model", "participation": 0.5, "reset_momentum": True}),
    ("ifca", {"averaging": "model"}),
    ("fedavg", {}),
    ("fedprox", {"proximal": 0.3}),
    ("fedbcd", {"proximal": 0.4}),
    ("fedbcd", {"variant": "separate"}),
    ("local", {"participation": 0.5}),
    ("per-fedavg", {}),
]
"""Algorithms whose clients take local steps, which the server averages."""

OTHERS = [
    ("cfl-mgd", {"momentum": 0.7}),
    ("cfl-mgd", {"momentum": 0.7, "momentum_owner": "client", "update_order": "as-printed"}),
    ("ifca", {}),
    ("per-fedavg", {"gradient": "second-order"}),
    ("gradient-loss", {"weight": 0.5}),
    ("cfl", {"warm_up": 1}),
    ("sofl", {"pretraining": 1, "updates": 20, "grid": 2}),
    ("fpfc", {}),
]

ROUNDS = {MLP: 260, CNN: 500}
"""Launches of a whole round of these."""

LOOKS = {"fedprox": 1, "fedbcd": 1, "per-fedavg": 1, "gradient-loss": 3}
"""Times that a server waits in a round: to see that its clients' models are finite, and in what round it is."""

ON_THE_HOST = ("cfl", "sofl", "fpfc")
"""Algorithms whose server clusters on the host."""


def last_state(setting, name, options, device, clients=6):
    """The state after two rounds; counts are those of the second."""
    network, batch_size = SETTINGS[setting] if isinstance(setting, str) else setting
    partition = random_partition((8,) * clients, image_shape=network.image_shape)
    task = ImageTask(
        partition=partition, network=network, batch_size=batch_size, device=device, dtype="float64"
    )
    algorithm = ALGORITHMS[name](step_size=0.1, **options)
    randomness = Randomness.from_seed(0, "test")
    models = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
    return task, algorithm, algorithm.step(algorithm.initialise(models, task), task, randomness), randomness


def second_round(setting, name, options, clients=6):
    """Its counts, and models on the pretended device and on the CPU."""
    with pretended_device() as counts:
        task, algorithm, state, randomness = last_state(setting, name, options, "cuda", clients)
        counts.clear()
        found = algorithm.step(state, task, randomness).models
        seen = Counter(counts.launches), Counter(counts.transfers), Counter(counts.synchronisations)
    task, algorithm, state, randomness = last_state(setting, name, options, "cpu", clients)
    return seen, found.data_here, algorithm.step(state, task, randomness).models


def check_placement(name, transfers, synchronisations):
    """Nothing is copied and nothing waits inside the task, nor outside where no server clusters on the host."""
    for found in (transfers, synchronisations):
        assert not [line for line in found if line.startswith("neural")], found
    if name not in ON_THE_HOST:
        assert not transfers
        assert sum(synchronisations.values()) == LOOKS.get(name, 0), synchronisations


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(("name", "options"), TRAINING, ids=str)
def test_a_local_step_is_a_few_launches_and_nothing_else(setting, name, options):
    totals = {}
    for clients, steps in ((6, 3), (6, 6), (12, 3)):
        given = {**options, "local_steps": steps}
        (launches, transfers, synchronisations), found, expected = second_round(setting, name, given, clients)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-13)
        check_placement(name, transfers, synchronisations)
        totals[clients, steps] = sum(launches.values())
    limits = TWO_GRADIENTS if name == "per-fedavg" else LIMITS
    assert totals[6, 6] - totals[6, 3] <= 3 * limits[type(SETTINGS[setting][0])]
    assert totals[12, 3] == totals[6, 3], "more clients need no more launches"


@pytest.mark.parametrize("setting", ["perceptron", "convolutions, mini-batches"])
@pytest.mark.parametrize(("name", "options"), OTHERS, ids=str)
def test_every_other_round_waits_only_where_its_server_decides(setting, name, options):
    if setting.startswith("convolutions") and options.get("gradient") == "second-order":
        pytest.skip("a second derivative of pooling makes tensors where the pretended device cannot see it")
    (launches, transfers, synchronisations), found, expected = second_round(setting, name, options)
    assert sum(launches.values()) <= ROUNDS[type(SETTINGS[setting][0])]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-13)
    check_placement(name, transfers, synchronisations)


def test_clients_of_unequal_sizes_go_the_same_way():
    """Which the host must know, to put those of like size together."""
    partition = random_partition((8, 3, 5, 8, 1, 6))

    def rounds(device):
        task = ImageTask(
            partition=partition, network=MLP((1, 4, 4), 3, (6,)), batch_size=3, device=device, dtype="float64"
        )
        algorithm = ALGORITHMS["ifca"](step_size=0.3, averaging="model", local_steps=4, participation=0.7)
        randomness = Randomness.from_seed(0, "test")
        state = algorithm.initialise(task.initial_models(2, (), randomness.initialisation), task)
        for _ in range(3):
            state = algorithm.step(state, task, randomness)
        return state.models, task.scores(state.models).losses

    with pretended_device():
        found = rounds("cuda")
    for ours, theirs in zip(found, rounds("cpu"), strict=True):
        torch.testing.assert_close(ours.data_here, theirs, rtol=0, atol=1e-13)


def test_the_device_counts_and_refuses():
    with pretended_device() as counts:
        here = torch.arange(3.0)
        there = torch.asarray(np.arange(3.0, dtype=np.float32), device="cuda")
        assert isinstance(there, OnDevice)
        assert there.device == torch.device("cuda:0")
        assert sum(counts.transfers.values()) == 1
        for mix in (lambda: there + here, lambda: there.add_(here), lambda: torch.stack([there, here])):
            with pytest.raises(RuntimeError, match="cuda:0 and on cpu"):
                mix()
        with pytest.raises(TypeError, match="numpy"):
            np.asarray(there)
        counts.clear()
        assert isinstance(there[1:].view(2, 1) * 2 + 1, OnDevice)
        assert sum(counts.launches.values()) == 2, "views are free"
        assert not counts.transfers
        assert not counts.synchronisations
        for wait in (
            lambda: there.sum().item(),
            lambda: bool(there[0] > 1),
            lambda: int(there[0]),
            lambda: there[there > 1],
            lambda: torch.nonzero(there),
            there.tolist,
            there.cpu,
        ):
            counts.clear()
            wait()
            assert sum(counts.synchronisations.values()) >= 1


def test_a_deep_network_neither_copies_nor_waits():
    """Its numbers are those of the CPU, and more clients need no more launches."""
    totals, device_threads = {}, torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for clients, steps in ((2, 1), (2, 2), (3, 1)):
            with pretended_device() as counts:
                found = residual_sums("cuda", clients, steps, counts)
                assert not counts.transfers
                assert not counts.synchronisations
                totals[clients, steps] = sum(counts.launches.values())
        torch.testing.assert_close(found.data_here, residual_sums("cpu", 3, 1), rtol=0, atol=1e-12)
    finally:
        torch.set_num_threads(device_threads)
    assert totals[2, 2] - totals[2, 1] <= RESNET_STEP
    assert totals[3, 1] == totals[2, 1]


def residual_sums(device, clients, steps, counts=None):
    """Sums of ResNet-20's local training."""
    partition = random_partition((4,) * clients, image_shape=(1, 4, 4))
    task = ImageTask(
        partition=partition, network=ResNet20((1, 4, 4), 3), batch_size=2, device=device, dtype="float64"
    )
    models = task.initial_models(1, (), np.random.default_rng(0))
    everybody = torch.arange(clients, device=device)
    if counts is not None:
        counts.clear()
    return task.cluster_training(
        models,
        None,
        everybody,
        torch.zeros_like(everybody),
        *(np.random.default_rng(1), np.random.default_rng(2)),
        weights=None,
        step_size=0.1,
        momentum=0.5,
        proximal=0.0,
        local_steps=steps,
    )[1]
