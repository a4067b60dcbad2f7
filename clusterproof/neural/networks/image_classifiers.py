"""Networks that classify images: a perceptron, convolutional networks from the papers, and ResNet-20."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d, pad

from clusterproof.common.validation import InvalidArgument, check_count
from clusterproof.neural.networks.base import Network, perceptron


class MLP(Network):
    """A perceptron: fully connected layers, with ReLU between the layers.

    Parameters
    ----------
    image_shape, classes
        See ``Network``.
    hidden
        Widths of the hidden layers. CFL-MGD, and IFCA's published code for MNIST, have one layer of width 200. GL-CFL
        has two hidden layers ("three fully-connected layers") but states no widths. Without hidden layers, the network
        is a softmax regression.

    Raises
    ------
    InvalidArgument
        If a width is not a positive integer.
    """

    name = "mlp"

    def __init__(self, image_shape: tuple[int, ...], classes: int, hidden: tuple[int, ...] = (200,)) -> None:
        super().__init__(image_shape, classes)
        for width in hidden:
            check_count("hidden", width, at_least=1, remedy="the papers use one layer of width 200")
        self.hidden = tuple(hidden)
        self.options = {"hidden": list(hidden)}
        self.layers = perceptron((math.prod(image_shape), *hidden, classes))

    def forward(self, images: Tensor) -> Tensor:
        """Return the scores (b, classes) of images (b, C, H, W)."""
        scores: Tensor = self.layers(images.flatten(1))
        return scores


KERNEL = 5


class CNN(Network):
    """Two 5x5 convolutions, each with ReLU and 2x2 max pooling, then linear layers.

    Parameters
    ----------
    image_shape, classes
        See ``Network``; without padding, images must be at least 16x16.
    channels
        Channels of the two convolutions.
    hidden
        Widths of all linear layers except the last.
    padding
        Number of zero pixels on each side, before the first and before the second convolution.

    Raises
    ------
    InvalidArgument
        If a number is out of range or images are too small.

    Notes
    -----
    CFL-MGD has two convolutions and two linear layers and states no widths. The defaults (32, 64) and (512,) come from
    FedAvg's network (McMahan et al., 2017), without padding, as is common in public code. ``channels=(6, 16),
    hidden=(120, 84)`` is LeNet-5, with the two convolutions and three linear layers of SoFL. FPFC's public code uses
    ``channels=(6, 16), hidden=(), padding=(2, 0)``. GL-CFL has two convolutions but states no widths.
    """

    name = "cnn"
    convolutional: ClassVar[bool] = True

    def __init__(
        self,
        image_shape: tuple[int, ...],
        classes: int,
        channels: tuple[int, ...] = (32, 64),
        hidden: tuple[int, ...] = (512,),
        padding: tuple[int, ...] = (0, 0),
    ) -> None:
        super().__init__(image_shape, classes)
        for argument, value, example in (("channels", channels, "(32, 64)"), ("padding", padding, "(0, 0)")):
            if len(value) != 2:
                raise InvalidArgument(
                    argument, value, "must have two numbers, one per convolution", f"use {example}"
                )
        for argument, sizes in (("channels", channels), ("hidden", hidden)):
            for size in sizes:
                check_count(argument, size, at_least=1, remedy="leave it out to use FedAvg's network")
        for size in padding:
            check_count("padding", size, at_least=0, remedy="leave it out to use no padding")
            if size >= KERNEL:
                rule = f"must be less than the size of the kernel, {KERNEL}"
                raise InvalidArgument("padding", padding, rule, "use 2")
        self.channels, self.hidden, self.padding = tuple(channels), tuple(hidden), tuple(padding)
        height, width = image_shape[1:]
        for border in padding:
            height, width = ((size + 2 * border - KERNEL + 1) // 2 for size in (height, width))
        if min(height, width) < 1:
            raise InvalidArgument(
                "image_shape",
                image_shape,
                "is too small: two convolutions without padding need at least 16x16 pixels",
                "pad the images with padding=(2, 2), or use the network 'mlp'",
            )
        self.convolutions = nn.ModuleList(
            nn.Conv2d(inputs, outputs, KERNEL, padding=pad, device="meta")
            for (inputs, outputs), pad in zip(pairwise((image_shape[0], *channels)), padding, strict=True)
        )
        self.layers = perceptron((channels[1] * height * width, *hidden, classes))
        self.options = {"channels": list(channels), "hidden": list(hidden), "padding": list(padding)}

    def forward(self, images: Tensor) -> Tensor:
        """Return the scores (b, classes) of images (b, C, H, W)."""
        values = images
        for convolution in self.convolutions:
            # ReLU after pooling gives the same values and gradients, but works on a quarter of the numbers
            values = torch.relu(max_pool2d(convolution(values), 2))
        scores: Tensor = self.layers(values.flatten(1))
        return scores


STAGES = (16, 32, 64)
BLOCKS = 3
CHANNELS_PER_GROUP = 8


class ResNet20(Network):
    """ResNet-20: three stages with 16, 32 and 64 channels; each has three residual blocks of two 3x3 convolutions.

    Parameters
    ----------
    image_shape, classes
        See ``Network``.

    Notes
    -----
    He et al. (2016), section 4.2, with the shortcuts that have no parameters. Group normalisation, with eight channels
    per group, replaces batch normalisation for three reasons. Running statistics are not parameters, so neither
    averaging nor gradient steps define how to update them. If clients of several clusters evaluate a model, its running
    statistics mix these clusters. With batch statistics, a client's loss depends on the division of the data into
    batches, and a batch of one sample has no meaningful statistics. The CFL-MGD paper trains this network with FedBCD.
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
        """Return the scores (b, classes) of images (b, C, H, W)."""
        features = self.stages(torch.relu(self.stem(images)))
        scores: Tensor = self.head(features.mean((2, 3)))
        return scores


class NormalisedConvolution(nn.Conv2d):
    """A 3x3 convolution without bias, followed by group normalisation."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__(inputs, outputs, 3, stride=stride, padding=1, bias=False, device="meta")
        self.norm = nn.GroupNorm(outputs // CHANNELS_PER_GROUP, outputs, device="meta")

    def forward(self, values: Tensor) -> Tensor:
        """Return the normalised values of images (b, C, H, W)."""
        normalised: Tensor = self.norm(super().forward(values))
        return normalised


class Block(nn.Module):
    """Two convolutions and a shortcut. If the number of channels increases, height and width are halved."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.added = outputs - inputs
        self.first = NormalisedConvolution(inputs, outputs, 2 if self.added else 1)
        self.second = NormalisedConvolution(outputs, outputs)

    def forward(self, values: Tensor) -> Tensor:
        """Map values (b, inputs, H, W) to values (b, outputs, H', W')."""
        shortcut = pad(values[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.added)) if self.added else values
        return torch.relu(self.second(torch.relu(self.first(values))) + shortcut)
