"""The convolutional network of TensorFlow's tutorial on CIFAR-10."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv2d, linear, max_pool2d

from clusterproof.neural.networks.network import Network

KERNEL = 5
CHANNELS = 64
HIDDEN = (384, 192)
RADIUS, ALPHA, BIAS, EXPONENT = 4, 0.001 / 9, 1.0, 0.75
"""Of the local response normalisation."""

SPREADS = (0.05, 0.05, 0.04, 0.04, 1 / 192)
CONSTANTS = (0.0, 0.1, 0.1, 0.1, 0.0)
"""Standard deviation of the weights before they are cut off, and value of the biases, layer by layer."""

CUT = 2.0
"""Standard deviations beyond which a weight is drawn again."""


@dataclass(frozen=True)
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

    name: ClassVar[str] = "tutorial-cnn"
    convolutional: ClassVar[bool] = True

    @property
    def settings(self) -> dict[str, Any]:
        """The name."""
        return {"network": self.name}

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Numbers of features, of hidden units and of classes of the linear layers."""
        return (CHANNELS * math.prod(-(-size // 4) for size in self.image_shape[1:]), *HIDDEN, self.classes)

    def shapes(self) -> list[tuple[str, tuple[int, ...], float | None]]:
        """Kernels (out, in, 5, 5), weights (out, in) and biases (out,), with the bounds of their start."""
        kernels = [(f"convolutions.{index}", (CHANNELS, inputs, KERNEL, KERNEL)) for index, inputs in
                   enumerate((self.image_shape[0], CHANNELS))]  # fmt: skip
        layers = [(f"layers.{index}", (outputs, inputs)) for index, (inputs, outputs) in
                  enumerate(pairwise(self.widths))]  # fmt: skip
        listed: list[tuple[str, tuple[int, ...], float | None]] = []
        for (name, shape), spread, constant in zip([*kernels, *layers], SPREADS, CONSTANTS, strict=True):
            listed += [(f"{name}.weight", shape, CUT * spread), (f"{name}.bias", shape[:1], constant)]
        return listed

    @property
    def activations(self) -> int:
        """Numbers that one image becomes on its way, for the memory that it takes."""
        height, width = self.image_shape[1:]
        return 3 * CHANNELS * height * width + sum(self.widths)

    def initial(
        self, shape: tuple[int, ...], generator: np.random.Generator, dtype: Any = np.float64
    ) -> np.ndarray:
        """Draw independent models as the tutorial does, (*shape, d): weights cut normal, biases constant.

        Parameters
        ----------
        shape, generator, dtype
            As of every network; a model takes d draws.
        """
        from scipy.special import ndtr, ndtri  # takes a third of a second, which other networks save

        drawn = np.empty((math.prod(shape), self.dimension), dtype)
        lowest = ndtr(-CUT)
        for model in drawn:
            uniform = lowest + (1 - 2 * lowest) * generator.random(self.dimension)
            for index, part in enumerate(self.layout):
                place = slice(part.offset, part.offset + part.size)
                biases, layer = index % 2, index // 2
                model[place] = CONSTANTS[layer] if biases else SPREADS[layer] * ndtri(uniform[place])
        return drawn.reshape(*shape, self.dimension)

    def function(self, parameters: dict[str, Tensor], images: Tensor) -> Tensor:
        """Scores (b, classes) of one model on images (b, C, H, W)."""

        def convolve(index: int, values: Tensor) -> Tensor:
            name = f"convolutions.{index}"
            return conv2d(
                values, parameters[f"{name}.weight"], parameters[f"{name}.bias"], padding=KERNEL // 2
            )

        # ReLU after pooling gives the same values and gradients, on a quarter of the numbers
        values = normalised(torch.relu(pooled(convolve(0, images))))
        values = pooled(normalised(torch.relu(convolve(1, values)))).flatten(1)
        for index in range(len(self.widths) - 1):
            values = torch.relu(values) if index else values
            values = linear(values, parameters[f"layers.{index}.weight"], parameters[f"layers.{index}.bias"])
        return values


def pooled(values: Tensor) -> Tensor:
    """Largest of 3x3 neighbours, at every second place: (b, C, H, W) to (b, C, ceil(H / 2), ceil(W / 2)).

    As TensorFlow's padding ``SAME`` has it: an even side is padded at its end, an odd one at both.
    """
    return max_pool2d(values, 3, 2, padding=pooling_sides(values), ceil_mode=True)


def pooling_sides(values: Tensor) -> tuple[int, int]:
    """Padding of height and width before ``pooled`` takes the largest."""
    return values.shape[-2] % 2, values.shape[-1] % 2


def normalised(values: Tensor) -> Tensor:
    """Local response normalisation over channels, (b, C, H, W).

    The sum over neighbouring channels is a convolution by a band of ones, faster on a CPU than PyTorch's pooling; the
    power -3/4 is made of roots.
    """
    count = values.shape[1]
    band = values.new_full((count, count), ALPHA).tril(RADIUS).triu(-RADIUS)
    base = conv2d(values * values, band[:, :, None, None], values.new_full((count,), BIAS))
    root = torch.rsqrt(base)
    return values * (root * torch.sqrt(root))
