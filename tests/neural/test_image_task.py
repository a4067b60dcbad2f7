"""What an image task refuses, and which engine it takes."""

import json
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from small_images import random_partition

from clusterproof.algorithms import Descent, FedAvg
from clusterproof.common import InvalidArgument
from clusterproof.neural.client_data import check_images
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.engines import choose_engine
from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.task import ImageTask
from clusterproof.running import run

PARTITION = random_partition((7, 3, 12, 12, 1))
NETWORK = MLP((1, 4, 4), 3, (6,))
CLIENTS = torch.arange(5)
IMAGES = (1, 28, 28)


def make(**options):
    return ImageTask(**{"partition": PARTITION, "network": NETWORK, **options})


@pytest.mark.parametrize(
    ("network", "device", "expected"),
    [
        (MLP(IMAGES, 10), "cuda", "vmap"),
        (MLP(IMAGES, 10), "cpu", "serial"),
        (MLP(IMAGES, 10, (20,)), "cpu", "vmap"),
        (CNN(IMAGES, 10), "cpu", "serial"),
        (CNN(IMAGES, 10), "cuda", "vmap"),
    ],
)
def test_the_engine_follows_from_network_and_device(network, device, expected):
    assert choose_engine("auto", network, device).name == expected


def test_settings_are_json():
    task = make(batch_size=4, local_unit="epoch", dtype="float64")
    found = json.loads(json.dumps(task.settings))
    assert found == {
        "task": "image",
        "partition": {"data": "random", "seed": 0},
        "network": "mlp",
        "hidden": [6],
        "batch_size": 4,
        "local_unit": "epoch",
        "device": "cpu",
        "dtype": "float64",
        "engine": "vmap",
    }
    for seen in ({"standardise": True}, {"flip": True, "augmentation_per": "batch"}):
        assert make(preprocessing=Preprocessing(**seen)).settings["preprocessing"] == seen


@pytest.mark.slow(reason="a second or more")
@pytest.mark.parametrize(("batch_size", "refused"), [(12, False), (11, True), (3, True), (None, False)])
def test_a_single_gradient_is_no_pass_where_one_client_has_several_batches(batch_size, refused):
    task = make(batch_size=batch_size, local_unit="epoch")
    points = torch.zeros(5, NETWORK.dimension)
    if refused:
        with pytest.raises(InvalidArgument, match="local_unit is 'epoch'"):
            task.gradients(points, CLIENTS, np.random.default_rng(0))
    else:
        assert task.gradients(points, CLIENTS, np.random.default_rng(0)).shape == points.shape


@pytest.mark.parametrize("half", ["training", "test"])
def test_clients_without_samples_are_refused(half):
    sizes = {"sizes": (3, 0, 2)} if half == "training" else {"sizes": (3, 1, 2), "test_sizes": (3, 0, 2)}
    with pytest.raises(InvalidArgument, match=f"every client {half} samples; client 1 has none"):
        make(partition=random_partition(**sizes))


def test_pixels_stay_bytes():
    """The images of a task take their own size and no more, also when they have been used."""
    task = make()
    task.losses(task.initial_models(2, (), np.random.default_rng(0)), CLIENTS, np.random.default_rng(0))
    kept = [value for value in vars(task._train).values() if isinstance(value, torch.Tensor)]
    assert not any(tensor.is_floating_point() for tensor in kept)
    pixels = sum(tensor.nbytes for tensor in kept if tensor.dtype == torch.uint8)
    assert pixels == PARTITION.train.pixels.nbytes


def test_convolutions_on_a_gpu_are_exact_and_repeatable():
    """The switches of torch, which are there without a GPU too; they are put back, even after an error."""
    cudnn, found = torch.backends.cudnn, []

    def switches():
        return cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32

    class Noting(MLP):
        def forward(self, images):
            found.append(switches())
            raise ZeroDivisionError

    before, task = switches(), make(network=Noting((1, 4, 4), 3, (6,)))
    models = task.initial_models(5, (), np.random.default_rng(0))
    calls = (
        lambda: task.losses(models, CLIENTS, np.random.default_rng(0)),
        lambda: task.scores(models),
        lambda: task.accuracies(models, CLIENTS),
        lambda: task.gradients(models, CLIENTS, np.random.default_rng(0)),
        lambda: task.gradient_sums(models, CLIENTS, CLIENTS, np.random.default_rng(0)),
        lambda: task.losses_and_gradients(models, CLIENTS, np.random.default_rng(0)),
        lambda: task.hessian_products(models, models, CLIENTS, np.random.default_rng(0)),
        lambda: task.local_steps(models, CLIENTS, np.random.default_rng(0), Descent(0.1)),
        lambda: task.local_sums(models, CLIENTS, CLIENTS, np.random.default_rng(0), Descent(0.1)),
    )
    for call in calls:
        with pytest.raises(ZeroDivisionError):
            call()
    assert found == [(True, False, True, False)] * len(calls)
    assert switches() == before


def test_replicates_are_refused_with_a_remedy():
    with pytest.raises(InvalidArgument, match=r"replicates is 3.*call the function once per seed"):
        run(FedAvg(step_size=0.1), make(), rounds=1, replicates=3)


@pytest.mark.parametrize(
    ("shape", "network", "flip", "refused"),
    [
        ((5, 5, 4), CNN, False, True),
        ((5, 5, 4), MLP, True, True),
        ((5, 5, 4), MLP, False, False),  # which takes samples of any shape
        *((shape, CNN, False, False) for shape in ((4, 4, 4), (5, 5, 5), (5, 4, 4))),
    ],
)
def test_squares_before_at_most_four_channels_are_channels_last(shape, network, flip, refused) -> None:
    made = CNN(shape, 3, (1, 1), (), (2, 2)) if network is CNN else MLP(shape, 3)
    with pytest.raises(InvalidArgument, match="channels to the front") if refused else nullcontext():
        check_images(random_partition((2, 2), image_shape=shape), made, Preprocessing(flip=flip))
