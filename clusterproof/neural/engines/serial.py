"""One client after the other by autograd: the fastest way through convolutions on a CPU."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch.autograd import grad

from clusterproof.neural.client_data import Batch
from clusterproof.neural.engines.base import Engine, LocalWork, descend, leaves


class SerialEngine(Engine):
    """Engine of any network, which is given one client at a time."""

    name: ClassVar[str] = "serial"
    most: ClassVar[dict[str, int]] = {"cpu": 1, "cuda": 1}

    def gradients(self, points: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Gradients and losses, see ``Engine.gradients``."""
        parameters = leaves(self.network, points[0])
        loss = self.loss(parameters, batch.images[0], batch.targets[0])
        gradients = grad(loss, list(parameters.values()))
        return torch.cat([gradient.flatten() for gradient in gradients])[None], loss.detach()[None]

    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Products with Hessians, see ``Engine.hessian_products``."""
        parameters = leaves(self.network, points[0])
        inputs = list(parameters.values())
        loss = self.loss(parameters, batch.images[0], batch.targets[0])
        gradients = grad(loss, inputs, create_graph=True)
        products = grad(gradients, inputs, list(self.network.views(directions[0]).values()))
        return torch.cat([product.flatten() for product in products])[None]

    def train(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        corrections: Tensor | None,
        work: LocalWork,
    ) -> None:
        """Train a client tensor by tensor, in the memory of its vectors; see ``Engine.train``."""
        parameters = leaves(self.network, points[0])
        tensors = [
            [None] * len(parameters) if vectors is None else list(self.network.views(vectors[0]).values())
            for vectors in (points, buffers, anchors, corrections)
        ]
        for batch in work.batches():
            loss = self.loss(parameters, batch.images[0], batch.targets[0])
            gradients = grad(loss, list(parameters.values()))
            for point, buffer, anchor, correction, gradient in zip(*tensors, gradients, strict=True):
                assert point is not None
                descend(point, buffer, anchor, correction, gradient, work.descent)
