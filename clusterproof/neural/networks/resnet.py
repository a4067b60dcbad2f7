"""ResNet-20 for small images, with group normalisation."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from clusterproof.neural.networks.base import Network

STAGES = (16, 32, 64)
BLOCKS = 3
CHANNELS_PER_GROUP = 8


class ResNet20(Network):
    """Three stages of three residual blocks of two 3x3 convolutions, with 16, 32 and 64 channels.

    Parameters
    ----------
    image_shape, classes
        As of every network.

    Notes
    -----
    He et al. (2016), section 4.2, with their shortcuts without parameters. Batch normalisation is
    replaced by group normalisation, eight channels a group: running statistics are no parameters, so
    neither averaging nor a gradient step says what becomes of them, those of a model that many clients
    try out belong to none of its clusters, and statistics of the batch make a client's loss depend on
    how its data are cut into batches, without a meaning for a batch of one. CFL-MGD ran FedBCD with
    this network.
    """

    name = "resnet-20"
    convolutional: ClassVar[bool] = True

    def __init__(self, image_shape: tuple[int, ...], classes: int) -> None:
        super().__init__(image_shape, classes)
        self.stem = NormalisedConvolution(image_shape[0], STAGES[0])
        inputs, stages = STAGES[0], []
        for outputs in STAGES:
            blocks = [Block(inputs, outputs), *(Block(outputs, outputs) for _ in range(BLOCKS - 1))]
            stages.append(nn.Sequential(*blocks))
            inputs = outputs
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(inputs, classes, device="meta")

    def forward(self, images: Tensor) -> Tensor:
        """Scores (b, classes) of images (b, C, H, W)."""
        features = self.stages(torch.relu(self.stem(images)))
        scores: Tensor = self.head(features.mean((2, 3)))
        return scores


class NormalisedConvolution(nn.Conv2d):
    """A 3x3 convolution without bias, and group normalisation of its values."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__(inputs, outputs, 3, stride=stride, padding=1, bias=False, device="meta")
        self.norm = nn.GroupNorm(outputs // CHANNELS_PER_GROUP, outputs, device="meta")

    def forward(self, values: Tensor) -> Tensor:
        """Normalised values of (b, C, H, W)."""
        normalised: Tensor = self.norm(super().forward(values))
        return normalised


class Block(nn.Module):
    """Two convolutions and a shortcut, which halves the sides where channels are added."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.added = outputs - inputs
        self.first = NormalisedConvolution(inputs, outputs, 2 if self.added else 1)
        self.second = NormalisedConvolution(outputs, outputs)

    def forward(self, values: Tensor) -> Tensor:
        """Values (b, outputs, H', W') of (b, inputs, H, W)."""
        shortcut = pad(values[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.added)) if self.added else values
        return torch.relu(self.second(torch.relu(self.first(values))) + shortcut)
