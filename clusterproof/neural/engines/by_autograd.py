"""Engines of any network, by automatic differentiation: all clients of a call in one pass, or one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from clusterproof.neural.client_data import Batch
from clusterproof.neural.engines.base import Engine, leaves


class VmapEngine(Engine):
    """Engine of any network that ``torch.func.vmap`` takes, on any device."""

    name: ClassVar[str] = "vmap"
    most: ClassVar[dict[str, int]] = {"cpu": 16, "cuda": 128}

    def tensor_gradients(
        self, parameters: dict[str, Tensor], batch: Batch
    ) -> tuple[Sequence[Tensor], Tensor]:
        """Gradients and losses, see ``Engine.tensor_gradients``."""
        gradients, losses = torch.func.vmap(torch.func.grad_and_value(self.loss))(
            parameters, batch.images, batch.targets
        )
        return list(gradients.values()), losses

    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Products with Hessians, see ``Engine.hessian_products``."""

        def derivative_along(point: Tensor, direction: Tensor, images: Tensor, targets: Tensor) -> Tensor:
            gradient = torch.func.grad(lambda at: self.loss(self.network.views(at), images, targets))(point)
            return torch.dot(gradient, direction)

        # backward twice: forward over backward asks for rules that torch still compiles in a deprecated way
        products: Tensor = torch.func.vmap(torch.func.grad(derivative_along))(
            points, directions, batch.images, batch.targets
        )
        return products


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
        gradients = torch.autograd.grad(loss, list(inputs.values()))
        return [gradient[None] for gradient in gradients], loss.detach()[None]

    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Products with Hessians, see ``Engine.hessian_products``."""
        parameters = leaves(self.network, points[0])
        inputs = list(parameters.values())
        loss = self.loss(parameters, batch.images[0], batch.targets[0])
        gradients = torch.autograd.grad(loss, inputs, create_graph=True)
        products = torch.autograd.grad(gradients, inputs, list(self.network.views(directions[0]).values()))
        return torch.cat([product.flatten() for product in products])[None]
