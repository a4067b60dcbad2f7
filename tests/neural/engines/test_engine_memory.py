"""Results that somebody holds are never written over, and the memory of others is used again."""

import gc

import numpy as np
import pytest
import torch
from small_images import random_partition

from clusterproof.neural.engines import Workspace, free_bytes, memory
from clusterproof.neural.networks import MLP
from clusterproof.neural.task import ImageTask


@pytest.mark.slow(reason="trains on large arrays")
def test_memory_is_used_again_only_when_nothing_shares_it():
    space, like = Workspace(), torch.zeros(3, 5, dtype=torch.float64)
    holders = {
        "tensor": lambda tensor: tensor,
        "view": lambda tensor: tensor[1:, ::2],
        "detached": lambda tensor: tensor.detach(),
        "numpy": lambda tensor: tensor.numpy()[0],
        "storage": lambda tensor: tensor.untyped_storage(),
        "flattened": lambda tensor: tensor.flatten().view(5, 3),
    }
    for hold in holders.values():
        fresh = space.empty_like(like)
        first, held = fresh.data_ptr(), hold(fresh)
        del fresh
        other = space.empty_like(like)
        assert other.data_ptr() != first
        assert other.shape == like.shape
        assert other.dtype == torch.float64
        del held, other
        gc.collect()
        assert space.empty_like(like).data_ptr() == first


def test_other_sizes_take_other_memory_and_no_more_than_the_limit_is_kept(plant):
    space = Workspace()
    small, large = torch.zeros(2, 3), torch.zeros(4, 3)
    assert space.empty_like(small).shape == (2, 3)
    assert space.empty_like(large).shape == (4, 3)
    assert space.kept_bytes == 24 + 48
    plant(memory, "KEPT_BYTES", 100)
    held = [space.empty_like(large) for _ in range(3)]
    assert len({tensor.data_ptr() for tensor in held}) == 3
    assert space.kept_bytes == 24 + 48
    assert space.empty_like(torch.zeros(0, 3)).shape == (0, 3)
    spread = torch.zeros(3).expand(2, 3)
    assert space.empty_like(spread).is_contiguous()


def test_rounds_do_not_touch_the_results_of_rounds_before():
    task = ImageTask(partition=random_partition((5, 5, 5)), network=MLP((1, 4, 4), 3, (4,)))
    points, clients = task.initial_models(3, (), np.random.default_rng(0)), torch.arange(3)
    kept = []
    for _ in range(4):
        ends, buffers = task.local_training(
            points,
            torch.zeros_like(points),
            None,
            clients,
            np.random.default_rng(1),
            step_size=0.1,
            momentum=0.5,
            proximal=0.0,
            local_steps=2,
        )
        slopes = task.gradients(points, clients, np.random.default_rng(1))
        kept += [(tensor, tensor.clone()) for tensor in (ends, buffers, slopes)]
        points = ends
    assert len({tensor.data_ptr() for tensor, _ in kept}) == 12
    for tensor, copy in kept:
        assert torch.equal(tensor, copy)


def test_what_torch_keeps_on_a_gpu_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three units free for everybody, five kept by torch, of which two are in use."""
    gpu = torch.device("cuda:0")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (3, 10))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 5)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 2)
    assert free_bytes(gpu) == 6
