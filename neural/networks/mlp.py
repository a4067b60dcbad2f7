"""Multi-layer perceptrons with ReLU."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from clusterproof.algorithms.validation import check_count
from clusterproof.neural.networks.base import Network


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

    def __init__(self, image_shape: tuple[int, ...], classes: int, hidden: tuple[int, ...] = (200,)) -> None:
        super().__init__(image_shape, classes)
        for width in hidden:
            check_count("hidden", width, at_least=1, remedy="the papers have one layer of 200")
        self.hidden = tuple(hidden)
        self.widths = (math.prod(image_shape), *hidden, classes)
        self.layers = nn.ModuleList(
            nn.Linear(inputs, outputs, device="meta") for inputs, outputs in pairwise(self.widths)
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Name and hidden widths."""
        return {"network": self.name, "hidden": list(self.hidden)}

    def forward(self, images: Tensor) -> Tensor:
        """Scores (b, classes) of images (b, C, H, W)."""
        values = images.flatten(1)
        for index, layer in enumerate(self.layers):
            values = layer(torch.relu(values) if index else values)
        return values
