"""First layers' products with samples most of whose numbers are 0: the same numbers as with all of them."""

from itertools import combinations

import numpy as np
import pytest
import torch
from small_images import random_partition
from torch.utils._python_dispatch import TorchDispatchMode

from clusterproof.algorithms.arrays import argmin_smallest_index
from clusterproof.algorithms.parts import compiling
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.engines import passes
from clusterproof.neural.engines import samples as module
from clusterproof.neural.engines.batched import DenseEngine
from clusterproof.neural.engines.samples import DenseSamples, SparseSamples, are_mostly_zero
from clusterproof.neural.networks import MLP
from clusterproof.neural.task import ImageTask

SIZES, SHAPE = (7, 3, 12, 10, 1, 12, 8), (1, 6, 6)
needs_numba = pytest.mark.skipif(not compiling.can_compile(), reason="the extra `fast` is not installed")


def partition(light=0.15):
    """Images with light on this share of their pixels; one has none, and one all."""
    found = random_partition(SIZES, image_shape=SHAPE)
    pixels = found.train.pixels
    pixels[np.random.default_rng(3).random(pixels.shape) > light] = 0
    if light < 1:
        pixels[found.train.indices[0, 0]], pixels[found.train.indices[2, 1]] = 0, 200
    return found


def features(clients=3, samples=5, numbers=19, share=0.2):
    drawn = np.random.default_rng(7)
    dense = drawn.standard_normal((clients, samples, numbers)) * (
        drawn.random((clients, samples, numbers)) < share
    )
    dense[0, 1], dense[1, 0] = 0, 1
    return torch.from_numpy(dense)


def listed(dense):
    """Lists of samples (k, n, in) that are stored the other way round, and are as they are."""
    stored = dense.flatten(0, 1).flip(0)
    indices = torch.arange(len(stored)).flip(0).view(dense.shape[:2])
    return SparseSamples.listed(stored, torch.ones((), dtype=dense.dtype)).at(indices)


def layers(count, hidden, numbers=19):
    drawn = np.random.default_rng(8)
    return (
        torch.from_numpy(drawn.standard_normal(shape))
        for shape in ((count, hidden, numbers), (count, hidden))
    )


@pytest.mark.slow(reason="compiles vector loops")
@needs_numba
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_products_are_sums_over_all_numbers(share):
    weight, bias = layers(2, 3)
    dense = features(share=share)
    expected = torch.einsum("phi,kni->phkn", weight, dense) + bias[:, :, None, None]
    coefficients = torch.from_numpy(np.random.default_rng(9).standard_normal((3, 15)))
    for samples in (listed(dense), DenseSamples(dense)):
        torch.testing.assert_close(samples.values(weight, bias), expected, rtol=0, atol=1e-12)
        out = torch.full((3, 40), torch.nan, dtype=torch.float64)[:, 5:24]
        samples.combine(coefficients, out)
        sums = torch.einsum("hs,si->hi", coefficients, dense.flatten(0, 1))
        torch.testing.assert_close(out, sums, rtol=0, atol=1e-12)
        some = samples.of(torch.tensor([2, 0]))
        torch.testing.assert_close(some.values(weight, bias), expected[:, :, [2, 0]], rtol=0, atol=1e-12)
        own = torch.cat([coefficients[:, 10:], coefficients[:, :5]], 1)
        some.combine(own, out)
        sums = torch.einsum("hs,si->hi", own, dense[[2, 0]].flatten(0, 1))
        torch.testing.assert_close(out, sums, rtol=0, atol=1e-12)


@needs_numba
def test_a_samples_values_have_the_same_bits_whoever_else_is_there():
    weight, bias = layers(1, 5)
    dense = features()
    together = listed(dense).values(weight, bias)
    alone = listed(dense[1:2, 2:4]).values(weight, bias)
    assert torch.equal(together[0, :, 1, 2:4], alone[0, :, 0])


@needs_numba
def test_what_is_no_number_stays_so_and_where_it_is():
    dense = features()
    dense[1, 3, 4] = torch.nan
    weight, bias = layers(1, 2)
    found = listed(dense).values(weight, bias)
    assert torch.isnan(found[0, :, 1, 3]).all()
    assert torch.isnan(found).sum() == 2


