"""The convolutional networks of the papers: two convolutions and a few fully connected layers."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d

from clusterproof.common.validation import InvalidArgument, check_count
from clusterproof.neural.networks.base import Network, perceptron

KERNEL = 5


class CNN(Network):
    """Two 5x5 convolutions, each with ReLU and 2x2 max pooling, then linear layers.

    Parameters
    ----------
    image_shape, classes
        As of every network; without padding, images of at least 16x16.
    channels
        Of the two convolutions.
    hidden
        Widths of the linear layers before the last.
    padding
        Zero pixels on each side, before the first convolution and before the second.

    Raises
    ------
    InvalidArgument
        If a number is out of range or images are too small.

    Notes
    -----
    CFL-MGD has two convolutions and two linear layers and states no widths; the defaults (32, 64) and
    (512,) are those of FedAvg's network (McMahan et al., 2017), in the unpadded form that is common in
    public code. ``channels=(6, 16), hidden=(120, 84)`` is LeNet-5: SoFL's two convolutions and three linear
    layers. FPFC's public code has ``channels=(6, 16), hidden=(), padding=(2, 0)``. GL-CFL has two
    convolutions, widths unstated.
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
                raise InvalidArgument(argument, value, "must be of two convolutions", f"use {example}")
        for argument, sizes in (("channels", channels), ("hidden", hidden)):
            for size in sizes:
                check_count(argument, size, at_least=1, remedy="leave it out for FedAvg's network")
        for size in padding:
            check_count("padding", size, at_least=0, remedy="leave it out for none")
            if size >= KERNEL:
                rule = f"must be less than the kernel, {KERNEL}"
                raise InvalidArgument("padding", padding, rule, "use 2")
        self.channels, self.hidden, self.padding = tuple(channels), tuple(hidden), tuple(padding)
        height, width = image_shape[1:]
        for pad in padding:
            height, width = ((size + 2 * pad - KERNEL + 1) // 2 for size in (height, width))
        if min(height, width) < 1:
            raise InvalidArgument(
                "image_shape",
                image_shape,
                "is too small: nothing is left after two convolutions; without padding they need 16x16",
                "pad them, as (2, 2), or use the network 'mlp'",
            )
        self.convolutions = nn.ModuleList(
            nn.Conv2d(inputs, outputs, KERNEL, padding=pad, device="meta")
            for (inputs, outputs), pad in zip(pairwise((image_shape[0], *channels)), padding, strict=True)
        )
        self.layers = perceptron((channels[1] * height * width, *hidden, classes))
        self.options = {"channels": list(channels), "hidden": list(hidden), "padding": list(padding)}

    def forward(self, images: Tensor) -> Tensor:
        """Scores (b, classes) of images (b, C, H, W)."""
        values = images
        for convolution in self.convolutions:
            # ReLU after pooling gives the same values and gradients, on a quarter of the numbers
            values = torch.relu(max_pool2d(convolution(values), 2))
        scores: Tensor = self.layers(values.flatten(1))
        return scores
