"""Base class for networks with a single parameter vector: layout, initial distribution, and scores for classes."""

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
    """A classifier whose parameters are a single vector of d numbers.

    The parameter values that the torch module stores are never used. In the networks of this package, they are on the
    device ``"meta"``, which stores only shapes.

    Parameters
    ----------
    image_shape
        Channels, height and width; samples that are not images may have any shape.
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
    """Whether the network needs images (C, H, W); such networks are fastest with the channels-last memory format."""

    vectorises: bool = True
    """Whether the network works under ``torch.func.vmap``."""

    options: Mapping[str, Any] = {}
    """The network's options except shape and classes, as JSON values."""

    def __init__(self, image_shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        if self.convolutional and len(image_shape) != 3:
            rule = "must be (channels, height, width)"
            raise InvalidArgument("image_shape", image_shape, rule, "give three integers")
        for size in image_shape:
            check_count("image_shape", size, at_least=1, remedy="give channels, height and width")
        check_count("classes", classes, at_least=2, remedy="the digits have 10")
        self.image_shape, self.classes = tuple(image_shape), classes

    @abstractmethod
    def forward(self, images: Tensor) -> Tensor:
        """Return the scores (b, classes) of images (b, C, H, W)."""

    @property
    def settings(self) -> dict[str, Any]:
        """Name and options that recreate the network for a given image shape and number of classes."""
        return {"network": self.name, **self.options}

    def trained_parameters(self) -> dict[str, Tensor]:
        """Return the parameters that are part of the vector, indexed by name."""
        return dict(self.named_parameters())

    def constants(self, like: Tensor) -> dict[str, Tensor]:
        """Return all other tensors of the forward pass, with the type and device of ``like``."""
        return {}

    @cached_property
    def shapes(self) -> dict[str, torch.Size]:
        """Shapes of the tensors from which the vector is concatenated, indexed by name; the order is row-major."""
        return {name: value.shape for name, value in self.trained_parameters().items()}

    @property
    def dimension(self) -> int:
        """Number of parameters (d)."""
        return sum(shape.numel() for shape in self.shapes.values())

    def views(self, points: Tensor) -> dict[str, Tensor]:
        """Return views of points (..., d) as tensors (..., *shape), indexed by name."""
        return split(points, self.shapes)

    def function(self, parameters: dict[str, Tensor], images: Tensor) -> Tensor:
        """Return the scores (b, classes) of one model on images (b, C, H, W)."""
        constants = self.constants(next(iter(parameters.values())))
        scores: Tensor = torch.func.functional_call(self, {**constants, **parameters}, (images,))
        return scores

    def initial(
        self, shape: tuple[int, ...], generator: np.random.Generator, dtype: Any = np.float64
    ) -> np.ndarray:
        """Draw independent models with ``draw_model``, (*shape, d), of type ``dtype``."""
        models = np.empty((math.prod(shape), self.dimension), dtype)
        for model in models:
            model[:] = self.draw_model(generator)
        return models.reshape(*shape, self.dimension)

    def draw_model(self, generator: np.random.Generator) -> np.ndarray:
        """Draw a model (d,) from PyTorch's default initial distribution, with d draws in double precision.

        Linear and convolution layers start with weights and biases uniform in +-1 / sqrt(fan-in), as with
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
    """Return linear layers with these widths, and ReLU between the layers."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs, device="meta"), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def split(points: Tensor, shapes: Mapping[str, torch.Size]) -> dict[str, Tensor]:
    """Split vectors (..., n) into views (..., *shape) of consecutive tensors, indexed by name."""
    parts = torch.split(points, [shape.numel() for shape in shapes.values()], dim=-1)
    named = zip(shapes.items(), parts, strict=True)
    return {name: part.view(*points.shape[:-1], *shape) for (name, shape), part in named}
