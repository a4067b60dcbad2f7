"""What an image task refuses, which engine it takes, and how it lives with little memory."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from local_training import local_training
from small_images import random_partition
from threadpoolctl import threadpool_info

from clusterproof.algorithms import FedAvg, InvalidArgument, run
from clusterproof.neural import image_clients
from clusterproof.neural.client_data import ClientData, padded_widths
from clusterproof.neural.engines import choose_engine
from clusterproof.neural.engines.chunks import exact_products
from clusterproof.neural.engines.gram import GramEngine, multiply
from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.task import ImageTask

PARTITION = random_partition((7, 3, 12, 12, 1))
NETWORK = MLP((1, 4, 4), 3, (6,))
CLIENTS = torch.arange(5)
IMAGES = (1, 28, 28)


def make(**options):
    return ImageTask(**{"partition": PARTITION, "network": NETWORK, **options})


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"dtype": "float16"}, "dtype"),
        ({"local_unit": "pass"}, "local_unit"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 2.5}, "batch_size"),
        ({"chunk": 0}, "chunk"),
        ({"engine": "fastest"}, "engine"),
        ({"precision": "tf32"}, "precision"),
        ({"precision": "bf16"}, "precision"),
        ({"precision": "half"}, "precision"),
        ({"device": "tpu"}, "device"),
        ({"device": "meta"}, "device"),
        ({"network": MLP((1, 4, 5), 3)}, "network"),
        ({"network": MLP((1, 4, 4), 4)}, "network"),
    ],
)
def test_bad_arguments_are_refused(options, argument):
    with pytest.raises(InvalidArgument) as caught:
        make(**options)
    assert caught.value.argument == argument


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_refused():
    with pytest.raises(InvalidArgument, match="device"):
        make(device="cuda")


def test_channels_come_first():
    partition = random_partition((3, 3), image_shape=(16, 16, 3))
    network = CNN((16, 16, 3), 3, (2, 2), (3,), padding=(4, 4))
    with pytest.raises(InvalidArgument, match=r"^data = .*\(n, C, H, W\)"):
        ImageTask(partition=partition, network=network)
    few_pixels = (8, 4, 4)
    ImageTask(
        partition=random_partition((3, 3), image_shape=few_pixels),
        network=CNN(few_pixels, 3, (2, 2), (3,), padding=(2, 2)),
    )


def test_gram_matrices_are_for_perceptrons():
    partition = random_partition((3, 3), image_shape=(1, 16, 16))
    with pytest.raises(InvalidArgument, match="gram"):
        ImageTask(partition=partition, network=CNN((1, 16, 16), 3, (2, 2), (3,)), engine="gram")


@pytest.mark.parametrize(
    ("network", "batches", "samples", "device", "expected"),
    [
        (MLP(IMAGES, 10), "full", 100, "cpu", "gram"),
        (MLP(IMAGES, 10), "full", 100, "cuda", "vmap"),
        (MLP(IMAGES, 10), "full", 1568, "cpu", "gram"),
        (MLP(IMAGES, 10), "full", 1569, "cpu", "vmap"),
        (MLP(IMAGES, 10), "full", 1569, "cuda", "vmap"),
        (MLP(IMAGES, 10), "epochs", 784, "cpu", "gram"),
        (MLP(IMAGES, 10), "epochs", 785, "cpu", "vmap"),
        (MLP(IMAGES, 10), "steps", 100, "cpu", "vmap"),
        (MLP(IMAGES, 10), "steps", 100, "cuda", "vmap"),
        (CNN(IMAGES, 10), "full", 100, "cpu", "serial"),
        (CNN(IMAGES, 10), "epochs", 100, "cpu", "serial"),
        (CNN(IMAGES, 10), "steps", 100, "cuda", "vmap"),
    ],
)
def test_the_engine_follows_from_network_batches_and_device(network, batches, samples, device, expected):
    options = {"samples": samples, "full_batch": batches == "full", "epochs": batches == "epochs"}
    assert choose_engine("auto", network, device, **options).name == expected
    assert choose_engine("auto", network, device, mixed=True, **options).name != "gram"


def test_settings_are_json_and_make_the_task_again():
    task = make(batch_size=4, local_unit="epoch", dtype="float64", chunk=2)
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
        "engine": "gram",
        "precision": "highest",
    }
    fields = {field.name for field in dataclasses.fields(ImageTask)}
    options = {key: value for key, value in found.items() if key in fields - {"partition", "network"}}
    assert make(**options).settings == task.settings


def test_a_batch_of_everything_is_a_full_batch():
    assert make(batch_size=12).chosen_engine.name == "gram"
    assert make(batch_size=11).chosen_engine.name == "vmap"


def train(task):
    points = task.initial_models(5, (), np.random.default_rng(0))
    return local_training(
        task,
        points,
        None,
        points,
        CLIENTS,
        np.random.default_rng(1),
        step_size=0.3,
        momentum=0.5,
        proximal=0.2,
        local_steps=3,
    )


@pytest.fixture
def sizes(plant):
    """Numbers of clients that are loaded at a time."""
    load, found = ClientData.whole, []

    def recorded(self, clients, *arguments):
        found.append(len(clients))
        return load(self, clients, *arguments)

    plant(ClientData, "whole", recorded)
    return found


def test_a_chunk_uses_half_of_the_free_memory(plant, sizes):
    """At 2 clients' worth of free memory one goes at a time, at 6 three, at plenty all of them."""
    partition = random_partition((8,) * 7)
    task = make(partition=partition, engine="vmap")
    a_client = 4 * (8 * (16 + 2 * NETWORK.activations) + 5 * NETWORK.dimension + 8 * 8)
    points = task.initial_models(7, (), np.random.default_rng(0))
    for worth, expected in ((0, [1] * 7), (2, [1] * 7), (6, [3, 3, 1]), (1000, [7])):
        sizes.clear()
        plant(image_clients, "free_bytes", lambda device, worth=worth: worth * a_client)
        task.gradients(points, torch.arange(7), np.random.default_rng(0))
        assert sizes == expected
    sizes.clear()
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        plant(image_clients, "free_bytes", lambda device: 8 * a_client)
        task.gradients(points, torch.arange(7), np.random.default_rng(0))
    finally:
        torch.set_num_threads(before)
    assert max(sizes) == 2, "threads share the memory"


