"""Compiled local steps, and samples without the numbers that are always 0: the same numbers as without either."""

import numpy as np
import pytest
import torch
from small_images import random_partition

from clusterproof.algorithms.arrays import argmin_smallest_index
from clusterproof.algorithms.parts import compiling
from clusterproof.neural.engines import compiled_walk, data, gram, passes, products
from clusterproof.neural.engines.data import ClientData
from clusterproof.neural.networks import MLP
from clusterproof.neural.task import ImageTask

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
    from clusterproof.neural.engines import gram_steps

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


@pytest.mark.parametrize("motion", MOTIONS)
def test_numbers_that_are_always_0_may_be_left_out(plant, motion):
    def task():
        return ImageTask(
            partition=partition(black=2), network=MLP(SHAPE, 3, (6,)), engine="gram", dtype="float64"
        )

    black = ClientData(partition(black=2).train, torch.device("cpu"), torch.float64, channels_last=False)
    batch, numbers = black.where_set(np.arange(3), 12)
    assert numbers is not None
    assert numbers.tolist() == [0, *(6 * row + column for row in range(6) for column in range(2, 6))]
    whole = black.whole(np.arange(3), 12)
    assert torch.equal(batch.features, whole.features[..., numbers])
    found = sums(task(), *MOTIONS[motion])
    plant(data, "MOSTLY", -1.0)
    again = ClientData(partition(black=2).train, torch.device("cpu"), torch.float64, channels_last=False)
    assert again.where_set(np.arange(3), 12)[1] is None
    for ours, theirs in zip(found, sums(task(), *MOTIONS[motion]), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_gram_matrices_do_not_hang_on_who_else_takes_part(plant):
    """They are stored from round to round, and formed anew by a run that is resumed: of all pixels."""
    task = ImageTask(partition=partition(black=2), network=MLP(SHAPE, 3, (6,)), engine="gram")
    seen, product = [], products.multiply

    def noted(left, right, out=None):
        if left.data_ptr() == right.data_ptr():
            seen.append(left.shape[-1])
        return product(left, right, out)

    plant(products, "multiply", noted, within=gram.__name__)
    sums(task, 0.0, False)
    assert set(seen) == {36}
