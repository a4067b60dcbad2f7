"""Multi-layer perceptrons with ReLU."""

from __future__ import annotations

import math

from torch import Tensor

from clusterproof.common.validation import check_count
from clusterproof.neural.networks.base import Network, perceptron


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

    name = "mlp"

    def __init__(self, image_shape: tuple[int, ...], classes: int, hidden: tuple[int, ...] = (200,)) -> None:
        super().__init__(image_shape, classes)
        for width in hidden:
            check_count("hidden", width, at_least=1, remedy="the papers have one layer of 200")
        self.hidden = tuple(hidden)
        self.options = {"hidden": list(hidden)}
        self.layers = perceptron((math.prod(image_shape), *hidden, classes))

    def forward(self, images: Tensor) -> Tensor:
        """Scores (b, classes) of images (b, C, H, W)."""
        scores: Tensor = self.layers(images.flatten(1))
        return scores
