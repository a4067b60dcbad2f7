"""One client after the other by autograd: the fastest way through convolutions on a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor
from torch.autograd import grad

from clusterproof.neural.client_data import Batch
from clusterproof.neural.engines.base import Engine, leaves


class SerialEngine(Engine):
    """Engine of any network, which is given one client at a time."""

    name: ClassVar[str] = "serial"
    most: ClassVar[dict[str, int]] = {"cpu": 1, "cuda": 1}

    def tensor_gradients(
        self, parameters: dict[str, Tensor], batch: Batch
    ) -> tuple[Sequence[Tensor], Tensor]:
        """Gradients and losses, see ``Engine.tensor_gradients``."""
        inputs = {name: value[0].detach().requires_grad_() for name, value in parameters.items()}
        loss = self.loss(inputs, batch.images[0], batch.targets[0])
        gradients = grad(loss, list(inputs.values()))
        return [gradient[None] for gradient in gradients], loss.detach()[None]

    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Products with Hessians, see ``Engine.hessian_products``."""
        parameters = leaves(self.network, points[0])
        inputs = list(parameters.values())
        loss = self.loss(parameters, batch.images[0], batch.targets[0])
        gradients = grad(loss, inputs, create_graph=True)
        products = grad(gradients, inputs, list(self.network.views(directions[0]).values()))
        return torch.cat([product.flatten() for product in products])[None]
