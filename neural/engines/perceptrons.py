"""Perceptrons of many clients on a GPU, in packed order."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from clusterproof.neural.engines.batched import DenseEngine
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.engine import LocalWork
from clusterproof.neural.engines.hessians import add_hessian_product
from clusterproof.neural.engines.packed import Factors, PackedEngine, Room, filled, through_layers, walk
from clusterproof.neural.networks import MLP


@dataclass(frozen=True)
class PerceptronEngine(PackedEngine, DenseEngine):
    """Perceptrons, whose scores are those of ``DenseEngine``."""

    network: MLP

    @property
    def row(self) -> int:
        """Numbers of a stored sample: its own, a one for the bias, and zeros."""
        return filled(self.network.widths[0])

    def first_inputs(self, images: Tensor, room: Room) -> Tensor:
        """Samples that are not stored as rows, see ``PackedEngine.first_inputs``."""
        features = images.flatten(2)
        rows = room.inputs("layers.0", features.shape[:2], features.shape[2])
        rows[..., : features.shape[2]] = features
        return rows

    def factors(
        self, layers: list[Tensor], first: Tensor, batch: Batch, room: Room, losses: Tensor | None
    ) -> Factors:
        """Factors of the gradients, see ``PackedEngine.factors``."""
        return through_layers(layers, first, batch, room, losses)[1]

    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Hessians of the clients' losses at points times directions, all (k, d)."""
        packed, along = self.packing.pack(points), self.packing.pack(directions)
        room, bent, out = Room(packed), torch.zeros_like(packed), torch.empty_like(points)
        layers, (first,) = self.packing.layers(packed), self._laid_out([batch], room)
        left = walk(layers, [first], [batch], room, "layers")
        turned = self.packing.layers(along)
        add_hessian_product(self.packing.layers(bent), layers, turned, first, batch, left, scale=1.0)
        self.packing.unpack(bent, out)
        return out

    def meta_train(
        self, points: Tensor, inner_step_size: float, work: LocalWork, out: Tensor, *, second_order: bool
    ) -> None:
        """Train on the loss after a step of descent, see ``Engine.meta_train``.

        What gradient and Hessian have in common, the walk from where both are taken, is done once for both batches.
        """
        if not second_order:
            super().meta_train(points, inner_step_size, work, out, second_order=False)
            return
        here = self.packing.pack(points)
        ahead, slope, room = torch.empty_like(here), torch.empty_like(here), Room(here)
        layers, moved, along = (self.packing.layers(one) for one in (here, ahead, slope))
        batches, known = work.batches(), None
        for first, second, third in zip(batches, batches, batches, strict=True):  # one iterator
            # full batches are one and the same
            together = [first] if third is first else [first, second, third]
            if first is not known:
                known, laid = first, self._laid_out(together, room)
            left = walk(layers, laid[::2], together[::2], room, "both")
            ahead.copy_(here)
            own = left.part(slice(0, laid[0].shape[1])).factors(laid[0])
            for layer, (errors, inputs) in zip(moved, own, strict=True):
                layer.baddbmm_(errors, inputs, alpha=-inner_step_size)
            self._add(slope, ahead, laid[len(laid) // 2], second, room, keep=0.0, scale=1.0)
            rest = left.part(slice(-laid[-1].shape[1], None))
            bend = work.step_size * inner_step_size
            add_hessian_product(layers, layers, along, laid[-1], third, rest, scale=bend)
            here.sub_(slope, alpha=work.step_size)
        self.packing.unpack(here, out)
