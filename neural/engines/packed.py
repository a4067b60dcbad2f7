"""Gradients by hand with few launches, for a GPU: a bias is one more input of its layer.

A layer of o units with i inputs lies in memory as o rows of i weights, the bias, and zeros that fill the row up. Its
values are one product with inputs that end in a one, where adding a bias would take another launch, and the
gradient of weights and bias is one product, which goes into the parameters or their momentum at once.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import log_softmax, softmax

from clusterproof.neural.engines.data import Batch, side_by_side
from clusterproof.neural.engines.engine import Engine, LocalWork
from clusterproof.neural.networks import Network

ALIGNED = 8
"""Rows are filled up to a multiple of so many numbers, so that products read whole words of a GPU's memory."""

CONVOLUTIONS = 2
"""Of every convolutional network that has a packed order."""

Factors = list[tuple[Tensor, Tensor]]
"""Errors (k, o, n) and inputs (k, n, i') of every layer, whose product is the gradient."""


def filled(inputs: int) -> int:
    """Length of a row of so many inputs and a one."""
    return -(-(inputs + 1) // ALIGNED) * ALIGNED


class Packing:
    """Order of the parameters in which a layer's weights and biases are one matrix.

    Parameters
    ----------
    network
        Whose vector is a weight (o, ...) and a bias (o,) for each layer.
    features
        Colours, height and width of what the first linear layer behind two convolutions takes: its inputs then come
        colours last, as they lie in memory.
    """

    def __init__(self, network: Network, features: tuple[int, int, int] | None = None) -> None:
        self._network, self._taken = network, features
        self._shapes = [(part.shape[0], part.size // part.shape[0]) for part in network.layout[::2]]

    def pack(self, points: Tensor) -> Tensor:
        """Vectors (k, d) in this order, (k, d')."""
        packed = points.new_zeros(len(points), sum(units * filled(inputs) for units, inputs in self._shapes))
        for place, part in self._pairs(packed, points):
            place.copy_(part)
        return packed

    def unpack(self, packed: Tensor, out: Tensor) -> None:
        """Write vectors in this order, (k, d'), in the network's, (k, d)."""
        for place, part in self._pairs(packed, out):
            part.copy_(place)

    def layers(self, packed: Tensor) -> list[Tensor]:
        """Matrices (k, o, i') of all layers, which share the memory of ``packed``."""
        sizes = [units * filled(inputs) for units, inputs in self._shapes]
        return [
            part.view(len(packed), units, -1)
            for part, (units, _) in zip(torch.split(packed, sizes, 1), self._shapes, strict=True)
        ]

    def _pairs(self, packed: Tensor, points: Tensor) -> list[tuple[Tensor, Tensor]]:
        views, pairs = list(self._network.views(points).values()), []
        for index, (layer, (_, inputs)) in enumerate(zip(self.layers(packed), self._shapes, strict=True)):
            weight, place = views[2 * index].flatten(2), layer[..., :inputs]
            if index == CONVOLUTIONS and self._taken is not None:
                colours, *sides = self._taken
                weight = torch.unflatten(weight, 2, self._taken)
                place = torch.unflatten(place, 2, (*sides, colours)).movedim(-1, 2)
            pairs += [(place, weight), (layer[..., inputs], views[2 * index + 1])]
        return pairs


class Room:
    """Memory that all steps of a training write to, with the ones and zeros that they leave alone.

    Parameters
    ----------
    like
        Of its type and device.
    """

    def __init__(self, like: Tensor) -> None:
        self.like = like
        self._kept: dict[tuple[object, ...], Tensor] = {}

    def once(self, make: Callable[[], Tensor], *key: object) -> Tensor:
        """What was made under a key."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def inputs(self, layer: str, shape: tuple[int, ...], size: int) -> Tensor:
        """Inputs of a layer, (*shape, i'): the first ``size`` to be written, then a one and zeros."""

        def make() -> Tensor:
            made = self.like.new_zeros(*shape, filled(size))
            made[..., size] = 1
            return made

        return self.once(make, "inputs", layer, *shape)

    def frame(self, layer: str, shape: tuple[int, ...], padding: int) -> tuple[Tensor, Tensor]:
        """Images (n, C, H, W) with zeros around them, colours next to each other; and their inside, to be written."""
        number, channels, height, width = shape
        sides = (height + 2 * padding, width + 2 * padding)
        stored = self.once(lambda: self.like.new_zeros(number, *sides, channels), "frame", layer, *shape)
        around = stored.permute(0, 3, 1, 2)
        return around, around[:, :, padding : padding + height, padding : padding + width]

    def cleared(self, *shapes: tuple[int, ...]) -> list[Tensor]:
        """Tensors of zeros, which one launch clears."""
        sizes = [math.prod(shape) for shape in shapes]
        stored = self.once(lambda: self.like.new_empty(sum(sizes)), "cleared", *shapes).zero_()
        return [part.view(shape) for part, shape in zip(torch.split(stored, sizes), shapes, strict=True)]


@dataclass(frozen=True)
class PackedEngine(Engine):
    """Gradients and local steps in packed order."""

    @abstractmethod
    def first_inputs(self, images: Tensor, room: Room) -> Tensor:
        """Inputs of the first layer, (s, ..., i'), of images (s, b, C, H, W)."""

    @abstractmethod
    def factors(
        self, layers: list[Tensor], first: Tensor, batch: Batch, room: Room, losses: Tensor | None
    ) -> Factors:
        """Factors of the gradients, from layers (k, o, i') and the inputs of the first; losses (k,) where asked for."""

    @cached_property
    def packing(self) -> Packing:
        """Order of the parameters."""
        return Packing(self.network)

    def gradients(self, points: Tensor, batch: Batch, out: Tensor, losses: Tensor | None = None) -> None:
        """Gradients of the losses, see ``Engine.gradients``."""
        packed = self.packing.pack(points)
        slopes, room = torch.empty_like(packed), Room(packed)
        (first,) = self._laid_out([batch], room)
        self._add(slopes, packed, first, batch, room, keep=0.0, scale=1.0, losses=losses)
        self.packing.unpack(slopes, out)

    def train(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        work: LocalWork,
        out_points: Tensor,
        out_buffers: Tensor | None,
    ) -> None:
        """Train locally, see ``Engine.train``."""
        here = self.packing.pack(points)
        pull = self.packing.pack(anchors) if anchors is not None and work.proximal else None
        speed = None
        if out_buffers is not None:
            speed = torch.zeros_like(here) if buffers is None else self.packing.pack(buffers)
        room, ends = Room(here), work.ends(here, speed)
        known: Batch | None = None
        for step, batch in enumerate(work.batches()):
            if batch is not known:
                known, (first,) = batch, self._laid_out([batch], room)
            shrink = work.step_size * work.proximal
            if speed is None:
                keep = 1.0 if pull is None else 1 - shrink
                self._add(here, here, first, batch, room, keep=keep, scale=-work.step_size)
                if pull is not None:
                    here.add_(pull, alpha=shrink)
            else:
                self._add(speed, here, first, batch, room, keep=work.momentum, scale=1.0)
                if pull is not None:
                    speed.add_(here, alpha=work.proximal).sub_(pull, alpha=work.proximal)
                here.sub_(speed, alpha=work.step_size)
            if ends is not None:
                ends.note(step + 1)
        if ends is not None:
            ends.restore()
        self.packing.unpack(here, out_points)
        if speed is not None and out_buffers is not None:
            self.packing.unpack(speed, out_buffers)

    def meta_train(
        self, points: Tensor, inner_step_size: float, work: LocalWork, out: Tensor, *, second_order: bool
    ) -> None:
        """Train on the loss after a step of descent, see ``Engine.meta_train``; both batches are laid out at once."""
        if second_order:  # the product is PyTorch's, but of perceptrons
            super().meta_train(points, inner_step_size, work, out, second_order=True)
            return
        here = self.packing.pack(points)
        ahead, room, batches = torch.empty_like(here), Room(here), work.batches()
        known: Batch | None = None
        for first, second in zip(batches, batches, strict=True):  # one iterator: two batches a time
            if first is not known:
                known, laid = first, self._laid_out([first] if second is first else [first, second], room)
            ahead.copy_(here)
            self._add(ahead, here, laid[0], first, room, keep=1.0, scale=-inner_step_size)
            self._add(here, ahead, laid[-1], second, room, keep=1.0, scale=-work.step_size)
        self.packing.unpack(here, out)

    def _laid_out(self, batches: list[Batch], room: Room) -> list[Tensor]:
        """Inputs of the first layer for each of some batches, in memory that the next call writes to again."""
        stored = [batch.rows for batch in batches if batch.rows is not None]
        if len(stored) == len(batches):
            return stored
        images = batches[0].images if len(batches) == 1 else side_by_side(batches).flatten(0, 1)
        return list(torch.unflatten(self.first_inputs(images, room), 0, (len(batches), -1)))

    def _add(
        self,
        moving: Tensor,
        points: Tensor,
        first: Tensor,
        batch: Batch,
        room: Room,
        *,
        keep: float,
        scale: float,
        losses: Tensor | None = None,
    ) -> None:
        """Replace leading rows of ``moving`` by keep * moving + scale * gradient at ``points``, both (k, d')."""
        busy = len(batch.targets)
        factors = self.factors(self.packing.layers(points[:busy]), first, batch, room, losses)
        for layer, (errors, inputs) in zip(self.packing.layers(moving[:busy]), factors, strict=True):
            layer.baddbmm_(errors, inputs, beta=keep, alpha=scale)


class Walk(NamedTuple):
    """What a walk through linear layers and back leaves, of n samples.

    Attributes
    ----------
    inputs
        Of each layer but the first, (k, n, i').
    scores, shares
        What the last one gives, and the softmax of that, (k, n, classes).
    errors
        Gradients of the loss in what each layer gives, (k, n, o).
    """

    inputs: list[Tensor]
    scores: Tensor
    shares: Tensor
    errors: list[Tensor]

    def part(self, samples: slice) -> Walk:
        """What is left of some of the samples."""
        own = [[one[:, samples] for one in listed] for listed in (self.inputs, self.errors)]
        return Walk(own[0], self.scores[:, samples], self.shares[:, samples], own[1])

    def factors(self, first: Tensor) -> Factors:
        """Factors of the gradient; the inputs of the first layer are (k, n, i')."""
        return [(errors.mT, own) for errors, own in zip(self.errors, [first, *self.inputs], strict=True)]


def walk(layers: list[Tensor], firsts: list[Tensor], batches: list[Batch], room: Room, name: str) -> Walk:
    """Walk through linear layers with ReLU between them, and back.

    Parameters
    ----------
    layers
        Matrices (k, o, i').
    firsts
        Inputs of the first of them, (k, b, i') for each batch.
    batches
        Whose targets the scores are compared with; their samples lie side by side in what is left.
    room, name
        For the inputs of the others, which the next walk of this name and as many samples writes to.
    """
    widths = [one.shape[1] for one in firsts]
    values = firsts[0].new_empty(len(layers[0]), sum(widths), layers[0].shape[1])
    for first, place in zip(firsts, torch.split(values, widths, 1), strict=True):
        torch.bmm(first, layers[0].mT, out=place)
    inputs = []
    for index, layer in enumerate(layers[1:], 1):
        units = values.shape[2]
        inputs.append(room.inputs(f"{name}.{index}", values.shape[:2], units))
        torch.clamp_min(values, 0, out=inputs[-1][..., :units])
        values = inputs[-1] @ layer.mT
    shares = softmax(values, -1)
    errors = [torch.empty_like(shares)]
    parts = torch.split(shares, widths, 1), torch.split(errors[0], widths, 1)
    for batch, share, place in zip(batches, *parts, strict=True):
        torch.addcmul(batch.answers(shares.shape[2]), share, batch.weights[..., None], out=place)
    for index in range(len(layers) - 1, 0, -1):
        units = layers[index - 1].shape[1]
        errors.append(behind_relu(errors[-1] @ layers[index][..., :units], inputs[index - 1][..., :units]))
    return Walk(inputs, values, shares, errors[::-1])


def through_layers(
    layers: list[Tensor], first: Tensor, batch: Batch, room: Room, losses: Tensor | None
) -> tuple[Tensor, Factors]:
    """Errors in what the first layer gives, (k, b, o), and the factors of all; losses (k,) where asked for."""
    left = walk(layers, [first], [batch], room, "layers")
    if losses is not None:
        logarithms = log_softmax(left.scores, -1).gather(2, batch.targets[..., None])[..., 0]
        losses.copy_(-(logarithms * batch.weights).sum(1))
    return left.errors[0], left.factors(first)


def behind_relu(errors: Tensor, values: Tensor) -> Tensor:
    """Errors where values, before or after ReLU, are positive, and 0 elsewhere: in the values' order of memory."""
    out = torch.empty_like(values)
    through: Tensor = torch.ops.aten.threshold_backward.grad_input(errors, values, 0, grad_input=out)
    return through
