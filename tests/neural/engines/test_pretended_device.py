"""Rounds on a GPU where there is none: all kinds of clients, images and engines, and what ends a run."""

import numpy as np
import pytest
import torch
from pretended_device import COUNTS, OnDevice, pretended_device
from small_images import random_partition

from clusterproof.algorithms import ALGORITHMS, InvalidArgument, Randomness, run
from clusterproof.algorithms.parts.finiteness import check_finite, one_look, require
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.networks import CNN, MLP, ResNet20, TutorialCNN
from clusterproof.neural.task import ImageTask

pytestmark = pytest.mark.slow(reason="an engine that only a device would use")

UNEQUAL = [
    ("ifca", {"averaging": "model", "participation": 0.7}),
    ("cfl-mgd", {"momentum": 0.7, "averaging": "model"}),
    ("fedprox", {"proximal": 0.3, "weighting": "samples"}),
    ("fedbcd", {"proximal": 0.4}),
    ("per-fedavg", {}),
    ("per-fedavg", {"gradient": "second-order"}),
    ("gradient-loss", {}),
]


@pytest.mark.parametrize(
    "how", [{}, {"batch_size": 3}, {"batch_size": 3, "local_unit": "epoch"}], ids=["all", "steps", "epochs"]
)
@pytest.mark.parametrize(("name", "options"), UNEQUAL, ids=str)
def test_clients_of_unequal_sizes_go_the_same_way(name, options, how):
    """The numbers are those of the CPU, nothing is copied, and more clients need no more launches."""
    if how.get("local_unit") and name in ("per-fedavg", "gradient-loss"):
        pytest.skip("asks for single gradients")
    given = options if name == "gradient-loss" else {**options, "local_steps": 2}
    launches = []
    for sizes in ((8, 3, 5, 8, 1, 6), (8, 3, 5, 8, 1, 6, 7, 2, 8)):

        def states(device, sizes=sizes):
            partition = random_partition(sizes, test_sizes=sizes[::-1])
            network = MLP((1, 4, 4), 3, (6,))
            task = ImageTask(partition=partition, network=network, device=device, dtype="float64", **how)
            algorithm = ALGORITHMS[name](step_size=0.3, **given)
            randomness = Randomness.from_seed(0, "test")
            models = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
            state = algorithm.step(algorithm.initialise(models, task), task, randomness)
            task.scores(state.models)
            with one_look():
                COUNTS.clear()
                state = algorithm.step(state, task, randomness)
                found = task.scores(state.models)
                assert not COUNTS.transfers
                assert not COUNTS.synchronisations
                launches.append(sum(COUNTS.launches.values()))
            return state.models, found.losses, found.accuracies

        with pretended_device():
            found = states("cuda")
        for ours, theirs in zip(found, states("cpu"), strict=True):
            torch.testing.assert_close(ours.data_here, theirs, rtol=0, atol=1e-13)
    assert launches[::2] == [launches[0]] * 2


DISTORTED = [
    ("fedavg", {}, CNN((1, 16, 16), 3, (2, 3), (5,)), {"flip": True, "contrast": 0.5}),
    (
        "ifca",
        {"averaging": "model"},
        TutorialCNN((1, 12, 12), 3),
        {"crop": 12, "flip": True, "augmentation_per": "batch"},
    ),
    (
        "cfl-mgd",
        {"averaging": "model", "momentum": 0.5},
        MLP((1, 12, 12), 3, (6,)),
        {"crop": 12, "brightness": 0.3, "standardise": True},
    ),
    ("per-fedavg", {}, MLP((1, 16, 16), 3, (6,)), {"contrast": 0.5}),
    ("per-fedavg", {"gradient": "second-order"}, MLP((1, 16, 16), 3, (6,)), {"contrast": 0.5}),
    ("per-fedavg", {}, CNN((1, 16, 16), 3, (2, 3), (5,)), {"flip": True}),
    ("gradient-loss", {}, MLP((1, 16, 16), 3, (6,)), {"flip": True}),
]


