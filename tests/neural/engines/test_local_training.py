"""Local training of every engine against plain PyTorch, one client after the other; and in lower precision."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_images import drawn_batches, plain_training, random_partition
from tiers import examples
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from clusterproof.algorithms import Descent
from clusterproof.common import InvalidArgument
from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.precision import precision_in_words
from clusterproof.neural.task import ImageTask

SIZES = (7, 3, 12, 10, 1, 12)
SHAPE = (1, 16, 16)
NETWORKS = {
    "linear": MLP(SHAPE, 3, ()),
    "mlp": MLP(SHAPE, 3, (6,)),
    "deep": MLP(SHAPE, 3, (6, 5)),
    "cnn": CNN(SHAPE, 3, (2, 3), (5,)),
}
WAYS = [
    ("linear", ("vmap",), None, "step"),
    ("mlp", ("vmap",), None, "step"),
    ("deep", ("vmap", "serial"), None, "step"),
    ("cnn", ("vmap", "serial"), None, "step"),
    *(
        (net, ("vmap", "serial"), size, unit)
        for net in ("deep", "cnn")
        for size, unit in ((5, "step"), (5, "epoch"), (1, "step"))
    ),
]
MOTIONS = {
    "plain": {},
    "momentum": {"momentum": 0.9},
    "carried": {"momentum": 0.7, "carried": True},
    "carried without momentum": {"carried": True},
    "proximal": {"proximal": 0.4},
    "all": {"momentum": 0.6, "proximal": 0.3, "carried": True, "local_steps": 5},
    "corrected": {"momentum": 0.6, "proximal": 0.3, "corrected": True},
    "one step": {"momentum": 0.6, "carried": True, "local_steps": 1},
    "reshuffled": {"reshuffled": True, "local_steps": 2},
}


def make(way, sizes=SIZES, dtype="float64"):
    network, engine, batch_size, unit = way
    network = NETWORKS.get(network, network)
    partition = random_partition(sizes, image_shape=network.image_shape)
    options = {"batch_size": batch_size, "local_unit": unit, "dtype": dtype, "engine": engine}
    return ImageTask(partition=partition, network=network, **options)


def check(tasks, clients, *, carried=False, corrected=False, local_steps=3, tolerance=1e-11, **motion):
    """Compare points and buffers of each client, and their weighted sums over clusters, of tasks of several engines."""
    motion = {"step_size": 0.3, "momentum": 0.0, "proximal": 0.0, **motion}
    descent, task = Descent(steps=local_steps, **motion), tasks[0]
    stream, rows = np.random.default_rng(1), torch.as_tensor(clients)
    points = task.initial_models(len(clients), (), stream)
    drawn = torch.as_tensor(stream.standard_normal(points.shape)).to(points.dtype)
    buffers, anchors = 0.05 * drawn if carried else None, points + 0.02 * drawn.flip(0)
    corrections = 0.1 * drawn.flip(1) if corrected else None
    inputs = [None if one is None else one.clone() for one in (points, buffers, anchors)]
    options = {**motion, "local_steps": local_steps}
    vectors = {"buffers": buffers, "anchors": anchors, "corrections": corrections}
    draws = task, clients, np.random.default_rng(5), local_steps, motion.get("reshuffled", False)
    counts = [len(batches) for batches in drawn_batches(*draws)]

    assignments = torch.arange(len(clients)) % 3
    assignments[assignments == 1] = 2  # nobody is in cluster 1
    models = torch.cat([points, points, points])[:3]
    server = None if buffers is None else torch.cat([buffers] * 3)[:3]
    weights = torch.linspace(0.5, 2, len(clients), dtype=points.dtype)

    def plain(start, buffers, anchors, **more):
        stream = np.random.default_rng(5)
        return plain_training(task, start, buffers, anchors, clients, stream, {**options, **more})

    ends, momenta = plain(points, buffers, anchors, corrections=corrections)
    received, start = None if server is None else server[assignments], models[assignments]
    expected = [
        torch.zeros_like(models).index_add_(0, assignments, weights[:, None] * summands)
        for summands in plain(start, received, start)
    ]

    for each in tasks:
        found = each.local_steps(points, rows, np.random.default_rng(5), descent, **vectors)
        torch.testing.assert_close(found.points, ends, rtol=0, atol=tolerance)
        taken = torch.as_tensor(found.steps).expand(len(clients), 1).flatten().tolist()
        assert taken == counts
        assert (found.buffers is None) == (buffers is None and not motion["momentum"])
        if found.buffers is not None:
            torch.testing.assert_close(found.buffers, momenta, rtol=0, atol=10 * tolerance)
        stream = np.random.default_rng(5)
        options_of_sums = {"buffers": server, "weights": weights}
        sums = each.local_sums(models, rows, assignments, stream, descent, **options_of_sums)
        for total, summed in zip(sums, expected, strict=True):
            if total is not None:
                torch.testing.assert_close(total, summed, rtol=0, atol=20 * tolerance)
        assert not sums[0][1].any()
        for one, before in zip((points, buffers, anchors), inputs, strict=True):
            assert one is None or torch.equal(one, before), "the inputs were written to"


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("way", "motion"),
    [(way, list(MOTIONS)[(i + 4 * j) % 9]) for i, way in enumerate(WAYS) for j in range(2)]
    + [(("mlp", ("vmap",), None, "step"), motion) for motion in MOTIONS],
    ids=str,
)
def test_points_buffers_and_their_sums_are_those_of_plain_autograd(way, motion):
    network, engines, *batches = way
    tasks = [make((network, engine, *batches)) for engine in engines]
    check(tasks, np.array([2, 0, 3, 1, 4, 5]), **MOTIONS[motion])


def test_a_client_s_point_never_lies_where_another_s_was():
    """The serial engine trains in one memory and in the caller's by turns, and is copied along with a task's sums."""
    network = NETWORKS["deep"]
    task = make((network, "serial", 5, "step"))
    stream, descent = np.random.default_rng(0), Descent(0.3, 3, momentum=0.5)
    models = task.initial_models(3, (), stream)
    before, clients = models.clone(), torch.arange(3)
    first = task.local_sums(models, clients, clients, np.random.default_rng(1), descent)
    for _ in range(2):
        ends = task.local_steps(models, clients, np.random.default_rng(1), descent)
        again = task.local_sums(models, clients, clients, np.random.default_rng(1), descent)
        for sums, kept, points in zip(again, first, ends[:2], strict=True):
            assert torch.equal(sums, kept)
            torch.testing.assert_close(sums, points, rtol=0, atol=1e-15)
    assert torch.equal(models, before)


def test_single_precision():
    tasks = [make(("deep", engine, None, "step"), dtype="float32") for engine in ("vmap", "serial")]
    check(tasks, np.array([2, 0, 3]), tolerance=1e-5)


@settings(max_examples=examples(16))
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    hidden=st.lists(st.integers(1, 5), max_size=2).map(tuple),
    batch_size=st.none() | st.integers(1, 10),
    unit=st.sampled_from(["step", "epoch"]),
    momentum=st.floats(0, 0.95),
    proximal=st.sampled_from([0.0, 0.3]),
    carried=st.booleans(),
    local_steps=st.integers(1, 4),
    data=st.data(),
)
def test_any_shape(sizes, hidden, batch_size, unit, momentum, proximal, carried, local_steps, data):
    clients = data.draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=6))
    tasks = [
        make((MLP((2, 5, 3), 3, hidden), engine, batch_size, unit), sizes) for engine in ("vmap", "serial")
    ]
    motion = {"momentum": momentum, "proximal": proximal, "carried": carried}
    check(tasks, np.array(clients), local_steps=local_steps, **motion)


@pytest.mark.parametrize("engine", ["vmap", "serial"])
def test_clients_may_take_different_numbers_of_steps_and_none(engine):
    task = make(("mlp", engine, None, "step"))
    clients, counts = np.array([2, 5, 0, 3]), [3, 1, 0, 2]
    points = task.initial_models(4, (), np.random.default_rng(0))
    descent = Descent(0.3, torch.tensor(counts)[:, None], 0.5)
    found = task.local_steps(points, torch.as_tensor(clients), np.random.default_rng(1), descent)
    assert found.steps.flatten().tolist() == counts
    for row, count in enumerate(counts):
        options = {"step_size": 0.3, "momentum": 0.5, "proximal": 0.0, "local_steps": count}
        end, _ = plain_training(task, points[row, None], None, None, clients[[row]], None, options)
        torch.testing.assert_close(found.points[row], end[0], rtol=0, atol=1e-12)


class Largest(TorchDispatchMode):
    """Notes how many numbers the largest tensor has that any operation makes."""

    numbers = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.numbers = max(self.numbers, leaf.numel())
        return result


@pytest.mark.parametrize("engine", ["vmap", "serial"])
def test_no_array_of_a_model_for_each_client(engine):
    """Sums over clusters are formed of some clients after others."""
    clients = 60
    task = make((MLP(SHAPE, 3, (40,)), engine, None, "step"), (2,) * clients)
    models = task.initial_models(2, (), np.random.default_rng(0))
    everyone, descent = torch.arange(clients), Descent(0.1, 3, 0.5)
    with Largest() as seen:
        task.local_sums(models, everyone, everyone % 2, np.random.default_rng(0), descent)
    assert 0 < seen.numbers < clients * task.dimension / 3


SHAPE_PRECISION = (1, 16, 16)
NETWORKS_PRECISION = {"mlp": MLP(SHAPE_PRECISION, 3, (6,)), "cnn": CNN(SHAPE_PRECISION, 3, (2, 3), (5,))}


def task_in(precision: str, engine: str, network: str, **options: str) -> ImageTask:
    partition = random_partition((7, 12), image_shape=SHAPE_PRECISION)
    return ImageTask(
        partition=partition,
        network=NETWORKS_PRECISION[network],
        engine=engine,
        precision=precision,
        **options,
    )


@pytest.mark.parametrize("network", NETWORKS_PRECISION)
@pytest.mark.parametrize("engine", ["vmap", "serial"])
def test_local_steps_in_bf16_are_those_of_plain_autograd_under_autocast(engine: str, network: str) -> None:
    """Compare each step and the sums alone, so that no rounded parameters of an earlier step are used."""
    task = task_in("bf16", engine, network)
    points = task.initial_models(2, (), np.random.default_rng(0))
    clients, descent = torch.arange(2), Descent(0.3, 6, momentum=0.5)
    options = {"step_size": 0.3, "momentum": 0.5, "proximal": 0.0, "local_steps": 6}
    expected = []
    for _ in range(2):
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False, enabled=not expected):
            given = task, points, None, None, np.arange(2), np.random.default_rng(1), options
            expected.append(plain_training(*given)[0])
    rounded, full = expected
    ends = task.local_steps(points, clients, np.random.default_rng(1), descent).points
    moved = (rounded - points).abs().max()
    assert ends.dtype == torch.float32
    assert 1e-4 * moved < (rounded - full).abs().max()
    # products of several clients round otherwise than those of one, and convolutions do on some processors
    assert (ends - rounded).abs().max() < (1e-5 if (engine, network) == ("serial", "mlp") else 6e-2) * moved
    assert (ends - full).abs().max() < 0.1 * moved
    sums, _ = task.local_sums(points, clients, clients, np.random.default_rng(1), descent)
    torch.testing.assert_close(sums, ends, rtol=0, atol=1e-6)


def test_choices_are_in_full_precision_and_the_difference_is_said() -> None:
    models = task_in("full", "serial", "mlp").initial_models(2, (), np.random.default_rng(0))
    losses = [
        task_in(precision, "serial", "mlp").losses(models, torch.arange(2), np.random.default_rng(0))
        for precision in ("full", "tf32", "bf16")
    ]
    assert torch.equal(losses[0], losses[1])
    assert torch.equal(losses[0], losses[2])
    assert precision_in_words("full") == ""
    assert "2^-8" in precision_in_words("bf16")
    assert "2^-11" in precision_in_words("tf32")


def test_the_precision_of_other_work_is_left_as_it_was() -> None:
    task = task_in("tf32", "serial", "mlp")
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    points = task.initial_models(2, (), np.random.default_rng(0))
    task.local_steps(points, torch.arange(2), np.random.default_rng(1), Descent(0.3, 2))
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32) == before


def test_a_precision_that_does_not_fit_is_refused() -> None:
    for precision, dtype in (("half", "float32"), ("bf16", "float64")):
        with pytest.raises(InvalidArgument, match="precision"):
            task_in(precision, "serial", "mlp", dtype=dtype)
