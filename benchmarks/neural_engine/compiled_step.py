"""What ``torch.compile`` does to a step of the convolutional network."""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from benchmarks.neural_engine.work import CLASSES, CNN_WORK
from benchmarks.timing import median_seconds


def compiled() -> None:
    """A step of the CNN on one thread, as it is and through ``torch.compile``."""
    torch.set_num_threads(1)
    network, size = CNN_WORK.network, CNN_WORK.batch_size or 0
    start = torch.as_tensor(network.initial((), np.random.default_rng(0)), dtype=torch.float32)
    leaves = {name: view.clone().requires_grad_() for name, view in network.views(start).items()}
    inputs = torch.randn(size, *network.image_shape).contiguous(memory_format=torch.channels_last)
    targets = torch.randint(0, CLASSES, (size,))

    def loss(parameters: dict[str, Tensor], inputs: Tensor, targets: Tensor) -> Tensor:
        return cross_entropy(network.function(parameters, inputs), targets)

    faster = torch.compile(loss)
    calls = {
        name: lambda loss=loss: torch.autograd.grad(loss(leaves, inputs, targets), list(leaves.values()))
        for name, loss in (("as it is", loss), ("compiled", faster))
    }
    began = time.perf_counter()
    calls["compiled"]()
    print(f"compiling takes {time.perf_counter() - began:.1f} s")
    for name, seconds in median_seconds(calls, 9, clock=time.process_time).items():
        print(f"{name:10s}{1e3 * seconds:8.2f} ms a step (CPU)")
