"""The network of TensorFlow's tutorial for many clients, with gradients written by hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import fold, max_pool2d

from clusterproof.neural.engines.batched import VmapEngine
from clusterproof.neural.engines.convolutions import framed, windows
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.packed import (
    Factors,
    PackedEngine,
    Packing,
    Room,
    behind_relu,
    through_layers,
)
from clusterproof.neural.networks import TutorialCNN
from clusterproof.neural.networks.tutorial import (
    ALPHA,
    BIAS,
    CHANNELS,
    EXPONENT,
    KERNEL,
    RADIUS,
    pooling_sides,
)

POOLED = 3
"""Side of the squares that pooling takes the largest of, at every second place."""


@dataclass(frozen=True)
class TutorialEngine(PackedEngine, VmapEngine):
    """TensorFlow's tutorial network on a GPU."""

    network: TutorialCNN

    @cached_property
    def packing(self) -> Packing:
        """Order of the parameters."""
        height, width = (-(-side // 4) for side in self.network.image_shape[1:])
        return Packing(self.network, (CHANNELS, height, width))

    def first_inputs(self, images: Tensor, room: Room) -> Tensor:
        """Windows of images, see ``PackedEngine.first_inputs``."""
        around = framed(images.flatten(0, 1), KERNEL // 2, "convolutions.0", room)
        return in_rows(windows(around), len(images), "convolutions.0", room)

    def factors(
        self, layers: list[Tensor], first: Tensor, batch: Batch, room: Room, losses: Tensor | None
    ) -> Factors:
        """Factors of the gradients, see ``PackedEngine.factors``."""
        height, width = self.network.image_shape[1:]
        lower = as_images(first @ layers[0].mT, (batch.targets.numel(), CHANNELS, height, width))
        kept, places = largest_of_nine(lower)
        around, inside = room.frame("convolutions.1", tuple(kept.shape), KERNEL // 2)
        below = Response.of(kept.clamp_min_(0), room, inside)
        second = in_rows(windows(around), len(first), "convolutions.1", room)
        upper = as_images(second @ layers[1].mT, kept.shape).clamp_min_(0)
        above = Response.of(upper, room, torch.empty_like(upper))
        last, chosen = largest_of_nine(above.found)
        size = last[0].numel()
        features = room.inputs("layers.0", tuple(batch.targets.shape), size)
        features[..., :size] = last.permute(0, 2, 3, 1).view(*batch.targets.shape, size)
        errors, linear = through_layers(layers[2:], features, batch, room, losses)
        errors = as_images(errors @ layers[2][..., :size], last.shape)
        errors = above.back(to_largest(errors, above.found, chosen), room)
        high = as_rows(behind_relu(errors, upper), len(first))
        errors = below.back(to_images(high, layers[1], kept.shape), room)
        low = as_rows(to_largest(behind_relu(errors, kept), lower, places), len(first))
        return [(low.mT, first), (high.mT, second), *linear]


def as_rows(images: Tensor, clients: int) -> Tensor:
    """Images (k b, O, H, W), colours next to each other, as rows (k, b H W, O)."""
    return images.permute(0, 2, 3, 1).reshape(clients, -1, images.shape[1])


def as_images(rows: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Rows of images of a shape (k b, O, H, W), in one piece, as these, colours next to each other."""
    number, channels, height, width = shape
    return rows.view(number, height, width, channels).permute(0, 3, 1, 2)


def in_rows(found: Tensor, clients: int, name: str, room: Room) -> Tensor:
    """Windows (k b, C, H, W, 5, 5) as rows with a one, (k, b H W, i')."""
    places = found.permute(0, 2, 3, 1, 4, 5)
    size = places.shape[3:].numel()
    rows = room.inputs(name, tuple(places.shape[:3]), size)
    torch.unflatten(rows[..., :size], 3, places.shape[3:]).copy_(places)
    return rows.view(clients, -1, rows.shape[3])


def to_images(errors: Tensor, layer: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Errors in images of a shape (k b, C, H, W), from those in what a layer makes of them, (k, b H W, O)."""
    size = shape[1] * KERNEL**2
    columns = (errors @ layer[..., :size]).view(shape[0], -1, size).mT.contiguous()
    return fold(columns, shape[2:], KERNEL, padding=KERNEL // 2)


class Response(NamedTuple):
    """What the way back through local response normalisation needs, (n, C, H, W), colours next to each other.

    Attributes
    ----------
    values, found
        Before and after.
    base, scale
        The sum over neighbours, and its power that multiplies the values.
    """

    values: Tensor
    found: Tensor
    base: Tensor
    scale: Tensor

    @classmethod
    def of(cls, values: Tensor, room: Room, out: Tensor) -> Response:
        """Normalise values, into ``out``; the sum over neighbouring channels is a product with a band."""
        one = room.once(lambda: room.like.new_full((CHANNELS,), BIAS), "one")
        squares = as_rows(values * values, 1)[0]
        base = as_images(torch.addmm(one, squares, _band(room)), values.shape)
        scale = base.pow(-EXPONENT)
        return cls(values, torch.mul(values, scale, out=out), base, scale)

    def back(self, errors: Tensor, room: Room) -> Tensor:
        """Errors in the values, from those in what was found."""
        shares = torch.mul(errors, self.found, out=torch.empty_like(self.values)).div_(self.base)
        around = as_images(as_rows(shares, 1)[0] @ _band(room), self.values.shape)
        own = torch.mul(errors, self.scale, out=torch.empty_like(self.values))
        return own.addcmul_(self.values, around, value=-2 * EXPONENT)


def _band(room: Room) -> Tensor:
    """Weights of the neighbours, (C, C), as symmetric as they are."""
    return room.once(
        lambda: room.like.new_full((CHANNELS, CHANNELS), ALPHA).tril_(RADIUS).triu_(-RADIUS), "band"
    )


def largest_of_nine(values: Tensor) -> tuple[Tensor, Tensor]:
    """The largest, (n, O, H', W'), and which they were, of (n, O, H, W), as ``networks.tutorial.pooled`` has it."""
    found: tuple[Tensor, Tensor] = max_pool2d(
        values, POOLED, 2, pooling_sides(values), ceil_mode=True, return_indices=True
    )
    return found


def to_largest(errors: Tensor, values: Tensor, places: Tensor) -> Tensor:
    """Errors in values, from those in the largest of nine; colours next to each other in both."""
    back: Tensor = torch.ops.aten.max_pool2d_with_indices_backward(
        errors, values, [POOLED] * 2, [2, 2], list(pooling_sides(values)), [1, 1], True, places
    )
    return back
