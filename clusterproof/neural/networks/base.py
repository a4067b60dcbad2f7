"""Networks as modules whose parameters are one vector: layout, initial distribution, and scores of classes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from clusterproof.common.validation import InvalidArgument, check_count


class Network(nn.Module, ABC):
    """A classifier whose parameters are a vector of d numbers.

    The values of the module's own parameters are never read. In this package's networks, these parameters are on the
    device ``"meta"``, which stores only shapes.

    Parameters
    ----------
    image_shape
        Channels, height and width; for samples that are not images, any shape.
    classes
        Number of classes, at least 2.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range.
    """

    name: str
    """Name in configurations."""

    convolutional: ClassVar[bool] = False
    """Whether the network needs images (C, H, W), and is fastest with the channels-last memory format."""

    vectorises: bool = True
    """Whether the network works under ``torch.func.vmap``."""

    options: Mapping[str, Any] = {}
    """Options of the network, except shape and classes, as plain JSON values."""

    def __init__(self, image_shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        if self.convolutional and len(image_shape) != 3:
            rule = "must be (channels, height, width)"
            raise InvalidArgument("image_shape", image_shape, rule, "give three integers")
        for size in image_shape:
            check_count("image_shape", size, at_least=1, remedy="give channels, height and width")
        check_count("classes", classes, at_least=2, remedy="10 for digits")
        self.image_shape, self.classes = tuple(image_shape), classes

    @abstractmethod
    def forward(self, images: Tensor) -> Tensor:
        """Return the scores (b, classes) of images (b, C, H, W)."""

    @property
    def settings(self) -> dict[str, Any]:
        """Name and options that recreate the network for a given image shape and number of classes."""
        return {"network": self.name, **self.options}

    def trained_parameters(self) -> dict[str, Tensor]:
        """Return the parameters that are entries of the vector, by name."""
        return dict(self.named_parameters())

    def constants(self, like: Tensor) -> dict[str, Tensor]:
        """Return further tensors of the forward pass, with the type and device of ``like``."""
        return {}

    @cached_property
    def shapes(self) -> dict[str, torch.Size]:
        """Shapes of the vector's consecutive tensors, each in row-major order, by name."""
        return {name: value.shape for name, value in self.trained_parameters().items()}

    @property
    def dimension(self) -> int:
        """Number of parameters (d)."""
        return sum(shape.numel() for shape in self.shapes.values())

    def views(self, points: Tensor) -> dict[str, Tensor]:
        """Return views of points (..., d) as tensors (..., *shape), by name."""
        return split(points, self.shapes)

    def function(self, parameters: dict[str, Tensor], images: Tensor) -> Tensor:
        """Return the scores (b, classes) of one model on images (b, C, H, W)."""
        constants = self.constants(next(iter(parameters.values())))
        scores: Tensor = torch.func.functional_call(self, {**constants, **parameters}, (images,))
        return scores

    def initial(
        self, shape: tuple[int, ...], generator: np.random.Generator, dtype: Any = np.float64
    ) -> np.ndarray:
        """Draw independent models, each by ``draw_model``, (*shape, d) of type ``dtype``."""
        models = np.empty((math.prod(shape), self.dimension), dtype)
        for model in models:
            model[:] = self.draw_model(generator)
        return models.reshape(*shape, self.dimension)

    def draw_model(self, generator: np.random.Generator) -> np.ndarray:
        """Draw a model from PyTorch's default initial distribution, (d,), with d draws in double precision.

        Linear and convolution layers start with weights and biases uniform within 1 / sqrt(fan-in), as with
        ``kaiming_uniform_(a=sqrt(5))``. Normalisations start with ones and zeros.
        """
        bounds = []
        for name, shape in self.shapes.items():
            owner, _, kind = name.rpartition(".")
            module = self.get_submodule(owner)
            low = high = float(kind == "weight")
            if isinstance(module, nn.Linear | nn.Conv2d):
                high = 1 / math.sqrt(math.prod(module.weight.shape[1:]))
                low = -high
            bounds.append(np.tile([[low], [high]], shape.numel()))
        lowest, highest = np.concatenate(bounds, axis=1)
        return np.asarray(lowest + (highest - lowest) * generator.random(self.dimension))


def perceptron(widths: Sequence[int]) -> nn.Sequential:
    """Return linear layers between these widths, with ReLU between the layers."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs, device="meta"), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def split(points: Tensor, shapes: Mapping[str, torch.Size]) -> dict[str, Tensor]:
    """Return views (..., *shape), by name, of the consecutive tensors in vectors (..., n)."""
    parts = torch.split(points, [shape.numel() for shape in shapes.values()], dim=-1)
    named = zip(shapes.items(), parts, strict=True)
    return {name: part.view(*points.shape[:-1], *shape) for (name, shape), part in named}
