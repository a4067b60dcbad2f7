"""Convolutional networks of many clients by matrix products, with gradients written by hand.

A convolution of each client by kernels of its own is one batched product of its windows, laid out as rows, with
its kernels. ``vmap`` makes a grouped convolution of it instead, and twice as many kernels for a GPU to launch.

The four values of a square that pooling takes the largest of come from rows far apart, and a zero lies before them: the
largest of the five is what ReLU makes of the largest of the four, and which it was says where the gradient goes, to
the zero where none is positive. What pooling leaves out of odd sides is never computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import fold

from clusterproof.neural.engines.batched import VmapEngine
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.packed import Factors, PackedEngine, Packing, Room, through_layers
from clusterproof.neural.networks import CNN
from clusterproof.neural.networks.cnn import KERNEL

CANDIDATES = 5
"""Of pooling and ReLU: zero, and the four values of a square."""


@dataclass(frozen=True)
class ConvolutionEngine(PackedEngine, VmapEngine):
    """The papers' convolutional networks on a GPU."""

    network: CNN

    @cached_property
    def packing(self) -> Packing:
        """Order of the parameters."""
        return Packing(self.network, (self.network.channels[1], *self.network.sides[1]))

    def first_inputs(self, images: Tensor, room: Room) -> Tensor:
        """Windows of images, see ``PackedEngine.first_inputs``."""
        around = framed(images.flatten(0, 1), self.network.padding[0], "convolutions.0", room)
        return in_squares(windows(around), len(images), "convolutions.0", room)

    def factors(
        self, layers: list[Tensor], first: Tensor, batch: Batch, room: Room, losses: Tensor | None
    ) -> Factors:
        """Factors of the gradients, see ``PackedEngine.factors``."""
        clients, samples = batch.targets.shape
        lower, upper = (
            (clients, samples, *sides, channels)
            for sides, channels in zip(self.network.sides, self.network.channels, strict=True)
        )
        padding, size = self.network.padding[1], self.network.widths[0]
        shape = (clients * samples, lower[4], lower[2], lower[3])
        around, inside = room.frame("convolutions.1", shape, padding)
        low = largest(first, layers[0], inside.permute(0, 2, 3, 1).view(lower), "convolutions.0", room)
        second = in_squares(windows(around), clients, "convolutions.1", room)
        features = room.inputs("layers.0", (clients, samples), size)
        high = largest(second, layers[1], features[..., :size].view(upper), "convolutions.1", room)
        errors, linear = through_layers(layers[2:], features, batch, room, losses)
        below, above = room.cleared(*((clients, CANDIDATES, *one[1:]) for one in (lower, upper)))
        back = to_candidates((errors @ layers[2][..., :size]).view(upper), high, above)
        images = to_frame(back, layers[1], upper, lower[4])
        inside = images[:, :, padding : padding + lower[2], padding : padding + lower[3]]
        errors = torch.unflatten(inside.permute(0, 2, 3, 1), 0, (clients, samples))
        return [(to_candidates(errors, low, below).mT, first), (back.mT, second), *linear]


def framed(images: Tensor, padding: int, name: str, room: Room) -> Tensor:
    """Images (n, C, H, W) with so many zeros around them."""
    if not padding:
        return images
    around, inside = room.frame(name, tuple(images.shape), padding)
    inside.copy_(images)
    return around


def windows(images: Tensor) -> Tensor:
    """All windows of a kernel's size in images (n, C, H, W), nothing copied: (n, C, H', W', 5, 5)."""
    return images.unfold(2, KERNEL, 1).unfold(3, KERNEL, 1)


def in_squares(found: Tensor, clients: int, name: str, room: Room) -> Tensor:
    """Windows (k b, C, H', W', 5, 5) as rows with a one, (k, 4 n, i'), all first ones of the n squares first."""
    height, width = (side // 2 for side in found.shape[2:4])
    squares = torch.unflatten(found[:, :, : 2 * height, : 2 * width], 3, (width, 2))
    squares = torch.unflatten(torch.unflatten(squares, 2, (height, 2)), 0, (clients, -1))
    squares = squares.permute(0, 4, 6, 1, 3, 5, 2, 7, 8)  # (k, 2, 2, b, H, W, C, 5, 5)
    size = squares.shape[6:].numel()
    rows = room.inputs(name, tuple(squares.shape[:6]), size)
    torch.unflatten(rows[..., :size], 6, squares.shape[6:]).copy_(squares)
    return rows.flatten(1, 5)


def largest(rows: Tensor, layer: Tensor, out: Tensor, name: str, room: Room) -> Tensor:
    """Convolve rows (k, 4 n, i') by a layer (k, O, i'), with ReLU and pooling, into ``out`` (k, b, H, W, O).

    Returns which candidate was largest, the first of several, in the same shape.
    """
    shape = (len(layer), CANDIDATES, *out.shape[1:])
    values = room.once(lambda: room.like.new_zeros(shape), "candidates", name, *shape)
    places = room.once(lambda: out.new_empty(out.shape, dtype=torch.int64), "places", name, *shape)
    torch.bmm(rows, layer.mT, out=values[:, 1:].flatten(1, 4))
    torch.max(values, 1, out=(out, places))
    return places


def to_candidates(errors: Tensor, places: Tensor, back: Tensor) -> Tensor:
    """Errors in the values of squares, (k, 4 n, O), from those in the largest candidates.

    Parameters
    ----------
    errors
        (k, b, h, w, O), of the leading rows and columns; those of others are zero.
    places
        Which candidates were largest, (k, b, H, W, O).
    back
        Zeros (k, 5, b, H, W, O), to be overwritten.
    """
    reached = places[:, :, : errors.shape[2], : errors.shape[3]]
    return back.scatter_(1, reached[:, None], errors[:, None])[:, 1:].flatten(1, 4)


def to_frame(errors: Tensor, layer: Tensor, shape: tuple[int, ...], channels: int) -> Tensor:
    """Errors in frames (k b, C, 2 H + 4, 2 W + 4), from those in their squares' values (k, 4 n, O).

    ``shape`` is that of the squares, (k, b, H, W, O).
    """
    size, (clients, samples, height, width, _) = channels * KERNEL**2, shape
    columns = (errors @ layer[..., :size]).view(clients, 2, 2, samples, height, width, size)
    columns = columns.permute(0, 3, 6, 4, 1, 5, 2).reshape(clients * samples, size, -1)
    return fold(columns, (2 * height + KERNEL - 1, 2 * width + KERNEL - 1), KERNEL)
