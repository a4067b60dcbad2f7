"""One client after the other by autograd: the fastest way through convolutions on a CPU, and the least memory."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.autograd import grad

from clusterproof.neural.client_data import Batch
from clusterproof.neural.engines.base import Engine, LocalWork, descend


class SerialEngine(Engine):
    """Each client on its own samples, without padding."""

    name: ClassVar[str] = "serial"
    chunk: ClassVar[dict[str, int]] = {"cpu": 1, "cuda": 1}
    pads: ClassVar[bool] = False

    def scores(self, points: Tensor, images: Tensor) -> Tensor:
        """Scores of a point of each client, see ``Engine.scores``."""
        pairs = zip(points, images, strict=True)
        return torch.cat(
            [self.scores_of_models(point[None], samples[None])[:, 0] for point, samples in pairs]
        )

    def gradients(self, points: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Gradients and losses, see ``Engine.gradients``."""
        gradients, losses = torch.empty_like(points), points.new_empty(len(points))
        for client, point in enumerate(points):
            leaves = self._leaves(point)
            loss = self._loss(leaves, batch.unpadded(client))
            views = self.network.views(gradients[client]).values()
            for view, gradient in zip(views, grad(loss, list(leaves.values())), strict=True):
                view.copy_(gradient)
            losses[client] = loss.detach()
        return gradients, losses

    def train(self, points: Tensor, buffers: Tensor | None, anchors: Tensor | None, work: LocalWork) -> None:
        """Train one client, see ``Engine.train``, tensor by tensor in the memory of its vectors."""
        leaves = self._leaves(points[0])
        tensors = [
            [None] * len(leaves) if vectors is None else list(self.network.views(vectors[0]).values())
            for vectors in (points, buffers, anchors)
        ]
        for batch in work.batches():
            gradients = grad(self._loss(leaves, batch), list(leaves.values()))
            for point, buffer, anchor, gradient in zip(*tensors, gradients, strict=True):
                descend(point, buffer, anchor, gradient, work)

    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Products with Hessians, see ``Engine.hessian_products``."""
        products = torch.empty_like(points)
        for client, (point, direction) in enumerate(zip(points, directions, strict=True)):
            leaves = self._leaves(point)
            inputs = list(leaves.values())
            loss = self._loss(leaves, batch.unpadded(client))
            gradients = grad(loss, inputs, create_graph=True)
            tensors = grad(gradients, inputs, list(self.network.views(direction).values()))
            products[client] = torch.cat([tensor.flatten() for tensor in tensors])
        return products

    def _leaves(self, point: Tensor) -> dict[str, Tensor]:
        """Parameters of a model (d,) by name, in its memory."""
        # not `detach`, which shares the count of changes: a leaf changes in place between two steps
        return {name: nn.Parameter(view.data) for name, view in self.network.views(point).items()}

    def _loss(self, leaves: dict[str, Tensor], batch: Batch) -> Tensor:
        """Weighted cross-entropy of a model on the batch of one client."""
        return self.loss(leaves, batch.images[0], batch.targets[0], batch.weights[0])
