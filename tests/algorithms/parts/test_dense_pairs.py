"""FPFC's pairs as a device has them, against the list that the host keeps, and against a search for groups."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pretended_device import pretended_device
from small_images import random_partition

from clusterproof.algorithms import ALGORITHMS, Randomness
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.algorithms.fpfc import FPFC
from clusterproof.algorithms.parts import dense_pairs, pair_storage
from clusterproof.algorithms.parts.dense_pairs import DensePairs
from clusterproof.algorithms.parts.grouping import grouped
from clusterproof.algorithms.parts.pair_storage import Pairs
from clusterproof.algorithms.parts.pair_updates import PairStep
from clusterproof.neural.networks import MLP
from clusterproof.neural.runs.storage.state_tree import put_together, take_apart
from clusterproof.neural.task import ImageTask

CLIENTS, DIMENSION, RUNS = 7, 3, 2

PENALTIES = [
    {"strength": 0.5, "threshold": 0.4, "smoothing": 0.05},
    {"strength": 2.0, "threshold": 0.4},
    {"penalty": "l1", "strength": 0.3, "threshold": 0.2},
]


@pytest.mark.slow(reason="an engine that only a device would use")
@pytest.mark.parametrize("options", PENALTIES, ids=str)
@pytest.mark.parametrize("rule", ["either", "both", "all"])
@pytest.mark.parametrize("entries", [1, 10**6], ids=["many pages", "one page"])
def test_rounds_are_those_of_the_list(plant, rule, options, entries):
    """Models walk at random; the list of pairs is tested elsewhere, against loops over all of them."""
    plant(pair_storage, "ENTRIES_ON_DEVICE", entries)
    algorithm = FPFC(step_size=0.1, pair_rule=rule, **options)
    source = np.random.default_rng(3)
    before = source.normal(size=(RUNS, CLIENTS, DIMENSION))
    step = PairStep(
        algorithm.fusion_penalty, algorithm.augmentation, algorithm.threshold, rule, reuse_memory=False
    )
    listed, dense = step.start(before), DensePairs.start(before, algorithm.threshold)
    assert len(dense.pages) == (CLIENTS if entries == 1 else 1)
    met = set()
    for _ in range(12):
        active = source.random((RUNS, CLIENTS)) < 0.5
        moves = 0.2 * source.normal(size=before.shape) * active[..., None]
        models = before * np.where(active, 0.8, 1.0)[..., None] + moves
        listed = step.update(listed, before, models, active)
        dense = step.update_dense(dense, models, active)
        same = dense.listed()
        np.testing.assert_array_equal(same.stored, listed.stored)
        np.testing.assert_array_equal(same.near, listed.near)
        np.testing.assert_array_equal(dense.labels(), listed.groups.labels)
        np.testing.assert_allclose(
            step.lengths(same, models), step.lengths(listed, models), rtol=0, atol=1e-13
        )
        for ours, theirs in zip(step.defects(same, models), step.defects(listed, models), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)
        clients = np.argsort(source.random((RUNS, CLIENTS)), axis=1)[:, :4]
        partners = np.take_along_axis(listed.stored, clients[:, :, None], axis=1).astype(float)
        own = np.take_along_axis(models, clients[:, :, None], axis=1)
        expected = (CLIENTS - partners.sum(-1, keepdims=True)) * own + partners @ models
        expected += listed.partner_sums(models, clients)
        np.testing.assert_allclose(dense.anchor_sums(models, clients), expected, rtol=0, atol=1e-13)
        met |= {(bool(s), bool(n)) for s, n in zip(same.stored.ravel(), same.near.ravel(), strict=True)}
        before = models
    assert {(True, False), (True, True)} <= met
    if rule != "all" and options.get("penalty") != "l1" and options["strength"] == 0.5:
        assert (False, False) in met, "some pairs were clean"


@given(st.integers(1, 12), st.floats(0, 0.5), st.integers(0, 10**6))
def test_groups_are_connected_components(clients, share, seed):
    near = np.random.default_rng(seed).random((2, clients, clients)) < share
    near = near | np.swapaxes(near, 1, 2) | np.eye(clients, dtype=bool)
    pairs = DensePairs([], np.ones(near.shape), ~near, near, exclusive=True)
    np.testing.assert_array_equal(pairs.labels(), grouped(near))


@pytest.mark.parametrize("clients", [2, 6, 36])
def test_a_chain_is_one_group(clients):
    places = -np.arange(clients) % clients  # client 1 is at the other end from client 0
    apart = np.abs(np.subtract.outer(places, places))
    pairs = DensePairs([], np.ones((1, clients, clients)), apart[None] > 1, apart[None] <= 1, exclusive=True)
    assert not pairs.labels().any()
    cut = (apart <= 1) & ((np.arange(clients) < 1)[:, None] == (np.arange(clients) < 1))
    pairs = dataclasses.replace(pairs, near=cut[None])
    assert pairs.labels().tolist() == [[0] + [1] * (clients - 1)]


def state_after(device, rounds=3, shape=(), **options):
    """A state of a small perceptron's, its task and algorithm."""
    given = {"strength": 0.02, "threshold": 0.05, "local_steps": 2, "participation": 0.7, **options}
    task = ImageTask(
        partition=random_partition((8,) * 6), network=MLP((1, 4, 4), 3, (5,)), device=device, dtype="float64"
    )
    algorithm = ALGORITHMS["fpfc"](step_size=0.1, **given)
    randomness = Randomness.from_seed(0, "test")
    models = task.initial_models(algorithm.model_count(task), shape, randomness.initialisation)
    state = algorithm.initialise(models, task)
    for _ in range(rounds):
        state = algorithm.step(state, task, randomness)
    return state, algorithm, task


