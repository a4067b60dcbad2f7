"""Local training of perceptrons on the clients' Gram matrices, exactly.

The gradient in the first layer's weight W, (h, in), is D X with the errors D, (h, n), and the client's data
X, (n, in). After any number of steps W is therefore a combination of where it began, of the momentum buffer
U and the anchor A that came with it, and of C X with a coefficient matrix C, (h, n). All that a step needs
of W is W X', and C X X' needs only K = X X', (n, n): a step costs h n n multiplications in place of twice
h n in, and W itself is put together once, at the end. A mini-batch of b samples uses b columns of X X' and
moves b columns of C: h n b multiplications, and no pass over W.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from neural.engines import dense
from neural.engines.batched import DenseEngine, leading
from neural.engines.engine import LocalWork, Selection, start_buffers
from neural.engines.products import multiply

STORED_BYTES = 2**30
"""Gram matrices are kept from round to round up to this size, and formed anew beyond it."""


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

    def of(self, total: Tensor, start: Tensor, buffer: Tensor | None, anchor: Tensor | None) -> Tensor:
        """Add these shares of the three to ``total``, in place."""
        parts = ((self.start, start), (self.buffer, buffer), (self.anchor, anchor))
        for share, part in parts:
            if share and part is not None:
                total.add_(part, alpha=share)
        return total


@dataclass
class GramMatrices:
    """X X' + 1 of clients, the ones for the bias, as many as fit."""

    stored: dict[tuple[int, int], Tensor] = field(default_factory=dict)
    size: int = 0
    lock: Lock = field(default_factory=Lock)
    """Threads with other clients store theirs at the same time."""

    def of(self, clients: np.ndarray, features: Tensor) -> Tensor:
        """Gram matrices (k, n, n) of clients (k,) with data (k, n, in)."""
        keys = [(int(client), features.shape[1]) for client in clients]
        if all(key in self.stored for key in keys):
            return torch.stack([self.stored[key] for key in keys])
        formed = multiply(features, features.mT).add_(1)
        with self.lock:
            if self.size + formed.nbytes <= STORED_BYTES:
                for key, matrix in zip(keys, formed, strict=True):
                    if key not in self.stored:
                        self.stored[key] = matrix.clone()
                        self.size += matrix.nbytes
        return formed


@dataclass(frozen=True)
class GramEngine(DenseEngine):
    """Perceptrons whose clients have fewer samples than a sample has numbers, or not many more."""

    name: ClassVar[str] = "gram"

    matrices: GramMatrices = field(default_factory=GramMatrices, repr=False, compare=False)

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
        pulled = anchors if work.proximal else None
        ends = self.network.layout[1].offset + self.network.layout[1].size
        out_points[:, ends:] = points[:, ends:]
        layers, velocities, pulls = self.network.layers(out_points), None, None
        if out_buffers is not None:
            start_buffers(None if buffers is None else buffers[:, ends:], out_buffers[:, ends:])
            velocities = self.network.layers(out_buffers)
        if pulled is not None:
            pulls = self.network.layers(pulled)

        everything = work.data.whole(work.clients, work.width)
        features = everything.features
        gram = self.matrices.of(work.clients, features)
        start = dense.first_values(self.network.layers(points), features)
        carried = self._first_values(buffers, features)
        target = start if pulled is points else self._first_values(pulled, features)
        place, speed = Shares(1.0, 0.0, 0.0), Shares(0.0, 1.0, 0.0)
        moves = torch.zeros_like(start)
        rates = None if out_buffers is None else torch.zeros_like(moves)
        selections = list(work.selections())
        for step, selection in enumerate(selections):
            busy = selection.clients
            batch = selection.of(everything)
            begun = selection.columns(start)
            first = torch.zeros_like(begun)
            if step:
                first = multiply(moves[:busy], selection.columns_of_symmetric(gram))
            place.of(
                first,
                begun,
                None if carried is None else selection.columns(carried),
                None if target is None else selection.columns(target),
            )
            here = leading(layers, busy)
            values = dense.remaining_values(here, first)
            truth = dense.weighted_truth(batch.targets, batch.weights, self.network.classes)
            errors = dense.all_errors(here, values, dense.to_errors(values[-1], truth, batch.weights))
            for index in range(1, len(layers)):
                self._step(
                    here[index],
                    None if velocities is None else leading(velocities, busy)[index],
                    None if pulls is None else leading(pulls, busy)[index],
                    errors[index],
                    values[index - 1].mT,
                    work,
                )
            self._move(moves[:busy], None if rates is None else rates[:busy], errors[0], selection, work)
            self._advance(place, speed, work)
            staying = selections[step + 1].clients if step + 1 < len(selections) else 0
            if staying < busy:
                done = slice(staying, busy)
                vectors = [None if one is None else one[done] for one in (points, buffers, pulled)]
                self._assemble(moves[done], place, features[done], vectors, out_points[done])
                if rates is not None and out_buffers is not None:
                    self._assemble(rates[done], speed, features[done], vectors, out_buffers[done])

    @staticmethod
    def _move(
        moves: Tensor, rates: Tensor | None, errors: Tensor, selection: Selection, work: LocalWork
    ) -> None:
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

    def _first_values(self, vectors: Tensor | None, features: Tensor) -> Tensor | None:
        if vectors is None:
            return None
        return dense.first_values(self.network.layers(vectors), features)

    @staticmethod
    def _advance(place: Shares, speed: Shares, work: LocalWork) -> None:
        """Carry the recursion of a local step out on the shares."""
        for part in ("start", "buffer", "anchor"):
            pull = work.proximal * (getattr(place, part) - (part == "anchor"))
            faster = work.momentum * getattr(speed, part) + pull
            setattr(speed, part, faster)
            setattr(place, part, getattr(place, part) - work.step_size * faster)

    def _assemble(
        self,
        coefficients: Tensor,
        shares: Shares,
        features: Tensor,
        vectors: list[Tensor | None],
        out: Tensor,
    ) -> None:
        """Put the first layer together from coefficients (k, h, n) in the samples and shares of vectors."""
        firsts = (None if one is None else self.network.layers(one)[0] for one in vectors)
        weights, biases = zip(*(layer or (None, None) for layer in firsts), strict=True)
        weight, bias = self.network.layers(out)[0]
        shares.of(multiply(coefficients, features, out=weight), *weights)
        bias.copy_(coefficients.sum(-1))
        shares.of(bias, *biases)
