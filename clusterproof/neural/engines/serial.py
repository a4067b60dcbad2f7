"""One client after the other by autograd: the fastest way through convolutions on a CPU, and the least memory."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.autograd import grad

from clusterproof.neural.client_data import Batch
from clusterproof.neural.engines.base import Engine, LocalWork, descend


class SerialEngine(Engine):
    """One client at a time on its own samples, without padding: k = 1 in every call."""

    name: ClassVar[str] = "serial"
    chunk: ClassVar[dict[str, int]] = {"cpu": 1, "cuda": 1}
    pads: ClassVar[bool] = False

    def scores(self, points: Tensor, images: Tensor) -> Tensor:
        """Scores of a point of each client, see ``Engine.scores``."""
        return self.scores_of_models(points, images)[:, 0]

    def gradients(self, points: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Gradients and losses, see ``Engine.gradients``."""
        leaves = self._leaves(points[0])
        loss = self._loss(leaves, batch.unpadded)
        gradients = grad(loss, list(leaves.values()))
        return torch.cat([gradient.flatten() for gradient in gradients])[None], loss.detach()[None]

    def train(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        corrections: Tensor | None,
        work: LocalWork,
    ) -> None:
        """Train one client, see ``Engine.train``, tensor by tensor in the memory of its vectors."""
        leaves = self._leaves(points[0])
        tensors = [
            [None] * len(leaves) if vectors is None else list(self.network.views(vectors[0]).values())
            for vectors in (points, buffers, anchors, corrections)
        ]
        for batch in work.batches():
            gradients = grad(self._loss(leaves, batch), list(leaves.values()))
            for point, buffer, anchor, correction, gradient in zip(*tensors, gradients, strict=True):
                descend(point, buffer, anchor, correction, gradient, work.descent)

    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Products with Hessians, see ``Engine.hessian_products``."""
        leaves = self._leaves(points[0])
        inputs = list(leaves.values())
        gradients = grad(self._loss(leaves, batch.unpadded), inputs, create_graph=True)
        products = grad(gradients, inputs, list(self.network.views(directions[0]).values()))
        return torch.cat([product.flatten() for product in products])[None]

    def _leaves(self, point: Tensor) -> dict[str, Tensor]:
        """Parameters of a model (d,) by name, in its memory."""
        # not `detach`, which shares the count of changes: a leaf changes in place between two steps
        return {name: nn.Parameter(view.data) for name, view in self.network.views(point).items()}

    def _loss(self, leaves: dict[str, Tensor], batch: Batch) -> Tensor:
        """Weighted cross-entropy of a model on the batch of one client."""
        return self.loss(leaves, batch.images[0], batch.targets[0], batch.weights[0])
