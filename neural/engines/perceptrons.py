"""Perceptrons of many clients on a GPU, in packed order."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from clusterproof.neural.engines.batched import DenseEngine
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.packed import Factors, PackedEngine, Room, through_layers


@dataclass(frozen=True)
class PerceptronEngine(PackedEngine, DenseEngine):
    """Perceptrons, whose scores are those of ``DenseEngine``."""

    def factors(self, layers: list[Tensor], batch: Batch, room: Room, losses: Tensor | None) -> Factors:
        """Factors of the gradients, see ``PackedEngine.factors``."""
        features = batch.features
        first = room.inputs("layers.0", features.shape[:2], features.shape[2])
        first[..., : features.shape[2]] = features
        return through_layers(layers, first, batch, room, losses)[1]
