"""ResNet-20 for small images, with group normalisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import conv2d, group_norm, linear, pad

from clusterproof.neural.networks.network import Network, fan_in_bound

STAGES = (16, 32, 64)
BLOCKS = 3
CHANNELS_A_GROUP = 8


@dataclass(frozen=True)
class ResNet20(Network):
    """Three stages of three residual blocks of two 3x3 convolutions, 16, 32 and 64 channels wide.

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

    name: ClassVar[str] = "resnet-20"
    convolutional: ClassVar[bool] = True

    @property
    def settings(self) -> dict[str, Any]:
        """The name."""
        return {"network": self.name}

    def shapes(self) -> list[tuple[str, tuple[int, ...], float | None]]:
        """Kernels without biases, normalisations, and the linear layer."""
        listed: list[tuple[str, tuple[int, ...], float | None]] = []

        def convolution(name: str, inputs: int, outputs: int) -> None:
            listed.append((f"{name}.weight", (outputs, inputs, 3, 3), fan_in_bound(inputs, 3, 3)))
            listed.append((f"{name}.norm.weight", (outputs,), None))
            listed.append((f"{name}.norm.bias", (outputs,), None))

        convolution("stem", self.image_shape[0], STAGES[0])
        inputs = STAGES[0]
        for stage, outputs in enumerate(STAGES):
            for block in range(BLOCKS):
                convolution(f"stages.{stage}.{block}.first", inputs, outputs)
                convolution(f"stages.{stage}.{block}.second", outputs, outputs)
                inputs = outputs
        bound = fan_in_bound(inputs)
        listed.append(("head.weight", (self.classes, inputs), bound))
        listed.append(("head.bias", (self.classes,), bound))
        return listed

    @property
    def activations(self) -> int:
        """Numbers that one image becomes on its way, for the memory that it takes."""
        pixels = self.image_shape[1] * self.image_shape[2]
        return 4 * BLOCKS * sum(width * (pixels >> 2 * stage) for stage, width in enumerate(STAGES))

    def function(self, parameters: dict[str, Tensor], images: Tensor) -> Tensor:
        """Scores (b, classes) of one model on images (b, C, H, W)."""

        def convolve(name: str, values: Tensor, stride: int) -> Tensor:
            weight = parameters[f"{name}.weight"]
            values = conv2d(values, weight, stride=stride, padding=1)
            scale, shift = parameters[f"{name}.norm.weight"], parameters[f"{name}.norm.bias"]
            return group_norm(values, weight.shape[0] // CHANNELS_A_GROUP, scale, shift)

        def shorten(values: Tensor, more: int) -> Tensor:
            return pad(values[:, :, ::2, ::2], (0, 0, 0, 0, 0, more))

        features = self.features(images, convolve, shorten)
        return linear(features.mean((2, 3)), parameters["head.weight"], parameters["head.bias"])

    def features(
        self,
        images: Tensor,
        convolve: Callable[[str, Tensor, int], Tensor],
        shorten: Callable[[Tensor, int], Tensor],
    ) -> Tensor:
        """What the last block gives.

        Parameters
        ----------
        images
            As ``convolve`` takes them.
        convolve
            Convolution by a name, with a stride, and its normalisation.
        shorten
            Shortcut to half the sides and so many more channels.
        """
        values, inputs = torch.relu(convolve("stem", images, 1)), STAGES[0]
        for stage, outputs in enumerate(STAGES):
            for block in range(BLOCKS):
                name = f"stages.{stage}.{block}"
                halved = bool(stage and not block)
                passed = shorten(values, outputs - inputs) if halved else values
                values = torch.relu(convolve(f"{name}.first", values, 2 if halved else 1))
                values = torch.relu(convolve(f"{name}.second", values, 1) + passed)
            inputs = outputs
        return values
