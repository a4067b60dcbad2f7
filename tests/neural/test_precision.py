"""Lower precision of local training: what rounds, by how much, and what it leaves in full precision."""

import numpy as np
import pytest
import torch
from plain_training import plain_training
from small_images import random_partition

from clusterproof.algorithms import Descent
from clusterproof.common import InvalidArgument
from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.precision import precision_in_words
from clusterproof.neural.task import ImageTask

SHAPE = (1, 16, 16)
NETWORKS = {"mlp": MLP(SHAPE, 3, (6,)), "cnn": CNN(SHAPE, 3, (2, 3), (5,))}


def task_in(precision: str, engine: str, network: str, **options: str) -> ImageTask:
    partition = random_partition((7, 12), image_shape=SHAPE)
    return ImageTask(
        partition=partition, network=NETWORKS[network], engine=engine, precision=precision, **options
    )


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("engine", ["vmap", "serial"])
def test_local_steps_in_bf16_are_those_of_plain_autograd_under_autocast(engine: str, network: str) -> None:
    """Each step anew, so that no rounded parameters of an earlier step are used; and sums, too."""
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
    # products of several clients round otherwise than those of one
    assert (ends - rounded).abs().max() < (6e-2 if engine == "vmap" else 1e-5) * moved
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
