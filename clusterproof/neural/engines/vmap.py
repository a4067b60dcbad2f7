"""All clients of a call in one pass, by ``torch.func.vmap`` of the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor
from torch.func import grad, grad_and_value, vmap

from clusterproof.neural.client_data import Batch
from clusterproof.neural.engines.base import Engine


class VmapEngine(Engine):
    """Engine of any network that ``torch.func.vmap`` takes, on any device."""

    name: ClassVar[str] = "vmap"
    most: ClassVar[dict[str, int]] = {"cpu": 16, "cuda": 128}

    def tensor_gradients(
        self, parameters: dict[str, Tensor], batch: Batch
    ) -> tuple[Sequence[Tensor], Tensor]:
        """Gradients and losses, see ``Engine.tensor_gradients``."""
        gradients, losses = vmap(grad_and_value(self.loss))(parameters, batch.images, batch.targets)
        return list(gradients.values()), losses

    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Products with Hessians, see ``Engine.hessian_products``."""

        def derivative_along(point: Tensor, direction: Tensor, images: Tensor, targets: Tensor) -> Tensor:
            gradient = grad(lambda at: self.loss(self.network.views(at), images, targets))(point)
            return torch.dot(gradient, direction)

        # backward twice: forward over backward asks for rules that torch still compiles in a deprecated way
        products: Tensor = vmap(grad(derivative_along))(points, directions, batch.images, batch.targets)
        return products