@pytest.mark.parametrize(
    ("engine", "chunk", "shared"),
    [("vmap", None, [3, 2]), ("vmap", 2, [2, 1, 2]), ("serial", None, [1] * 5), ("serial", 4, [1] * 5)],
)
def test_clients_of_similar_size_share_a_chunk_where_they_are_padded(engine, chunk, shared, sizes):
    task = make(partition=random_partition((8, 5, 8, 7, 6)), engine=engine, chunk=chunk)
    task.gradients(task.initial_models(5, (), np.random.default_rng(0)), CLIENTS, np.random.default_rng(0))
    assert sizes == shared


def test_data_of_similar_size_are_padded_alike():
    sizes = np.array([100, 71, 70, 50, 36, 35, 3, 1])
    widths = padded_widths(sizes)
    assert (widths >= sizes).all()
    assert (widths <= np.ceil(np.sqrt(2) * sizes) + 1).all()
    assert widths.tolist() == [100, 71, 71, 50, 36, 36, 3, 1]
    assert padded_widths(np.full(4, 37)).tolist() == [37] * 4


def test_pixels_stay_bytes(plant):
    """The images of a task take their own size and no more, also when they have been used."""
    used = []

    def recorded(data, *arguments):
        used.append(data)
        return load(data, *arguments)

    load = plant(ClientData, "whole", recorded)
    train(make())
    kept = [value for value in vars(used[0]).values() if isinstance(value, torch.Tensor)]
    assert not any(tensor.is_floating_point() for tensor in kept if tensor.ndim)
    pixels = sum(tensor.nbytes for tensor in kept if tensor.dtype == torch.uint8)
    assert pixels == PARTITION.train.pixels.nbytes


def test_gram_matrices_are_kept_from_round_to_round():
    """One a client; what is kept changes no bit."""
    task = make(partition=random_partition((8,) * 5))
    first = train(task)
    engine = task.chosen_engine
    assert isinstance(engine, GramEngine)
    kept = dict(engine._grams)
    assert len(kept) == 5
    second = train(task)
    assert all(engine._grams[key] is matrix for key, matrix in kept.items())
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("precision", ["highest", "tf32"])
def test_products_on_a_gpu_are_as_exact_as_asked_for_and_repeatable(precision):
    """The switches of torch, which are there without a GPU too; they are put back, even after an error."""
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul

    def switches():
        return cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32, matmul.allow_tf32

    before = switches()
    coarse = precision == "tf32"
    found = []

    def fail():
        with exact_products(torch.device("cuda"), precision):
            found.append(switches())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert found == [(True, False, True, coarse, coarse)]
    assert switches() == before


def test_replicates_are_refused_with_a_remedy():
    with pytest.raises(InvalidArgument, match=r"replicates = 3: .*call once a seed"):
        run(FedAvg(step_size=0.1), make(), rounds=1, replicates=3)


def test_products_on_a_cpu_are_of_one_thread():
    def threads():
        return {
            torch.get_num_threads(),
            *(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"),
        }

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with exact_products(torch.device("cpu"), "highest"):
            assert threads() == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_products_elsewhere_than_on_a_cpu_are_of_the_same_matrices():
    left, right = (torch.empty(shape, device="meta") for shape in ((5, 2, 3), (5, 3, 4)))
    assert multiply(left, right).shape == (5, 2, 4)


def test_products_warn_of_nothing_where_they_are_not_finite():
    """The tests turn NumPy's warnings into errors."""
    assert multiply(torch.tensor([[torch.inf, 1e38]]), torch.tensor([[0.0], [1e38]])).isnan().all()
