"""What is trained in the comparisons: networks, clients and their images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from clusterproof.neural.networks import CNN, MLP, Network
from clusterproof.neural.partitions.partition import Holdings, Partition

CLASSES = 10
STEP_SIZE = 0.1
ORDERS = 0
"""Seed of the stream that every round's mini-batches come from, so that all rounds have the same."""


@dataclass(frozen=True)
class Work:
    """Some clients' local training.

    Attributes
    ----------
    name, network
        What is trained.
    module
        The same network in ``torch.nn``.
    clients, samples
        How many clients, with how many samples each.
    batch_size
        Of a step; all samples where None.
    steps
        Of a client in a round.
    momentum
        Of the steps; where positive a buffer is carried into the round and out of it.
    """

    name: str
    network: Network
    module: Callable[[], nn.Module]
    clients: int
    samples: int
    batch_size: int | None
    steps: int
    momentum: float = 0.0


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, CLASSES))


def convolutional() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, 32, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(1600, 512), nn.ReLU(), nn.Linear(512, CLASSES)),
    )


MLP_WORK = Work("MLP 784-200-10", MLP((1, 28, 28), CLASSES), perceptron, 48, 100, None, 10)
MOMENTUM_WORK = replace(MLP_WORK, name="MLP 784-200-10, momentum", momentum=0.9)
CNN_WORK = Work("CNN, 32x32, batches of 50", CNN((3, 32, 32), CLASSES), convolutional, 20, 100, 50, 4)


def images(work: Work) -> Partition:
    """Noisy copies of ten smooth templates, four fifths of the pixels black, as in digits."""
    stream = np.random.default_rng(0)
    coarse = stream.random((CLASSES, work.network.image_shape[0], 7, 7))
    height, width = work.network.image_shape[1:]
    smooth = torch.nn.functional.interpolate(torch.as_tensor(coarse), (height, width), mode="bilinear")
    total = work.clients * work.samples
    classes = stream.integers(0, CLASSES, total)
    drawn = smooth.numpy()[classes] + 0.15 * stream.standard_normal((total, *work.network.image_shape))
    pixels = (255 * np.clip(3 * (drawn - 0.7), 0, 1)).astype(np.uint8)
    holdings = Holdings(
        pixels,
        np.arange(total).reshape(work.clients, -1),
        classes.reshape(work.clients, -1),
        np.full(work.clients, work.samples),
        np.zeros(work.clients, dtype=np.int64),
    )
    return Partition("benchmark", {"data": "templates"}, 1, CLASSES, holdings, holdings, True)
