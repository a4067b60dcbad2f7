"""Losses, scores, gradients and products with Hessians of every engine against plain PyTorch, client by client."""

import itertools
from functools import cache

import numpy as np
import pytest
import torch
from small_images import client_data, drawn_batches, flat, load, module, plain_gradient, random_partition

from clusterproof.common import InvalidArgument
from clusterproof.neural.networks import CNN, MLP, ResNet20
from clusterproof.neural.task import ImageTask

SIZES, TEST_SIZES = (7, 3, 12, 12, 1), (4, 9, 2, 1, 5)
NETWORKS = {
    "mlp": MLP((1, 16, 16), 3, (6,)),
    "cnn": CNN((1, 16, 16), 3, (2, 3), (5,)),
    "padded": CNN((1, 16, 16), 3, (3, 2), (), padding=(2, 1)),
    "resnet": ResNet20((1, 16, 16), 3),
}
PARTITION = random_partition(SIZES, image_shape=(1, 16, 16), test_sizes=TEST_SIZES)
ENGINES = {name: ("serial",) if name == "padded" else ("vmap", "serial") for name in NETWORKS}
CASES = [(name, size) for name in ("mlp", "cnn", "padded") for size in (None, 4, 1)] + [
    pytest.param("resnet", 4, marks=pytest.mark.slow(reason="a large network"))
]
CLIENTS = np.array([4, 0, 2, 3, 1])


def make(way, **options):
    name, engine = way
    given = {"dtype": "float64", "engine": engine, **options}
    return ImageTask(partition=PARTITION, network=NETWORKS[name], **given)


def models_of(task, count, seed=0):
    return task.initial_models(count, (), np.random.default_rng(seed))


def plain_scores(task, point, images):
    model = module(task.network).double()
    load(model, point)
    return model(images).detach()


def batches(task, clients, generator):
    """Images and classes of the batch that a call draws for each client."""
    for client, (chosen,) in zip(clients, drawn_batches(task, clients, generator, 1), strict=True):
        images, targets = client_data(PARTITION.train, client, torch.float64)
        yield images[chosen], targets[chosen]


def stream():
    return np.random.default_rng(3)


def test_a_task_has_the_sizes_of_its_partition():
    task = make(("cnn", "serial"))
    assert (task.clients, task.clusters, task.dimension) == (5, 2, task.network.dimension)
    assert task.reference_optima("clusters") is None
    np.testing.assert_array_equal(task.labels, PARTITION.train.labels)


@pytest.mark.parametrize("way", list(itertools.product(("mlp", "cnn"), ("vmap", "serial"))), ids=str)
def test_losses_scores_and_accuracies_use_all_data(way):
    task = make(way, batch_size=4)
    models = models_of(task, 3, seed=2)
    scores = task.scores(models)
    losses = task.losses(models, torch.tensor([4, 0, 2, 0]), stream())
    expected = torch.empty(2, 5, 3, 2, dtype=torch.float64)
    for half, client_images in enumerate((PARTITION.train, PARTITION.test)):
        for client in range(5):
            images, targets = client_data(client_images, client, torch.float64)
            for place, model in enumerate(models):
                logits = plain_scores(task, model, images)
                expected[half, client, place, 0] = torch.nn.functional.cross_entropy(logits, targets)
                expected[half, client, place, 1] = (logits.argmax(1) == targets).double().mean()
    torch.testing.assert_close(losses, expected[0, [4, 0, 2, 0], :, 0], rtol=0, atol=1e-12)
    torch.testing.assert_close(scores.losses, expected[1, :, :, 0], rtol=0, atol=1e-12)
    torch.testing.assert_close(scores.accuracies, expected[1, :, :, 1], rtol=0, atol=1e-15)
    own = task.accuracies(models, torch.tensor([3, 1, 1]))
    torch.testing.assert_close(own, expected[1, [3, 1, 1], [0, 1, 2], 1], rtol=0, atol=1e-15)


@pytest.mark.parametrize(("name", "batch_size"), CASES, ids=str)
def test_gradients_sums_losses_and_products_with_hessians_are_of_one_batch(name, batch_size):
    tasks = [make((name, engine), batch_size=batch_size) for engine in ENGINES[name]]
    points, clients = models_of(tasks[0], 5), torch.as_tensor(CLIENTS)
    directions = torch.as_tensor(np.random.default_rng(7).standard_normal(points.shape))
    assignments, drawn = torch.tensor([2, 0, 2, 2, 0]), list(batches(tasks[0], CLIENTS, stream()))
    products = [
        plain_gradient(NETWORKS[name], points[row], *drawn[row], along=directions[row])[1] for row in range(5)
    ]

    @cache
    def plain(row, place):
        """Loss and gradient of a client's batch at a point."""
        return plain_gradient(NETWORKS[name], points[place], *drawn[row])

    def same(found, expected):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-11 * expected.norm().clamp(min=1))

    for task in tasks:
        gradients = task.gradients(points, clients, stream())
        along = task.hessian_products(points, directions, clients, stream())
        losses, both = task.losses_and_gradients(points[:2], clients, stream())
        sums = task.gradient_sums(points[:3], clients, assignments, stream())
        expected_sums = torch.zeros_like(points[:3])
        for row, cluster in enumerate(assignments.tolist()):
            same(gradients[row], plain(row, row)[1])
            same(along[row], products[row])
            for place in range(2):
                same(losses[row, place], plain(row, place)[0])
                same(both[row, place], plain(row, place)[1])
            expected_sums[cluster] += plain(row, cluster)[1]
        same(sums, expected_sums)
        assert not sums[1].any(), "a cluster without clients has a sum of zero"


def test_sums_of_many_samples_are_formed_part_by_part(plant):
    from clusterproof.neural import task as module_of_tasks

    task = make(("mlp", "vmap"))
    points, clients, zeros = models_of(task, 1), torch.arange(5), torch.zeros(5, dtype=torch.int64)
    whole = task.gradient_sums(points, clients, zeros, stream()), task.losses(points, clients, stream())
    plant(module_of_tasks, "TOGETHER", {"cpu": 4})
    parts = task.gradient_sums(points, clients, zeros, stream()), task.losses(points, clients, stream())
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-14)


def test_accuracies_of_others_test_data_are_refused():
    partition = random_partition((3, 3), paired=False)
    task = ImageTask(partition=partition, network=MLP((1, 4, 4), 3, (2,)))
    points = models_of(task, 2)
    with pytest.raises(InvalidArgument, match="different clients for training"):
        task.accuracies(points, torch.tensor([0, 1]))
    assert task.scores(points).losses.shape == (2, 2)


@pytest.mark.parametrize(("batch_size", "expected"), [(None, None), (1, 1), (2, None), (12, None)])
def test_samples_of_a_gradient(batch_size, expected):
    assert make(("mlp", "auto"), batch_size=batch_size).samples == expected
    task = ImageTask(partition=random_partition((5, 5)), network=MLP((1, 4, 4), 3), batch_size=batch_size)
    assert task.samples == (5 if batch_size in (None, 12) else batch_size)


def test_starting_models_are_float_tensors_of_the_network_law():
    task = make(("mlp", "auto"), dtype="float32")
    found = task.initial_models(3, (), np.random.default_rng(5))
    expected = task.network.initial((3,), np.random.default_rng(5)).astype(np.float32)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert flat(module(task.network)).shape == found.shape[-1:]