RUNS_ON_A_DEVICE = [
    {"threshold": 0.16},
    {"shape": (2,), "pair_rule": "both", "threshold": 0.31},
    {"start": "own", "shape": (2,), "reuse_memory": True, "strength": 0.7, "threshold": 0.5},
    {"penalty": "l1", "pair_rule": "all", "participation": 1.0, "threshold": 0.32},
]


@pytest.mark.slow(reason="an engine that only a device would use")
@pytest.mark.parametrize("options", RUNS_ON_A_DEVICE, ids=str)
@pytest.mark.parametrize("largest", [dense_pairs.LARGEST, 1], ids=["dense", "too many for the device"])
def test_a_device_gives_the_hosts_numbers(plant, options, largest):
    plant(dense_pairs, "LARGEST", largest)
    expected, algorithm, task = state_after("cpu", **options)
    residuals = algorithm.residuals(expected, task, np.random.default_rng(0))
    with pretended_device():
        found, same, there = state_after("cuda", **options)
        assert isinstance(found.variables, Pairs if largest == 1 else DensePairs)
        np.testing.assert_allclose(to_numpy(found.models), expected.models, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(to_numpy(found.assignments), expected.assignments)
        lengths = same.difference_lengths(found)
        again = same.residuals(found, there, np.random.default_rng(0))
    assert expected.pairs.stored.any()
    if options["threshold"] == 0.16:
        assert 1 < len(np.unique(expected.assignments)) < 6
    np.testing.assert_allclose(lengths, algorithm.difference_lengths(expected), rtol=0, atol=1e-12)
    for field in dataclasses.fields(residuals):
        ours, theirs = getattr(again, field.name), getattr(residuals, field.name)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11)


@pytest.mark.slow(reason="an engine that only a device would use")
def test_pages_are_handed_on_or_kept():
    with pretended_device():
        for reuse in (False, True):
            state, algorithm, task = state_after("cuda", rounds=2, reuse_memory=reuse)
            pages = [page.data_here.clone() for page in state.variables.pages]
            memory = state.variables.pages[0].data_here.data_ptr()
            again = algorithm.step(state, task, Randomness.from_seed(1, "test"))
            assert (again.variables.pages[0].data_here.data_ptr() == memory) == reuse
            if reuse:
                with pytest.raises(RuntimeError, match="handed on to the next"):
                    algorithm.step(state, task, Randomness.from_seed(1, "test"))
            else:
                assert torch.equal(state.variables.pages[0].data_here, pages[0])


@pytest.mark.slow(reason="an engine that only a device would use")
def test_a_state_with_dense_pairs_comes_back_from_its_parts():
    with pretended_device():
        state, _, _ = state_after("cuda")
        plain, numbers = take_apart(state)
        again = put_together(plain, numbers, type(state), "cuda")
        assert isinstance(again.variables, DensePairs)
        for name in ("factors", "clean", "near"):
            ours, theirs = getattr(again.variables, name), getattr(state.variables, name)
            assert torch.equal(ours.data_here, theirs.data_here)
        assert torch.equal(again.variables.pages[0].data_here, state.variables.pages[0].data_here)
