"""Compiled local steps: the same numbers as without."""

import numpy as np
import pytest
import torch
from small_images import random_partition

from clusterproof.algorithms.arrays import argmin_smallest_index
from clusterproof.algorithms.parts import compiling
from clusterproof.neural.engines import passes, products
from clusterproof.neural.engines.data import ClientData
from clusterproof.neural.engines.gram_form import compiled_walk, gram
from clusterproof.neural.networks import MLP
from clusterproof.neural.task import ImageTask

pytestmark = pytest.mark.slow(reason="an engine that only a device would use")

SIZES, SHAPE = (7, 3, 12, 10, 1, 12, 8), (1, 6, 6)
MOTIONS = {
    "plain": (0.0, False),
    "momentum": (0.9, False),
    "carried": (0.7, True),
    "only carried": (0.0, True),
}
needs_numba = pytest.mark.skipif(not compiling.can_compile(), reason="the extra `fast` is not installed")


def partition(black=0):
    """Clients whose images have so many columns of pixels without light, but for one pixel of client 2's last image."""
    found = random_partition(SIZES, image_shape=SHAPE)
    found.train.pixels[..., :black] = 0
    found.train.pixels[found.train.indices[2, SIZES[2] - 1], 0, 0, 0] = 200
    return found


def sums(task, momentum, carried):
    """Clusters, and sums of models and buffers over them; every client's own model."""
    models = task.initial_models(3, (), np.random.default_rng(1))
    noise = torch.as_tensor(np.random.default_rng(2).standard_normal(models.shape)).to(models.dtype)
    buffers = 0.05 * noise if carried else None
    clients, streams = torch.arange(len(SIZES)), [np.random.default_rng(4), np.random.default_rng(5)]
    how = {"step_size": 0.3, "momentum": momentum, "proximal": 0.0, "local_steps": 4}
    found = task.cluster_training(
        models, buffers, clients, argmin_smallest_index, *streams, weights=None, **how
    )
    starts = models[found[0]]
    own = None if buffers is None else buffers[found[0]]
    alone = task.local_training(starts, own, None, clients, streams[1], **how)
    return [one.clone() for one in (*found, *alone) if one is not None]


@needs_numba
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("motion", MOTIONS)
def test_compiled_steps_are_those_of_torch(plant, motion, dtype):
    def task():
        return ImageTask(partition=partition(), network=MLP(SHAPE, 3, (6,)), engine="gram", dtype=dtype)

    expected = sums(task(), *MOTIONS[motion])
    called, steps = [], compiled_walk.take_steps
    plant(compiled_walk, "LEAST_PRODUCTS", 0)
    from clusterproof.neural.engines.gram_form import gram_steps

    plant(compiled_walk, "take_steps", lambda *a: called.append(steps(*a)), within=gram_steps.__name__)
    tolerance = 1e-12 if dtype == "float64" else 1e-5
    for ours, theirs in zip(sums(task(), *MOTIONS[motion]), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=10 * tolerance)
    assert called


@needs_numba
def test_compiled_steps_have_the_same_bits_on_two_threads(plant):
    plant(compiled_walk, "LEAST_PRODUCTS", 0)
    plant(passes, "SHARED_WORK", 0)
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        task = ImageTask(partition=partition(black=2), network=MLP(SHAPE, 3, (6,)), engine="gram")
        found.append(sums(task, 0.9, True))
    for other in found[1:]:
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(found[0], other, strict=True))


@needs_numba
def test_what_is_no_number_stays_none(plant):
    """A run that diverges must be seen to."""
    plant(compiled_walk, "LEAST_PRODUCTS", 0)
    task = ImageTask(partition=partition(), network=MLP(SHAPE, 3, (6,)), engine="gram")
    models = task.initial_models(1, (), np.random.default_rng(1)).repeat(len(SIZES), 1)
    models[2] = torch.nan
    how = {"step_size": 0.3, "momentum": 0.0, "proximal": 0.0, "local_steps": 2}
    trained, _ = task.local_training(
        models, None, None, torch.arange(len(SIZES)), np.random.default_rng(5), **how
    )
    assert torch.isnan(trained[2]).all()
    assert torch.isfinite(trained[[0, 1, 3, 4, 5, 6]]).all()


def test_gram_matrices_are_formed_once_and_do_not_hang_on_who_else_takes_part(plant):
    """They are stored from round to round, and formed anew by a run that is resumed: of single clients."""
    formed, product = [], products.multiply

    def noted(left, right, out=None):
        if left.data_ptr() == right.data_ptr():
            formed.append(len(left))
        return product(left, right, out)

    plant(products, "multiply", noted, within=gram.__name__)
    data = ClientData(partition().train, torch.device("cpu"), torch.float32, channels_last=False)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        matrices, found = gram.GramMatrices(), {}
        for clients in ([2, 5], [3, 2], [5, 3, 2]):
            who = np.array(clients)
            given = matrices.of(who, 12, lambda who=who: data.whole(who, 12).features)
            for client, matrix in zip(clients, given, strict=True):
                assert torch.equal(matrix, found.setdefault(client, matrix.clone()))
        assert formed == [2, 1]
        alone = gram.GramMatrices().of(np.array([3]), 12, lambda: data.whole(np.array([3]), 12).features)
        assert torch.equal(alone[0], found[3])
        features = data.whole(np.array([3]), 12).features[0].double()
        torch.testing.assert_close(found[3].double(), features @ features.T + 1, rtol=1e-5, atol=0)
    finally:
        torch.set_num_threads(threads)
