"""Multi-layer perceptrons with ReLU."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor

from clusterproof.algorithms.validation import check_count
from clusterproof.neural.networks.network import Network, fan_in_bound


@dataclass(frozen=True)
class MLP(Network):
    """Fully connected layers with ReLU between them.

    Parameters
    ----------
    image_shape, classes
        As of every network.
    hidden
        Widths of the hidden layers. One of 200 is that of CFL-MGD and of IFCA's published code for MNIST;
        two are the "three fully-connected layers" of GL-CFL, widths unstated; none is a softmax
        regression.

    Raises
    ------
    InvalidArgument
        If a width is not a positive integer.
    """

    name: ClassVar[str] = "mlp"

    hidden: tuple[int, ...] = (200,)

    def __post_init__(self) -> None:
        """Validate the widths."""
        super().__post_init__()
        for width in self.hidden:
            check_count("hidden", width, at_least=1, remedy="the papers have one layer of 200")

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Numbers of inputs, of hidden units and of classes, layer by layer."""
        return (math.prod(self.image_shape), *self.hidden, self.classes)

    @property
    def settings(self) -> dict[str, Any]:
        """Name and hidden widths."""
        return {"network": self.name, "hidden": list(self.hidden)}

    def shapes(self) -> list[tuple[str, tuple[int, ...], float | None]]:
        """Weights (out, in) and biases (out,), layer by layer."""
        listed: list[tuple[str, tuple[int, ...], float | None]] = []
        for index, (inputs, outputs) in enumerate(pairwise(self.widths)):
            bound = fan_in_bound(inputs)
            listed.append((f"layers.{index}.weight", (outputs, inputs), bound))
            listed.append((f"layers.{index}.bias", (outputs,), bound))
        return listed

    @property
    def activations(self) -> int:
        """Numbers that one image becomes on its way, for the memory that it takes."""
        return sum(self.widths[1:])

    def function(self, parameters: dict[str, Tensor], images: Tensor) -> Tensor:
        """Scores (b, classes) of one model on images (b, C, H, W)."""
        values = images.flatten(1)
        for index in range(len(self.widths) - 1):
            values = torch.relu(values) if index else values
            weight, bias = parameters[f"layers.{index}.weight"], parameters[f"layers.{index}.bias"]
            values = torch.nn.functional.linear(values, weight, bias)
        return values

    def layers(self, points: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Weights (..., out, in) and biases (..., out) that share the memory of points (..., d)."""
        views = self.views(points)
        return [
            (views[f"layers.{index}.weight"], views[f"layers.{index}.bias"])
            for index in range(len(self.widths) - 1)
        ]

    @property
    def first_size(self) -> int:
        """Number of parameters of the first layer, which come first in the vector."""
        return self.layout[1].offset + self.layout[1].size

    def later_layers(self, tails: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Weights and biases of the layers after the first, from what follows it in the vector (..., d - d_1)."""
        placed = [
            tails[..., part.offset - self.first_size :][..., : part.size].view(*tails.shape[:-1], *part.shape)
            for part in self.layout[2:]
        ]
        return list(zip(placed[::2], placed[1::2], strict=True))
