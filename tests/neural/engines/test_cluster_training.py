"""Sums of a round's local training over clusters, without a model for each client."""

import numpy as np
import pytest
import torch
from plain_training import plain_training
from small_images import random_partition
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from clusterproof.algorithms import ALGORITHMS, Descent, Randomness
from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.task import ImageTask

SIZES = (7, 3, 12, 10, 1, 12, 8)
"""Some of which are padded alike, and make unequal numbers of batches of 5."""

WAYS = {
    "gram": (MLP((1, 16, 16), 3, (6,)), "gram", None),
    "gram, deep": (MLP((1, 16, 16), 3, (6, 5)), "gram", None),
    "gram, no hidden layer": (MLP((1, 16, 16), 3, ()), "gram", None),
    "gram, mini-batches": (MLP((1, 16, 16), 3, (6,)), "gram", 5),
    "vmap": (MLP((1, 16, 16), 3, (6,)), "vmap", None),
    "vmap, mini-batches": (MLP((1, 16, 16), 3, (6,)), "vmap", 5),
    "serial, mini-batches": (MLP((1, 16, 16), 3, (6,)), "serial", 5),
    "convolutions": (CNN((1, 16, 16), 3, (2, 3), (5,)), "serial", 5),
    "vmap, convolutions": (CNN((1, 16, 16), 3, (2, 3), (5,)), "vmap", None),
}
MOTIONS = {
    "plain": {"momentum": 0.0, "proximal": 0.0},
    "momentum": {"momentum": 0.9, "proximal": 0.0},
    "carried": {"momentum": 0.7, "proximal": 0.0, "carried": True},
    "carried without momentum": {"momentum": 0.0, "proximal": 0.0, "carried": True},
    "proximal": {"momentum": 0.0, "proximal": 0.4},
    "all": {"momentum": 0.6, "proximal": 0.3, "carried": True},
}


def task_of(way, sizes=SIZES, **options):
    network, engine, batch_size = WAYS[way]
    given = {"dtype": "float64", "local_unit": "epoch", **options}
    partition = random_partition(sizes, image_shape=(1, 16, 16))
    return ImageTask(partition=partition, network=network, engine=engine, batch_size=batch_size, **given)


def sums_of(task, models, buffers, clients, assignments, *, weights=None, momentum, proximal, local_steps=3):
    descent = Descent(0.3, local_steps, momentum, proximal)
    stream = np.random.default_rng(5)
    return task.local_sums(models, clients, assignments, stream, descent, buffers=buffers, weights=weights)


def drawn(task, count=3, carried=False):
    models = task.initial_models(count, (), np.random.default_rng(1))
    noise = np.random.default_rng(2).standard_normal(models.shape)
    return models, 0.05 * torch.as_tensor(noise).to(models.dtype) if carried else None


def add_up(vectors, assignments, like, weights=None):
    sums = torch.zeros_like(like)
    for row, cluster in enumerate(assignments.tolist()):
        sums[cluster] += vectors[row] * (1.0 if weights is None else weights[row])
    return sums


@pytest.mark.parametrize(
    ("way", "motion"),
    [(way, list(MOTIONS)[(i + j) % 6]) for i, way in enumerate(WAYS) for j in (0, 2, 3)],
)
def test_sums_are_those_of_plain_autograd(way, motion):
    """Of weighted clients; one cluster is empty."""
    task, how = task_of(way), dict(MOTIONS[motion])
    models, buffers = drawn(task, 4, how.pop("carried", False))
    clients, assignments = np.array([2, 0, 3, 1, 4, 6]), torch.tensor([0, 2, 2, 0, 3, 2])
    weights = torch.tensor([0.5, 2.0, 1.0, 3.0, 0.25, 1.5], dtype=torch.float64)
    before = [None if one is None else one.clone() for one in (models, buffers)]
    sums, buffer_sums = sums_of(
        task, models, buffers, torch.as_tensor(clients), assignments, weights=weights, **how
    )
    start = models[assignments]
    ends, momenta = plain_training(
        task,
        start,
        None if buffers is None else buffers[assignments],
        start,
        clients,
        np.random.default_rng(5),
        {"step_size": 0.3, "local_steps": 3, **how},
    )
    torch.testing.assert_close(sums, add_up(ends, assignments, models, weights), rtol=0, atol=1e-12)
    assert not sums[1].any()
    if buffer_sums is None:
        assert buffers is None
        assert not how["momentum"]
    else:
        torch.testing.assert_close(
            buffer_sums, add_up(momenta, assignments, models, weights), rtol=0, atol=1e-11
        )
    for one, other in zip((models, buffers), before, strict=True):
        assert one is None or torch.equal(one, other), "the inputs were written to"


@pytest.mark.parametrize("way", WAYS)
def test_the_bits_do_not_depend_on_the_number_of_threads(way):
    """The same clients share a chunk for any number, and chunks are added in one order."""
    # a wave of perceptrons has several chunks
    sizes = SIZES * (3 if WAYS[way][1] == "serial" else 20)

    def results(threads):
        torch.set_num_threads(threads)
        task = task_of(way, sizes, dtype="float32")
        models, buffers = drawn(task, carried=True)
        return sums_of(
            task,
            models,
            buffers,
            torch.arange(len(sizes)),
            torch.arange(len(sizes)) % 3,
            momentum=0.5,
            proximal=0.0,
        )

    for found, known in zip(results(3), results(1), strict=True):
        assert torch.equal(found, known)


class Largest(TorchDispatchMode):
    """Notes the bytes of the largest tensor that any operation reads or makes."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        for leaf in tree_leaves((arguments, keywords, result)):
            if isinstance(leaf, torch.Tensor):
                self.bytes = max(self.bytes, leaf.untyped_storage().nbytes())
        return result


LARGE, CONVOLUTIONS = MLP((1, 16, 16), 3, (40,)), CNN((1, 16, 16), 3, (2, 3), (300,))
MOMENTUM = {"momentum": 0.5, "averaging": "model"}


@pytest.mark.parametrize(
    ("network", "engine", "name", "options"),
    [
        (LARGE, "gram", "cfl-mgd", MOMENTUM),
        (LARGE, "gram", "ifca", {"averaging": "model"}),
        (LARGE, "vmap", "cfl-mgd", MOMENTUM),
        (LARGE, "vmap", "fedprox", {"proximal": 0.2}),
        (CONVOLUTIONS, "serial", "cfl-mgd", MOMENTUM),
        (CONVOLUTIONS, "serial", "fedavg", {}),
    ],
    ids=str,
)
def test_no_array_of_a_model_for_each_client(network, engine, name, options):
    torch.set_num_threads(1)
    clients = 200 if isinstance(network, MLP) else 50
    partition = random_partition((2,) * clients, image_shape=(1, 16, 16))
    task = ImageTask(partition=partition, network=network, engine=engine, dtype="float64")
    algorithm = ALGORITHMS[name](step_size=0.1, local_steps=2, **options)
    randomness = Randomness.from_seed(0, "test")
    models = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
    state = algorithm.initialise(models, task)
    state = algorithm.step(state, task, randomness)
    with Largest() as seen:
        algorithm.step(state, task, randomness)
    assert seen.bytes < clients * task.dimension * 8 / 4