@pytest.mark.parametrize(
    ("name", "options", "network", "seen"), DISTORTED, ids=lambda one: getattr(one, "name", None)
)
@pytest.mark.parametrize("sizes", [(8, 8, 8), (8, 3, 5)], ids=str)
def test_distorted_images_are_drawn_where_they_are(name, options, network, seen, sizes):
    """Nothing is copied and nobody waits, also where sizes differ, and the numbers are those of the CPU."""
    models = {}
    for device in ("cuda", "cpu"):
        with pretended_device() as counts:
            task = ImageTask(
                partition=random_partition(sizes, image_shape=(1, 16, 16)),
                network=network,
                batch_size=3,
                device=device,
                dtype="float64",
                local_unit="step" if name in ("per-fedavg", "gradient-loss") else "epoch",
                preprocessing=Preprocessing(**seen),
            )
            algorithm = ALGORITHMS[name](step_size=0.3, participation=0.67, **options)
            randomness = Randomness.from_seed(0, "test")
            models[device] = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
            state = algorithm.initialise(models[device], task)
            with one_look():
                counts.clear()
                models[device] = algorithm.step(state, task, randomness).models
                assert not counts.transfers
                assert not counts.synchronisations
    torch.testing.assert_close(models["cuda"].data_here, models["cpu"], rtol=0, atol=1e-13)


SERIAL = [
    (MLP((1, 16, 16), 3, (6,)), {"batch_size": 3}),
    (CNN((1, 16, 16), 3, (2, 3), (5,)), {"batch_size": 3, "local_unit": "epoch"}),
    (CNN((1, 16, 16), 3, (2, 3), (5,)), {}),
]


@pytest.mark.parametrize("name", ["fedavg", "cfl-mgd", "per-fedavg"])
@pytest.mark.parametrize(("network", "how"), SERIAL, ids=str)
def test_one_client_after_the_other_asks_for_no_sizes(network, how, name):
    """What ``auto`` takes on a device for a network that ``vmap`` does not: slow, but as silent as the others."""
    if how.get("local_unit") and name == "per-fedavg":
        pytest.skip("asks for single gradients")
    models = {}
    for device in ("cuda", "cpu"):
        with pretended_device() as counts:
            partition = random_partition((8, 3, 5, 1), image_shape=(1, 16, 16))
            task = ImageTask(
                partition=partition, network=network, engine="serial", device=device, dtype="float64", **how
            )
            given = {"momentum": 0.6, "averaging": "model"} if name == "cfl-mgd" else {}
            algorithm = ALGORITHMS[name](step_size=0.3, local_steps=2, participation=0.75, **given)
            randomness = Randomness.from_seed(0, "test")
            start = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
            state = algorithm.initialise(start, task)
            with one_look():
                counts.clear()
                models[device] = algorithm.step(state, task, randomness).models
                assert not counts.transfers
                assert not counts.synchronisations
    torch.testing.assert_close(models["cuda"].data_here, models["cpu"], rtol=0, atol=1e-13)


def test_gram_matrices_by_name_ask_the_host_for_sizes():
    """Where clients take differently many steps, for which ``auto`` takes another engine on a device."""
    models = {}
    for device in ("cuda", "cpu"):
        with pretended_device() as counts:
            partition = random_partition((8, 3, 5, 1), image_shape=(1, 8, 8))
            given = {"network": MLP((1, 8, 8), 3, (6,)), "batch_size": 3, "local_unit": "epoch"}
            task = ImageTask(partition=partition, engine="gram", device=device, dtype="float64", **given)
            algorithm = ALGORITHMS["fedavg"](step_size=0.3, local_steps=2)
            randomness = Randomness.from_seed(0, "test")
            state = algorithm.initialise(task.initial_models(1, (), randomness.initialisation), task)
            counts.clear()
            models[device] = algorithm.step(state, task, randomness).models
            assert bool(counts.transfers) == (device == "cuda")
    torch.testing.assert_close(models["cuda"].data_here, models["cpu"], rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("name", "options", "step_size", "seed"),
    [
        ("fedprox", {"proximal": 0.3}, 1e100, 1),
        ("fedbcd", {}, 1e30, 2),
        ("per-fedavg", {}, 1e60, 0),
        ("cfl", {"warm_up": 1}, 1e100, 1),
        ("sofl", {"pretraining": 2, "updates": 20, "grid": 2}, 1e100, 1),
        ("fpfc", {"local_steps": 1}, 1e30, 2),
        ("gradient-loss", {"clusters": 1}, 1e100, 1),
    ],
    ids=str,
)
def test_a_run_that_diverges_ends_in_the_same_round_with_the_same_words(name, options, step_size, seed):
    """Where the host looks once a round as where it looks at once."""
    ends = []
    for device in ("cpu", "cuda"):
        with pretended_device():
            task = ImageTask(
                partition=random_partition((8,) * 6),
                network=MLP((1, 4, 4), 3, (12, 10)),
                device=device,
                dtype="float64",
            )
            done = []
            with (
                np.errstate(all="ignore"),
                pytest.raises(InvalidArgument, match="must keep every client's model finite") as caught,
            ):
                run(
                    ALGORITHMS[name](step_size=step_size, **options),
                    task,
                    rounds=9,
                    seed=seed,
                    progress=done.append,
                )
            ends.append((len(done), str(caught.value)))
    assert ends[0] == ends[1]
    assert ends[0][0] >= 1, "the first round was still finite"


