"""ResNet-20 for small images, with group normalisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import conv2d, group_norm, linear, pad

from clusterproof.neural.networks.network import Network, fan_in_bound

STAGES = (16, 32, 64)
BLOCKS = 3
CHANNELS_A_GROUP = 8

Normalise: TypeAlias = Callable[[Tensor, int, Tensor, Tensor], Tensor]
"""Normalises groups of channels, as ``torch.nn.functional.group_norm`` does."""


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

    def function(
        self, parameters: dict[str, Tensor], images: Tensor, normalise: Normalise = group_norm
    ) -> Tensor:
        """Scores (b, classes) of one model on images (b, C, H, W), groups of channels normalised as is said."""

        def convolve(name: str, values: Tensor, stride: int = 1) -> Tensor:
            weight = parameters[f"{name}.weight"]
            values = conv2d(values, weight, stride=stride, padding=1)
            scale, shift = parameters[f"{name}.norm.weight"], parameters[f"{name}.norm.bias"]
            return normalise(values, weight.shape[0] // CHANNELS_A_GROUP, scale, shift)

        values = torch.relu(convolve("stem", images))
        for stage, outputs in enumerate(STAGES):
            for block in range(BLOCKS):
                name = f"stages.{stage}.{block}"
                stride = 2 if stage and not block else 1
                passed = values[:, :, ::stride, ::stride]
                passed = pad(passed, (0, 0, 0, 0, 0, outputs - passed.shape[1]))
                values = torch.relu(convolve(f"{name}.first", values, stride))
                values = torch.relu(convolve(f"{name}.second", values) + passed)
        return linear(values.mean((2, 3)), parameters["head.weight"], parameters["head.bias"])
