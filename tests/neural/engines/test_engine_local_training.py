"""Every engine's local training against one client after the other in plain PyTorch."""

import numpy as np
import pytest
import torch
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from local_training import local_training
from plain_training import plain_training
from small_images import random_partition

from clusterproof.algorithms import Descent
from clusterproof.neural.engines import gram
from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.task import ImageTask

DTYPES = {"float64": (torch.float64, 1e-12), "float32": (torch.float32, 1e-5)}
SIZES = (7, 3, 12, 10, 1)
"""12 and 10 are padded alike, and make unequal numbers of batches of 5."""


def check(
    task,
    *,
    momentum=0.0,
    proximal=0.0,
    carried=False,
    local_steps=3,
    clients=(2, 0, 3, 1, 4),
    own_anchor=False,
    corrected=False,
):
    dtype, tolerance = DTYPES[task.dtype]
    stream = np.random.default_rng(1)
    points = task.initial_models(len(clients), (), stream)
    drawn = torch.as_tensor(stream.standard_normal(points.shape)).to(dtype)
    buffers = 0.05 * drawn if carried else None
    anchors = points if own_anchor else points + 0.02 * drawn.flip(0)
    options = {"step_size": 0.3, "momentum": momentum, "proximal": proximal, "local_steps": local_steps}
    before = [None if one is None else one.clone() for one in (points, buffers, anchors)]
    options["corrections"] = 0.1 * drawn.flip(1) if corrected else None
    found, kept = local_training(
        task, points, buffers, anchors, torch.tensor(clients), np.random.default_rng(5), **options
    )
    expected, expected_kept = plain_training(
        task, points, buffers, anchors, np.array(clients), np.random.default_rng(5), options
    )
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected, rtol=0, atol=tolerance)
    if kept is None:
        assert buffers is None
        assert not momentum
    else:
        torch.testing.assert_close(kept, expected_kept, rtol=0, atol=10 * tolerance)
    for one, other in zip((points, buffers, anchors), before, strict=True):
        assert one is None or torch.equal(one, other), "the inputs were written to"


KINDS = {
    "plain": {},
    "momentum": {"momentum": 0.9},
    "carried": {"momentum": 0.7, "carried": True},
    "carried without momentum": {"momentum": 0.0, "carried": True},
    "proximal": {"proximal": 0.4},
    "proximal to the start": {"proximal": 0.4, "own_anchor": True},
    "all": {"momentum": 0.6, "proximal": 0.3, "carried": True, "local_steps": 5},
    "corrected": {"momentum": 0.6, "proximal": 0.3, "corrected": True},
    "one step": {"momentum": 0.6, "carried": True, "local_steps": 1},
}