def test_a_check_that_failed_is_told_whatever_the_round_stumbles_over_then():
    with pretended_device():
        points = torch.tensor([[1.0, 2.0], [np.nan, 0.0]], device="cuda")
        clients = torch.tensor([3, 5], device="cuda")

        def stumble():
            with one_look():
                check_finite(points, clients, 0.5)
                raise ValueError("NaN in the input")

        def look():
            with one_look():
                check_finite(points[:1], clients[:1], 0.5)
                check_finite(points, clients, 0.5)
                check_finite(points[:1], clients[:1], 0.5)

        for round_ in (stumble, look, lambda: check_finite(points, clients, 0.5)):
            with pytest.raises(InvalidArgument, match="of client 5 is not"):
                round_()

        def fail():
            with one_look():
                check_finite(points[:1], clients[:1], 0.5)
                raise ValueError("of its own")

        with pytest.raises(ValueError, match="of its own"):
            fail()

        def stumble_over_a_sum():
            with one_look():
                require(torch.isfinite(points).all(), lambda: check_finite(points, clients, 0.5))
                raise ValueError("NaN in the input")

        with pytest.raises(InvalidArgument, match="of client 5 is not"):
            stumble_over_a_sum()

        def interrupted():
            with one_look():
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        with pytest.raises(InvalidArgument, match="of client 5 is not"):
            check_finite(points, clients, 0.5)


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
        matrices = there.expand(2, 3, 3)
        for ask, kernels in (
            (lambda: torch.bmm(matrices, matrices), 1),
            (lambda: torch.baddbmm(matrices, matrices, matrices), 2),
            (lambda: matrices.clone().baddbmm_(matrices, matrices), 2),
            (lambda: torch.nn.functional.pad(matrices, (1, 1)), 2),
        ):
            counts.clear()
            ask()
            assert sum(counts.launches.values()) == kernels
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


@pytest.mark.parametrize(
    "network",
    [MLP((1, 4, 4), 3, (5, 4)), ResNet20((1, 4, 4), 3), TutorialCNN((1, 12, 12), 3)],
    ids=lambda one: one.name,
)
def test_a_deep_network_neither_copies_nor_waits(network):
    """Its numbers are those of the CPU; launches are counted elsewhere."""
    sums, before = {}, torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for device in ("cuda", "cpu"):
            with pretended_device() as counts:
                sums[device] = trained_sums(network, device, counts)
                assert not counts.transfers
                assert not counts.synchronisations
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(sums["cuda"].data_here, sums["cpu"], rtol=0, atol=1e-12)


def trained_sums(network, device, counts):
    """Sums of local training of three clients; the counts are of that alone."""
    partition = random_partition((4,) * 3, image_shape=network.image_shape)
    task = ImageTask(partition=partition, network=network, batch_size=2, device=device, dtype="float64")
    models = task.initial_models(1, (), np.random.default_rng(0))
    everybody = torch.arange(3, device=device)
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
        proximal=0.3,
        local_steps=1,
    )[1]
