"""The convolutional networks of the papers: two convolutions and a few fully connected layers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import conv2d, linear, max_pool2d

from clusterproof.algorithms.validation import InvalidArgument, check_count
from clusterproof.neural.networks.network import Network, fan_in_bound

KERNEL = 5


@dataclass(frozen=True)
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
        Black pixels on each side, before the first convolution and before the second.

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

    name: ClassVar[str] = "cnn"
    convolutional: ClassVar[bool] = True

    channels: tuple[int, int] = (32, 64)
    hidden: tuple[int, ...] = (512,)
    padding: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        """Validate the sizes."""
        super().__post_init__()
        for argument, example in (("channels", "(32, 64)"), ("padding", "(0, 0)")):
            value = getattr(self, argument)
            if len(value) != 2:
                raise InvalidArgument(argument, value, "must be of two convolutions", f"use {example}")
        for argument in ("channels", "hidden"):
            for size in getattr(self, argument):
                check_count(argument, size, at_least=1, remedy="leave it out for FedAvg's network")
        for size in self.padding:
            check_count("padding", size, at_least=0, remedy="leave it out for none")
            if size >= KERNEL:
                raise InvalidArgument(
                    "padding", self.padding, f"must be less than the kernel, {KERNEL}", "use 2"
                )
        if min(self.sides[1]) < 1:
            raise InvalidArgument(
                "image_shape",
                self.image_shape,
                "is too small: nothing is left after two convolutions; without padding they need 16x16",
                "pad them, as (2, 2), or use the network 'mlp'",
            )

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Numbers of features, of hidden units and of classes of the linear layers."""
        return (self.channels[1] * math.prod(self.sides[1]), *self.hidden, self.classes)

    @cached_property
    def sides(self) -> list[tuple[int, int]]:
        """Height and width after each convolution and its pooling."""
        height, width = self.image_shape[1:]
        found = []
        for padding in self.padding:
            height, width = ((size + 2 * padding - KERNEL + 1) // 2 for size in (height, width))
            found.append((height, width))
        return found

    @property
    def settings(self) -> dict[str, Any]:
        """Name, widths and padding."""
        return {
            "network": self.name,
            "channels": list(self.channels),
            "hidden": list(self.hidden),
            "padding": list(self.padding),
        }

    def shapes(self) -> list[tuple[str, tuple[int, ...], float | None]]:
        """Kernels (out, in, 5, 5), weights (out, in) and biases (out,)."""
        listed: list[tuple[str, tuple[int, ...], float | None]] = []
        for index, (inputs, outputs) in enumerate(pairwise((self.image_shape[0], *self.channels))):
            bound = fan_in_bound(inputs, KERNEL, KERNEL)
            listed.append((f"convolutions.{index}.weight", (outputs, inputs, KERNEL, KERNEL), bound))
            listed.append((f"convolutions.{index}.bias", (outputs,), bound))
        for index, (inputs, outputs) in enumerate(pairwise(self.widths)):
            bound = fan_in_bound(inputs)
            listed.append((f"layers.{index}.weight", (outputs, inputs), bound))
            listed.append((f"layers.{index}.bias", (outputs,), bound))
        return listed

    @property
    def activations(self) -> int:
        """Numbers that one image becomes on its way, for the memory that it takes."""
        height, width = (size + 2 * self.padding[0] - KERNEL + 1 for size in self.image_shape[1:])
        return 2 * self.channels[0] * height * width + sum(self.widths)

    def function(self, parameters: dict[str, Tensor], images: Tensor) -> Tensor:
        """Scores (b, classes) of one model on images (b, C, H, W)."""
        values = images
        for index, padding in enumerate(self.padding):
            weight = parameters[f"convolutions.{index}.weight"]
            bias = parameters[f"convolutions.{index}.bias"]
            # ReLU after pooling gives the same values and gradients, on a quarter of the numbers
            values = torch.relu(max_pool2d(conv2d(values, weight, bias, padding=padding), 2))
        values = values.flatten(1)
        for index in range(len(self.widths) - 1):
            values = torch.relu(values) if index else values
            values = linear(values, parameters[f"layers.{index}.weight"], parameters[f"layers.{index}.bias"])
        return values