ENGINES, HIDDEN = ("gram", "vmap", "serial"), ((), (6,), (6, 5))
PAIRWISE = [
    (engine, kind, HIDDEN[(i + j) % 3], list(DTYPES)[(i + j) % 2], batch_size, unit)
    for i, kind in enumerate(KINDS)
    for j, engine in enumerate(ENGINES)
    for batch_size, unit in ((None, "step"), (5, ("step", "epoch")[(i // 2 + j) % 2]))
]
"""Every kind on every engine with full batches and mini-batches, and every other pair of values."""


@pytest.mark.parametrize(("engine", "kind", "hidden", "dtype", "batch_size", "unit"), PAIRWISE, ids=str)
def test_perceptrons(engine, kind, hidden, dtype, batch_size, unit):
    task = ImageTask(
        partition=random_partition(SIZES),
        network=MLP((1, 4, 4), 3, hidden),
        engine=engine,
        dtype=dtype,
        batch_size=batch_size,
        local_unit=unit,
    )
    check(task, **KINDS[kind])


@pytest.mark.parametrize("most", [0, 3000])
def test_products_that_are_not_kept_are_computed_each_time(most, plant):
    """Of clients with up to 12 images, whose 144 products take 1152 bytes each."""
    task = ImageTask(
        partition=random_partition(SIZES), network=MLP((1, 4, 4), 3, (6,)), engine="gram", dtype="float64"
    )
    plant(gram, "STORED_BYTES", most)
    for clients in ((2, 0), (3, 1, 4), (0, 2)):
        check(task, clients=clients)


@pytest.mark.parametrize(
    ("engine", "batch_size", "dtype", "kind"),
    [
        ("vmap", None, "float64", "all"),
        ("vmap", 5, "float32", "plain"),
        ("serial", None, "float32", "plain"),
        ("serial", 5, "float64", "all"),
    ],
)
def test_convolutional_networks(engine, batch_size, dtype, kind):
    shape = (2, 17, 16)
    task = ImageTask(
        partition=random_partition(SIZES, image_shape=shape),
        network=CNN(shape, 3, (3, 4), (5,)),
        engine=engine,
        dtype=dtype,
        batch_size=batch_size,
        local_unit="epoch",
    )
    check(task, **KINDS[kind])


@pytest.mark.parametrize("engine", ENGINES)
def test_reshuffled_passes_take_every_image_once_a_pass(engine):
    """To first order in the step size the move is that of all images' gradients, n_i a pass; then orders matter."""
    options = {"engine": engine, "dtype": "float64", "batch_size": 5, "local_unit": "step"}
    task = ImageTask(partition=random_partition(SIZES), network=MLP((1, 4, 4), 3, (6,)), **options)
    points, clients = task.initial_models(3, (), np.random.default_rng(0)), torch.tensor([2, 0, 4])

    def moved(step_size, passes, seed=0):
        descent = Descent(step_size, passes, reshuffled=True)
        trained = task.local_steps(points, clients, np.random.default_rng(seed), descent)
        assert trained.steps.tolist() == [[passes * count] for count in (12, 7, 1)]
        return trained.points - points

    whole = ImageTask(partition=task.partition, network=task.network, dtype="float64")
    gradients = whole.gradients(points, clients, np.random.default_rng(0))
    counts = torch.tensor([12.0, 7.0, 1.0], dtype=torch.float64)[:, None]
    for passes in (1, 3):
        torch.testing.assert_close(
            moved(-1e-7, passes) / 1e-7, passes * counts * gradients, rtol=0, atol=1e-4
        )
    different = (moved(0.3, 1) != moved(0.3, 1, seed=1)).any(dim=-1)
    assert different.tolist() == [True, True, False]


@pytest.mark.parametrize("kind", ["carried", "all"])
@pytest.mark.parametrize(("engine", "batch_size"), [("gram", None), ("gram", 5), ("vmap", None), ("vmap", 5)])
def test_perceptrons_on_two_threads(engine, batch_size, kind):
    """Each of which takes a part of the clients."""
    torch.set_num_threads(2)
    task = ImageTask(
        partition=random_partition(SIZES),
        network=MLP((1, 4, 4), 3, (6, 5)),
        engine=engine,
        dtype="float64",
        batch_size=batch_size,
        local_unit="epoch",
    )
    check(task, **KINDS[kind])


@settings(max_examples=examples(40))
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    hidden=st.lists(st.integers(1, 5), max_size=2).map(tuple),
    image_shape=st.tuples(st.integers(1, 2), st.integers(1, 4), st.integers(1, 3)),
    batch_size=st.none() | st.integers(1, 10),
    unit=st.sampled_from(["step", "epoch"]),
    momentum=st.floats(0, 0.95),
    proximal=st.sampled_from([0.0, 0.3]),
    carried=st.booleans(),
    local_steps=st.integers(1, 4),
    data=st.data(),
)
def test_any_shape(
    sizes, hidden, image_shape, batch_size, unit, momentum, proximal, carried, local_steps, data
):
    clients = data.draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=6).map(tuple))
    task = ImageTask(
        partition=random_partition(sizes, image_shape=image_shape),
        network=MLP(image_shape, 3, hidden),
        engine=data.draw(st.sampled_from(["gram", "vmap", "serial"])),
        dtype="float64",
        batch_size=batch_size,
        local_unit=unit,
        chunk=data.draw(st.none() | st.integers(1, 3)),
    )
    check(
        task,
        momentum=momentum,
        proximal=proximal,
        carried=carried,
        local_steps=local_steps,
        clients=clients,
    )
