"""The network of TensorFlow's tutorial for many clients, with gradients written by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from clusterproof.neural.engines.batched import VmapEngine
from clusterproof.neural.engines.convolutions import (
    Pooling,
    as_images,
    as_rows,
    convolve,
    framed,
    through_features,
    to_images,
)
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.packed import Factors, PackedEngine, Room, behind_relu
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


@dataclass(frozen=True)
class TutorialEngine(PackedEngine, VmapEngine):
    """TensorFlow's tutorial network on a GPU."""

    network: TutorialCNN

    def factors(self, layers: list[Tensor], batch: Batch, room: Room, losses: Tensor | None) -> Factors:
        """Factors of the gradients, see ``PackedEngine.factors``."""
        padding, images = KERNEL // 2, batch.images.flatten(0, 1)
        start = framed(images, padding, "convolutions.0", room)
        first = convolve(start, layers[0], "convolutions.0", room, cut=False)
        pooling = _pooling(first.values)
        kept, places = pooling.of(first.values)
        around, inside = room.frame("convolutions.1", kept.shape, padding)
        below = Response.of(kept.clamp_min_(0), room, inside)
        second = convolve(around, layers[1], "convolutions.1", room, cut=False)
        values = second.values.clamp_min_(0)
        above = Response.of(values, room, torch.empty_like(values))
        last = _pooling(values)
        features, chosen = last.of(above.found)
        errors, linear = through_features(layers[2:], features, batch, room, losses, cut=False)
        errors = last.back(errors.contiguous(memory_format=torch.channels_last), above.found, chosen)
        upper = behind_relu(above.back(errors, room), values)
        errors = below.back(to_images(upper, layers[1], kept.shape, padding), room)
        lower = pooling.back(behind_relu(errors, kept), first.values, places)
        return [first.factors(lower), second.factors(upper), *linear]


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
        base = as_images(torch.addmm(one, squares, _band(room)), values)
        scale = base.pow(-EXPONENT)
        return cls(values, torch.mul(values, scale, out=out), base, scale)

    def back(self, errors: Tensor, room: Room) -> Tensor:
        """Errors in the values, from those in what was found."""
        shares = torch.mul(errors, self.found, out=torch.empty_like(self.values)).div_(self.base)
        around = as_images(as_rows(shares, 1)[0] @ _band(room), self.values)
        own = torch.mul(errors, self.scale, out=torch.empty_like(self.values))
        return own.addcmul_(self.values, around, value=-2 * EXPONENT)


def _band(room: Room) -> Tensor:
    """Weights of the neighbours, (C, C), as symmetric as they are."""
    return room.once(
        lambda: room.like.new_full((CHANNELS, CHANNELS), ALPHA).tril_(RADIUS).triu_(-RADIUS), "band"
    )


def _pooling(values: Tensor) -> Pooling:
    """As ``networks.tutorial.pooled`` has it."""
    return Pooling(3, pooling_sides(values), ceil=True)
