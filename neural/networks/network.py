"""What every network is: a flat vector of parameters, a law for its start, and scores of classes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms.validation import InvalidArgument, check_count


@dataclass(frozen=True)
class Parameter:
    """Place and initial law of one tensor inside the flat vector.

    Attributes
    ----------
    name
        As ``torch.nn`` would call it, such as ``"layers.0.weight"``.
    shape
        Of the tensor.
    offset
        Where it begins in the vector; it is stored there row by row.
    low, high
        It starts uniform between the two; a constant where they are equal.
    """

    name: str
    shape: tuple[int, ...]
    offset: int
    low: float
    high: float

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Network(ABC):
    """A classifier of images whose parameters are one vector of d numbers.

    Parameters
    ----------
    image_shape
        Channels, height and width; of another sample whatever it has.
    classes
        Number of classes, at least 2.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range.
    """

    name: ClassVar[str]
    """Name in configurations."""

    convolutional: ClassVar[bool] = False
    """Whether it takes images (C, H, W) alone, and is fastest with colours next to each other in memory."""

    vectorises: ClassVar[bool] = True
    """Whether ``torch.func.vmap`` takes it."""

    one_thread: ClassVar[str] = ""
    """Why it may be computed by one thread only; empty where it may be by several."""

    image_shape: tuple[int, ...]
    classes: int

    def __post_init__(self) -> None:
        """Validate what all networks have in common."""
        if self.convolutional and len(self.image_shape) != 3:
            raise InvalidArgument(
                "image_shape", self.image_shape, "must be (channels, height, width)", "give three integers"
            )
        for size in self.image_shape:
            check_count("image_shape", size, at_least=1, remedy="give channels, height and width")
        check_count("classes", self.classes, at_least=2, remedy="10 for digits")

    @abstractmethod
    def shapes(self) -> list[tuple[str, tuple[int, ...], float | None]]:
        """Name, shape and bound of every tensor, in their order in the vector.

        A tensor starts uniform between minus and plus its bound; None stands for the constant start of a
        normalisation: ones for a weight, zeros for a bias.
        """

    @abstractmethod
    def function(self, parameters: dict[str, Tensor], images: Tensor) -> Tensor:
        """Scores (b, classes) of one model on images (b, C, H, W)."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What makes the network again, beside the shape of images and the number of classes."""

    @property
    @abstractmethod
    def activations(self) -> int:
        """Numbers that one image becomes on its way, for the memory that it takes."""

    @cached_property
    def layout(self) -> tuple[Parameter, ...]:
        """Place and initial law of every tensor."""
        placed, offset = [], 0
        for name, shape, bound in self.shapes():
            if bound is None:
                low = high = 1.0 if name.endswith("weight") else 0.0
            else:
                low, high = -bound, bound
            placed.append(Parameter(name, shape, offset, low, high))
            offset += math.prod(shape)
        return tuple(placed)

    @property
    def dimension(self) -> int:
        """Number of parameters (d)."""
        return self.layout[-1].offset + self.layout[-1].size

    def views(self, points: Tensor) -> dict[str, Tensor]:
        """Tensors (..., *shape) by name that share the memory of points (..., d)."""
        return {
            part.name: points[..., part.offset : part.offset + part.size].view(
                *points.shape[:-1], *part.shape
            )
            for part in self.layout
        }

    def initial(
        self, shape: tuple[int, ...], generator: np.random.Generator, dtype: Any = np.float64
    ) -> np.ndarray:
        """Draw independent models by PyTorch's default law, (*shape, d).

        Linear and convolution layers start with weights and biases uniform within 1 / sqrt(fan-in), to
        which ``kaiming_uniform_(a=sqrt(5))`` amounts; normalisations with ones and zeros.

        Parameters
        ----------
        shape
            Leading axes.
        generator
            Source of the draws; every model takes d of them, in double precision.
        dtype
            Of the result.
        """
        low, high = (
            np.concatenate([np.full(part.size, getattr(part, end)) for part in self.layout])
            for end in ("low", "high")
        )
        drawn = np.empty((math.prod(shape), self.dimension), dtype)
        for model in drawn:
            model[:] = low + (high - low) * generator.random(self.dimension)
        return drawn.reshape(*shape, self.dimension)

    def logits(self, points: Tensor, images: Tensor) -> Tensor:
        """Scores of models (k, d), each on its own images (k, b, C, H, W): (k, b, classes)."""
        scores: Tensor = torch.func.vmap(self.function)(self.views(points), images)
        return scores


def fan_in_bound(*sizes: int) -> float:
    """Bound of the uniform start of a layer, 1 / sqrt of the product of its input sizes."""
    return 1 / math.sqrt(math.prod(sizes))
