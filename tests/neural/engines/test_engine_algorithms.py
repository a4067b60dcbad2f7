"""Rounds do not depend on the engine, and are those of an algorithm that calls for gradients alone."""

import dataclasses

import numpy as np
import pytest
import torch
from plain_training import plain_training
from small_images import random_partition

from clusterproof.algorithms import (
    ALGORITHMS,
    InvalidArgument,
    Randomness,
    Task,
)
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.neural.networks import MLP
from clusterproof.neural.task import ImageTask

OPTIONS = {
    "cfl": {"local_steps": 2, "warm_up": 1},
    "gradient-loss": {"weight": 0.5},
    "gradient-loss, sums": {"weight": 0.5, "similarity": "euclidean", "loss_reduction": "sum"},
    "sofl": {"pretraining": 1, "updates": 20, "grid": 2, "method": "fedprox", "proximal": 0.2},
    "fpfc": {"local_steps": 2},
    "cfl-mgd": {"momentum": 0.7},
    "fedprox": {"local_steps": 3, "proximal": 0.3},
    "per-fedavg": {"local_steps": 2},
    "scaffold": {"local_steps": 3},
}
"""Whole rounds of the others, and of the last three with full batches, are compared in test_rounds_by_autograd."""
EQUAL = random_partition((8,) * 6, image_shape=(1, 6, 5))
UNEQUAL = random_partition((8, 3, 5, 8, 1, 6), image_shape=(1, 6, 5))
NETWORK = MLP((1, 6, 5), 3, (7,))


class GradientsAlone(ImageTask):
    """A task whose local steps and sums are the defaults, loops over gradients."""

    local_steps, local_sums = Task.local_steps, Task.local_sums


def rounds(name, options, task, count=2):
    """Everything in the last state, as numpy arrays."""
    algorithm = ALGORITHMS[name](step_size=0.4, **options)
    randomness = Randomness.from_seed(3, "image", name)
    models = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
    state = algorithm.initialise(models, task)
    for _ in range(count):
        state = algorithm.step(state, task, randomness)
    fields = {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    pairs = fields.pop("pairs", None)
    arrays = {key: to_numpy(value) for key, value in fields.items() if value is not None}
    if pairs is not None:
        arrays["pairs"] = pairs.delta
    return arrays


def check_alike(found, expected, tolerance):
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        np.testing.assert_allclose(found[key], values, rtol=0, atol=tolerance, err_msg=key)


@pytest.mark.parametrize("case", [*list(OPTIONS)[:5], "scaffold"])
def test_engines_agree_with_each_other_and_with_the_plain_gradient_loop(case):
    name, options = case.partition(",")[0], OPTIONS[case]
    partition = EQUAL if options.get("loss_reduction") == "sum" else UNEQUAL
    tasks = [
        ImageTask(partition=partition, network=NETWORK, dtype="float64", engine=engine, chunk=chunk)
        for engine, chunk in (("serial", None), ("vmap", 4), ("gram", 2), ("gram", None))
    ]
    plain = GradientsAlone(partition=partition, network=NETWORK, dtype="float64", engine="serial")
    expected = rounds(name, options, plain)
    for task in tasks:
        check_alike(rounds(name, options, task), expected, 1e-12)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        *((name, "step") for name in ("cfl-mgd", "per-fedavg", "gradient-loss")),
        *((name, unit) for name in ("fedprox", "fpfc", "scaffold") for unit in ("step", "epoch")),
    ],
)
def test_engines_agree_on_mini_batches(name, unit):
    options = OPTIONS[name]
    expected, *found = (
        rounds(
            name,
            options,
            ImageTask(
                partition=UNEQUAL,
                network=NETWORK,
                dtype="float64",
                engine=engine,
                batch_size=3,
                local_unit=unit,
            ),
        )
        for engine in ("serial", "vmap", "gram")
    )
    for other in found:
        check_alike(other, expected, 1e-12)


@pytest.mark.parametrize("name", ["cfl-mgd", "per-fedavg", "gradient-loss"])
def test_a_pass_is_refused_where_single_gradients_are_asked_for(name):
    task = ImageTask(partition=UNEQUAL, network=NETWORK, batch_size=3, local_unit="epoch")
    with pytest.raises(InvalidArgument, match=r"local_unit = 'epoch': .* single gradients"):
        rounds(name, OPTIONS[name], task)


@pytest.mark.parametrize("engine", ["serial", "vmap", "gram"])
@pytest.mark.parametrize("unit", ["step", "epoch"])
def test_scaffold_divides_by_the_gradient_steps_that_each_client_takes(engine, unit):
    """A client's control variate is the mean of its gradients, on 3, 1, 2, 3, 1 and 2 batches a pass; by autograd."""
    options = {"batch_size": 3, "local_unit": unit, "dtype": "float64", "engine": engine}
    task = ImageTask(partition=UNEQUAL, network=NETWORK, **options)
    scaffold = ALGORITHMS["scaffold"](step_size=0.4, local_steps=2)
    randomness, stream = (Randomness.from_seed(3, "image").gradient for _ in range(2))
    streams = dataclasses.replace(Randomness.from_seed(3), gradient=randomness)
    state = scaffold.initialise(task.initial_models(1, (), np.random.default_rng(1)), task)
    steps = 2 * torch.tensor([3, 1, 2, 3, 1, 2] if unit == "epoch" else [1] * 6, dtype=torch.float64)
    clients, motion = np.arange(6), {"step_size": 0.4, "momentum": 0.0, "proximal": 0.0, "local_steps": 2}
    for _ in range(3):
        corrections, points = state.control - state.controls, state.models.expand(6, -1)
        motion["corrections"] = corrections
        ends, _ = plain_training(task, points, None, None, clients, stream, motion)
        means = (points - ends) / (0.4 * steps[:, None]) - corrections
        state = scaffold.step(state, task, streams)
        np.testing.assert_allclose(state.controls, means, rtol=0, atol=1e-12)
        np.testing.assert_allclose(state.models[0], ends.mean(0), rtol=0, atol=1e-12)


def test_an_epoch_of_full_batches_is_a_step():
    options = {"momentum": 0.7, "averaging": "model", "local_steps": 3}
    step, epoch = (
        rounds("cfl-mgd", options, ImageTask(partition=UNEQUAL, network=NETWORK, local_unit=unit))
        for unit in ("step", "epoch")
    )
    check_alike(epoch, step, 0)


def test_single_precision_follows_double():
    options = {"momentum": 0.7, "averaging": "model", "local_steps": 3}
    single, double = (
        rounds("cfl-mgd", options, ImageTask(partition=UNEQUAL, network=NETWORK, dtype=dtype))
        for dtype in ("float32", "float64")
    )
    assert single["models"].dtype == np.float32
    check_alike(single, double, 1e-5)
