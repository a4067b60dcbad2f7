"""Perceptrons of many clients on a GPU, in packed order."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from clusterproof.neural.engines.batched import DenseEngine
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.packed import Factors, PackedEngine, Room, filled, through_layers
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
