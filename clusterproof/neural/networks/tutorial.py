"""The convolutional network of TensorFlow's tutorial on CIFAR-10."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, max_pool2d

from clusterproof.neural.networks.base import Network, perceptron

KERNEL = 5
CHANNELS = 64
HIDDEN = (384, 192)
RADIUS, ALPHA, BIAS, EXPONENT = 4, 0.001 / 9, 1.0, 0.75
"""Of the local response normalisation."""

DEVIATIONS = (0.05, 0.05, 0.04, 0.04, 1 / 192)
CONSTANTS = (0.0, 0.1, 0.1, 0.1, 0.0)
"""Standard deviation of the weights before they are truncated, and value of the biases, layer by layer."""

CUT = 2.0
"""Standard deviations beyond which a weight is drawn again."""


class TutorialCNN(Network):
    """Two padded 5x5 convolutions of 64 channels, response normalisation, and layers of 384 and 192.

    Each convolution has ReLU and 3x3 max pooling of stride 2; local response normalisation over nine
    neighbouring channels, ``x / (1 + 0.001 / 9 * sum of squares) ** 0.75``, comes after the first pooling and
    before the second.

    Parameters
    ----------
    image_shape, classes
        As of every network.

    Notes
    -----
    The network of IFCA's public code for CIFAR-10, which takes it from TensorFlow's tutorial, on images of
    24x24: 1 068 298 parameters. It starts as there, with weights normal within two standard deviations of
    0.05, 0.05, 0.04, 0.04 and 1 / 192, and biases 0, 0.1, 0.1, 0.1 and 0. The decay of the weights of its two
    hidden layers (0.004) belongs to that code's loss, not to the network, and is not here.
    """

    name = "tutorial-cnn"
    convolutional: ClassVar[bool] = True

    def __init__(self, image_shape: tuple[int, ...], classes: int) -> None:
        super().__init__(image_shape, classes)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(inputs, CHANNELS, KERNEL, padding=KERNEL // 2, device="meta")
            for inputs in (image_shape[0], CHANNELS)
        )
        features = CHANNELS * math.prod(-(-size // 4) for size in image_shape[1:])
        self.layers = perceptron((features, *HIDDEN, classes))

    def draw_model(self, generator: np.random.Generator) -> np.ndarray:
        """Draw a model as the tutorial does, (d,), by d draws: weights truncated normal, biases constant."""
        from scipy.special import ndtr, ndtri  # a third of a second that other networks need not wait

        lowest, ends = ndtr(-CUT), np.cumsum([shape.numel() for shape in self.shapes.values()])[:-1]
        model = np.asarray(lowest + (1 - 2 * lowest) * generator.random(self.dimension))
        for index, entries in enumerate(np.split(model, ends)):
            layer, is_bias = divmod(index, 2)
            entries[:] = CONSTANTS[layer] if is_bias else DEVIATIONS[layer] * ndtri(entries)
        return model

    def forward(self, images: Tensor) -> Tensor:
        """Scores (b, classes) of images (b, C, H, W)."""
        first, second = self.convolutions
        # ReLU after pooling gives the same values and gradients, on a quarter of the numbers
        values = normalise(torch.relu(pool(first(images))))
        scores: Tensor = self.layers(pool(normalise(torch.relu(second(values)))).flatten(1))
        return scores


def pool(values: Tensor) -> Tensor:
    """Maxima of 3x3 neighbourhoods with stride 2: (b, C, H, W) to (b, C, ceil(H / 2), ceil(W / 2)).

    As TensorFlow's padding ``SAME`` has it: an even side is padded at its end, an odd one at both.
    """
    padding = (values.shape[-2] % 2, values.shape[-1] % 2)
    return max_pool2d(values, 3, 2, padding=padding, ceil_mode=True)


def normalise(values: Tensor) -> Tensor:
    """Local response normalisation over channels, (b, C, H, W).

    The sum over neighbouring channels is a convolution by a band of ones, faster on a CPU than PyTorch's pooling; the
    power -3/4 is made of roots.
    """
    count = values.shape[1]
    band = values.new_full((count, count), ALPHA).tril(RADIUS).triu(-RADIUS)
    base = conv2d(values * values, band[:, :, None, None], values.new_full((count,), BIAS))
    root = torch.rsqrt(base)
    return values * (root * torch.sqrt(root))