@pytest.mark.slow(reason="compiles vector loops")
@needs_numba
@pytest.mark.parametrize("numbers", [5, 8, 19, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bytes_become_what_they_are_elsewhere_to_the_bit(numbers, dtype):
    """Samples 2, 0 and 2 of three, of which the last number, the first or none is not 0."""
    pixels = np.zeros((3, numbers), np.uint8)
    pixels[0, -1], pixels[1, 0], pixels[2] = 77, 255, np.arange(numbers) % 7
    white = torch.tensor(255, dtype=getattr(torch, dtype))
    found = SparseSamples.listed(torch.from_numpy(pixels), white).at(torch.tensor([[2, 0, 2], [1, 1, 0]]))
    for own, begin, end in zip(
        pixels[[2, 0, 2, 1, 1, 0]], found.begins.ravel(), found.ends.ravel(), strict=True
    ):
        (places,) = np.nonzero(own)
        np.testing.assert_array_equal(found.places[begin:end], places)
        np.testing.assert_array_equal(found.entries[begin:end], own[places])
    # a unit that sees one number gives that number to the bit
    values = found.values(torch.eye(numbers, dtype=white.dtype)[None], white.new_zeros(1, numbers))
    scaled = torch.from_numpy(pixels).to(white.dtype).div_(255)
    assert values.dtype == white.dtype
    assert torch.equal(values[0].movedim(0, -1), scaled[torch.tensor([[2, 0, 2], [1, 1, 0]])])
    assert (found.inputs, found.begins.shape) == (numbers, (2, 3))


class NoPixels(TorchDispatchMode):
    """Fails where bytes of images are read by torch."""

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        first = arguments[0] if arguments else None
        assert not (isinstance(first, torch.Tensor) and first.dtype == torch.uint8), "images were looked up"
        return function(*arguments, **(keywords or {}))


@needs_numba
def test_no_image_is_put_together_once_gram_matrices_are_known(plant):
    plant(module, "LEAST_PRODUCTS", 0)
    task = ImageTask(partition=partition(), network=MLP(SHAPE, 3, (6,)), engine="gram")
    models, clients = task.initial_models(2, (), np.random.default_rng(1)), torch.arange(len(SIZES))
    how = {"weights": None, "step_size": 0.3, "momentum": 0.0, "proximal": 0.0, "local_steps": 2}

    def trained():
        streams = (np.random.default_rng(4), np.random.default_rng(5))
        return task.cluster_training(models, None, clients, argmin_smallest_index, *streams, **how)[1].clone()

    first = trained()

    task.scores(models)  # which brings the test data
    with NoPixels():
        assert torch.equal(trained(), first)
        task.scores(models)
    with NoPixels(), pytest.raises(AssertionError, match="looked up"):
        task.gradients(models[clients % 2], clients, np.random.default_rng(6))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("samples", [1, 3])
def test_a_clients_scores_have_the_same_bits_whoever_else_is_there(samples, dtype):
    """Samples lie side by side, as products that leave out zeros give them; a library adds by their number."""
    drawn, kind = np.random.default_rng(6), getattr(torch, dtype)
    later = [
        tuple(torch.from_numpy(drawn.standard_normal(shape)).to(kind) for shape in ((2, 10, 64), (2, 10)))
    ]
    first = torch.from_numpy(drawn.standard_normal((2, 12 * samples, 64))).to(kind).clamp_min(0)

    def scores(begin, end):
        own = first[:, begin * samples : end * samples].clone()
        return DenseEngine.scores_behind(later, own.mT.view(2, 64, end - begin, samples))

    together = scores(0, 12)
    expected = torch.einsum("pch,psh->pcs", later[0][0], first) + later[0][1][..., None]
    torch.testing.assert_close(
        together, expected.unflatten(2, (12, samples)).permute(2, 0, 1, 3), rtol=1e-5, atol=1e-4
    )
    for begin, end in combinations(range(13), 2):
        assert torch.equal(scores(begin, end), together[begin:end])


def run(partition, momentum=0.9, carried=True, engine="gram", dtype="float64"):
    """Clusters, sums of models and buffers over them, and all losses, of three models."""
    task = ImageTask(partition=partition, network=MLP(SHAPE, 3, (6,)), engine=engine, dtype=dtype)
    models = task.initial_models(3, (), np.random.default_rng(1))
    noise = torch.as_tensor(np.random.default_rng(2).standard_normal(models.shape)).to(models.dtype)
    clients, streams = torch.arange(len(SIZES)), [np.random.default_rng(4), np.random.default_rng(5)]
    how = {"step_size": 0.3, "momentum": momentum, "proximal": 0.0, "local_steps": 3}
    chosen, *found = task.cluster_training(
        models,
        0.05 * noise if carried else None,
        clients,
        argmin_smallest_index,
        *streams,
        weights=None,
        **how,
    )
    given = task.cluster_training(models, None, clients, chosen, *streams, weights=None, **how)
    return task, [
        one.clone()
        for one in (
            chosen,
            *found,
            *given,
            task.losses(models, clients, streams[0]),
            *vars(task.scores(models)).values(),
        )
        if isinstance(one, torch.Tensor)
    ]


@needs_numba
@pytest.mark.parametrize("engine", ["gram", "batched"])
def test_training_and_evaluation_give_the_same_numbers(plant, engine):
    task, expected = run(partition(), engine=engine)
    assert not task.chosen_engine.mostly_zero, "too small to be worth compiling"
    plant(module, "LEAST_PRODUCTS", 0)
    task, found = run(partition(), engine=engine)
    assert task.chosen_engine.mostly_zero
    assert len(found) > 8
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


@needs_numba
def test_the_same_bits_on_any_number_of_threads(plant):
    plant(module, "LEAST_PRODUCTS", 0)
    plant(passes, "SHARED_WORK", 0)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(run(partition(), dtype="float32")[1])
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(results[0], other, strict=True))


@needs_numba
def test_it_is_chosen_by_the_share_of_numbers_that_are_not_0(plant):
    pixels = np.zeros((10, 1, 4, 5), np.uint8)
    pixels.ravel()[:50] = 7
    assert not are_mostly_zero(pixels, hidden=200, samples=2499)
    assert are_mostly_zero(pixels, hidden=200, samples=2500)
    pixels.ravel()[50] = 7
    assert not are_mostly_zero(pixels, hidden=200, samples=2500)
    plant(module, "LEAST_PRODUCTS", 0)
    assert not run(partition(light=1))[0].chosen_engine.mostly_zero
    bright = ImageTask(
        partition=partition(), network=MLP(SHAPE, 3, (6,)), preprocessing=Preprocessing(standardise=True)
    )
    assert not bright.chosen_engine.mostly_zero


def test_chunks_that_are_added_up_are_of_like_size_and_threads_share_them_evenly():
    assert passes.of_like_size(240, 16) == 15
    assert [passes.of_like_size(clients, 16) for clients in (1, 3, 4, 20, 64, 65)] == [1, 1, 1, 5, 16, 9]
    assert passes.of_like_size(7, 1) == 1
