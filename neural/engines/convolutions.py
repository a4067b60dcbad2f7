"""Convolutional networks of many clients by matrix products, with gradients written by hand.

A convolution of each client by kernels of its own is one batched product of its windows, laid out as rows, with
its kernels. ``vmap`` makes a grouped convolution of it instead, and twice as many kernels for a GPU to launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import fold, max_pool2d

from clusterproof.neural.engines.batched import VmapEngine
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.packed import Factors, PackedEngine, Room, behind_relu, through_layers
from clusterproof.neural.networks import CNN
from clusterproof.neural.networks.cnn import KERNEL


@dataclass(frozen=True)
class ConvolutionEngine(PackedEngine, VmapEngine):
    """The papers' convolutional networks on a GPU."""

    network: CNN

    def factors(self, layers: list[Tensor], batch: Batch, room: Room, losses: Tensor | None) -> Factors:
        """Factors of the gradients, see ``PackedEngine.factors``."""
        pooling, values = Pooling(2, (0, 0), ceil=False), batch.images.flatten(0, 1)
        passed: list[tuple[Convolved, Tensor, Tensor]] = []
        for index, padding in enumerate(self.network.padding):
            name = f"convolutions.{index}"
            around = framed(values, padding, name, room)
            convolved = convolve(around, layers[index], name, room, cut=index > 0)
            values, places = pooling.of(convolved.values)
            passed.append((convolved, values, places))
        errors, factors = through_features(layers[2:], values, batch, room, losses, cut=True)
        for index in (1, 0):
            convolved, values, places = passed[index]
            back = pooling.back(behind_relu(errors, values), convolved.values, places)
            factors.insert(0, convolved.factors(back))
            if index:
                errors = to_images(back, layers[1], passed[0][1].shape, self.network.padding[1])
        return factors


class Convolved(NamedTuple):
    """What the way back through a convolution needs.

    Attributes
    ----------
    rows
        Windows with a one, (k, b L, i'), L of them in each image.
    values
        (k b, O, H', W'), colours next to each other.
    """

    rows: Tensor
    values: Tensor

    def factors(self, errors: Tensor) -> tuple[Tensor, Tensor]:
        """Factors of the gradient of the kernels, from errors in the values."""
        return as_rows(errors, len(self.rows)).mT, self.rows


def framed(images: Tensor, padding: int, name: str, room: Room) -> Tensor:
    """Images (n, C, H, W) with so many zeros around them."""
    if not padding:
        return images
    around, inside = room.frame(name, images.shape, padding)
    inside.copy_(images)
    return around


def as_rows(images: Tensor, clients: int) -> Tensor:
    """Images (k b, O, H, W), colours next to each other, as rows (k, b H W, O)."""
    return images.permute(0, 2, 3, 1).reshape(clients, -1, images.shape[1])


def as_images(rows: Tensor, like: Tensor) -> Tensor:
    """Rows (..., O) of images with the height and width of others, (k b, O, H, W), colours next to each other."""
    return rows.view(len(like), *like.shape[2:], -1).permute(0, 3, 1, 2)


def convolve(images: Tensor, layer: Tensor, name: str, room: Room, *, cut: bool) -> Convolved:
    """Convolve images (k b, C, H, W), framed already, by a layer (k, O, i'); after ReLU where they are to be cut."""
    windows = images.unfold(2, KERNEL, 1).unfold(3, KERNEL, 1).permute(0, 2, 3, 1, 4, 5)
    size = windows.shape[3:].numel()
    rows = room.inputs(name, windows.shape[:3], size)
    place = torch.unflatten(rows[..., :size], 3, windows.shape[3:])
    if cut:
        torch.clamp_min(windows, 0, out=place)
    else:
        place.copy_(windows)
    together = rows.view(len(layer), -1, rows.shape[3])
    values = together @ layer.mT
    return Convolved(together, values.view(*rows.shape[:3], -1).permute(0, 3, 1, 2))


def to_images(errors: Tensor, layer: Tensor, shape: tuple[int, ...], padding: int) -> Tensor:
    """Errors in images of a shape (k b, C, H, W), from those in what a layer makes of them, (k b, O, H', W')."""
    size = shape[1] * KERNEL**2
    columns = (as_rows(errors, len(layer)) @ layer[..., :size]).view(shape[0], -1, size).mT.contiguous()
    return fold(columns, shape[2:], KERNEL, padding=padding)


def through_features(
    layers: list[Tensor], values: Tensor, batch: Batch, room: Room, losses: Tensor | None, *, cut: bool
) -> tuple[Tensor, Factors]:
    """Walk through the linear layers from images (k b, C, H, W), after ReLU where they are to be cut, and back."""
    place = torch.unflatten(values, 0, batch.targets.shape)
    size = values[0].numel()
    first = room.inputs("layers.0", batch.targets.shape, size)
    inside = torch.unflatten(first[..., :size], 2, values.shape[1:])
    if cut:
        torch.clamp_min(place, 0, out=inside)
    else:
        inside.copy_(place)
    errors, factors = through_layers(layers, first, batch, room, losses)
    return (errors @ layers[0][..., :size]).view(values.shape), factors


class Pooling(NamedTuple):
    """Largest values of squares, at every second place.

    Attributes
    ----------
    side
        Of the squares.
    padding
        Of height and width, without values.
    ceil
        Whether squares reach beyond the end.
    """

    side: int
    padding: tuple[int, int]
    ceil: bool

    def of(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """The largest, (n, O, H'', W''), and which they were, from (n, O, H', W')."""
        found: tuple[Tensor, Tensor] = max_pool2d(
            values, self.side, 2, self.padding, ceil_mode=self.ceil, return_indices=True
        )
        return found

    def back(self, errors: Tensor, values: Tensor, indices: Tensor) -> Tensor:
        """Errors in values, colours next to each other in both, from those in the largest."""
        back: Tensor = torch.ops.aten.max_pool2d_with_indices_backward(
            errors, values, [self.side] * 2, [2, 2], list(self.padding), [1, 1], self.ceil, indices
        )
        return back
