"""Local steps of perceptrons in the span of their clients' samples.

The gradient in the first layer's weight W, (h, in), is D X with the errors D, (h, n), and the client's data
X, (n, in). After any number of steps W is therefore a combination of where it began, of the momentum buffer
U and the anchor A that came with it, and of C X with a coefficient matrix C, (h, n). All that a step needs
of W is W X', and C X X' needs only K = X X', (n, n): a step costs h n n multiplications in place of twice
h n in, and W itself is put together once, at the end. A mini-batch of b samples uses b columns of X X' and
moves b columns of C: h n b multiplications, and no pass over W.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from clusterproof.neural.engines import dense
from clusterproof.neural.engines.batched import leading, step_layers
from clusterproof.neural.engines.clusters import Share
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.dense import Layers
from clusterproof.neural.engines.engine import LocalWork, Selection
from clusterproof.neural.engines.gram_form.compiled_walk import is_compiled, take_steps
from clusterproof.neural.engines.products import multiply
from clusterproof.neural.networks import MLP


@dataclass
class Shares:
    """How much of the start w0, of the buffer u0 and of the anchor a0 a vector contains.

    Attributes
    ----------
    start, buffer, anchor
        Coefficients.
    """

    start: float
    buffer: float
    anchor: float

    def times(self, size: Share) -> tuple[Share, Share]:
        """Shares of start and buffer in a sum of so many alike, whose anchor is the start."""
        return (self.start + self.anchor) * size, self.buffer * size

    def of(self, total: Tensor, start: Tensor, buffer: Tensor | None, anchor: Tensor | None) -> Tensor:
        """Add these shares of the three to ``total``, in place."""
        parts = ((self.start, start), (self.buffer, buffer), (self.anchor, anchor))
        for share, part in parts:
            if share and part is not None:
                total.add_(part, alpha=share)
        return total


class FirstLayer(NamedTuple):
    """What vectors of the first layer give on the samples of k clients, before ReLU, (k, h, n).

    Attributes
    ----------
    start, buffer, anchor
        Of where the clients start, of their momentum buffers and of their anchors; None for what is 0.
    """

    start: Tensor
    buffer: Tensor | None
    anchor: Tensor | None

    def of(self, selection: Selection) -> FirstLayer:
        """The part of a local step."""
        buffer, anchor = (
            None if values is None else selection.columns(values) for values in (self.buffer, self.anchor)
        )
        return FirstLayer(selection.columns(self.start), buffer, anchor)


class LaterLayers(NamedTuple):
    """Layers after the first of k clients, which move in place.

    Attributes
    ----------
    layers, velocities
        Weights and biases, and their momentum buffers, which share memory with the vectors; None for none.
    points, buffers, anchors
        Of where the clients are, of their momentum buffers and of their anchors, (k, d - d_1); None for none.
    """

    layers: Layers
    velocities: Layers | None
    points: Tensor
    buffers: Tensor | None
    anchors: Tensor | None

    @classmethod
    def make(
        cls, network: MLP, points: Tensor, buffers: Tensor | None, anchors: Tensor | None
    ) -> LaterLayers:
        """Those of a network in the ends of vectors, (k, d - d_1)."""
        velocities = None if buffers is None else network.later_layers(buffers)
        return cls(network.later_layers(points), velocities, points, buffers, anchors)

    def of(self, count: int) -> LaterLayers:
        """Those of the first clients."""
        buffers, anchors = (None if one is None else one[:count] for one in (self.buffers, self.anchors))
        velocities = None if self.velocities is None else leading(self.velocities, count)
        return LaterLayers(leading(self.layers, count), velocities, self.points[:count], buffers, anchors)

    def step(self, errors: list[Tensor], values: list[Tensor], work: LocalWork) -> None:
        """Take a local step, from the errors of these layers and the values of those below."""
        vectors = (self.points, self.buffers, self.anchors)
        step_layers(self.layers, self.velocities, errors, [value.mT for value in values], vectors, work)


@dataclass(frozen=True, eq=False)
class Arrived:
    """Clients that have taken their last step.

    Attributes
    ----------
    clients
        Which.
    place, speed
        Shares in their first layer's weight and in its buffer.
    moves, rates
        Coefficients in both of their samples, (clients, h, n); None without buffers.
    """

    clients: slice
    place: Shares
    speed: Shares
    moves: Tensor
    rates: Tensor | None


def walk(
    first: FirstLayer, later: LaterLayers, everything: Batch, gram: Tensor, work: LocalWork, *, carries: bool
) -> Iterator[Arrived]:
    """Take all local steps, and say who is done after each.

    Parameters
    ----------
    first, later
        Of the clients.
    everything
        All data of theirs.
    gram
        X X' + 1 of each client, (k, n, n).
    work
        What they are to do.
    carries
        Whether buffers are kept.
    """
    classes = later.layers[-1][1].shape[1] if later.layers else first.start.shape[1]
    place, speed = Shares(1.0, 0.0, 0.0), Shares(0.0, 1.0, 0.0)
    moves = torch.zeros_like(first.start, memory_format=torch.contiguous_format)
    rates = torch.zeros_like(moves) if carries else None
    if is_compiled(first.start, later.layers, work):
        shares = []
        for _ in range(work.local_steps):
            shares.append(place.buffer)
            _advance(place, speed, work)
        layer, velocity = later.layers[0], None if later.velocities is None else later.velocities[0]
        take_steps(first.start, first.buffer, shares, everything, gram, layer, velocity, moves, rates, work)
        yield Arrived(slice(0, len(moves)), place, speed, moves, rates)
        return
    selections = list(work.selections())
    batch: Batch | None = None
    for step, selection in enumerate(selections):
        busy = selection.clients
        if batch is None or selection.samples is not None:  # all data are those of the step before
            batch = selection.of(everything)
        begun = first.of(selection)
        here = later.of(busy)
        moved = multiply(moves[:busy], selection.columns_of_symmetric(gram)) if step else None
        first_values = place.of(torch.zeros_like(begun.start) if moved is None else moved, *begun)
        values = dense.remaining_values(here.layers, first_values)
        errors = dense.all_errors(
            here.layers, values, dense.to_errors(values[-1], batch.truth(classes), batch.weights)
        )
        here.step(errors[1:], values, work)
        _move(moves[:busy], None if rates is None else rates[:busy], errors[0], selection, work)
        _advance(place, speed, work)
        staying = selections[step + 1].clients if step + 1 < len(selections) else 0
        if staying < busy:
            done = slice(staying, busy)
            own = None if rates is None else rates[done]
            yield Arrived(done, replace(place), replace(speed), moves[done], own)


def _move(moves: Tensor, rates: Tensor | None, errors: Tensor, selection: Selection, work: LocalWork) -> None:
    """Take a local step in the coefficients (k, h, n), from errors (k, h, b)."""
    if rates is None:
        if work.proximal:
            moves.mul_(1 - work.step_size * work.proximal)
        selection.add(moves, errors, -work.step_size)
        return
    selection.add(rates.mul_(work.momentum), errors, 1.0)
    if work.proximal:
        rates.add_(moves, alpha=work.proximal)
    moves.sub_(rates, alpha=work.step_size)


def _advance(place: Shares, speed: Shares, work: LocalWork) -> None:
    """Carry the recursion of a local step out on the shares."""
    for part in ("start", "buffer", "anchor"):
        pull = work.proximal * (getattr(place, part) - (part == "anchor"))
        faster = work.momentum * getattr(speed, part) + pull
        setattr(speed, part, faster)
        setattr(place, part, getattr(place, part) - work.step_size * faster)
