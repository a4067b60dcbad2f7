"""Residual networks of many clients on a GPU, as one network whose channels fall into groups."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import conv2d, group_norm, pad

from clusterproof.neural.engines.batched import VmapEngine
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.dense import cross_entropies
from clusterproof.neural.networks import ResNet20
from clusterproof.neural.networks.resnet import CHANNELS_A_GROUP


@dataclass(frozen=True)
class ResidualEngine(VmapEngine):
    """ResNet-20 of k clients, with k times as many channels.

    A convolution in k groups and a normalisation of k times as many groups are those of each client with its own
    parameters, and PyTorch's own kernels serve all at once; ``vmap`` makes a normalisation of twenty operations.
    """

    network: ResNet20

    _orders: dict[int, Tensor] = field(default_factory=dict, init=False, repr=False, compare=False)
    """For a number of clients, where the numbers of their vectors go, each tensor of all clients in one piece."""

    def gradients(self, points: Tensor, batch: Batch, out: Tensor, losses: Tensor | None = None) -> None:
        """Gradients of the losses, see ``Engine.gradients``."""
        leaves = self._leaves(points)
        scores = self._scores(leaves, batch.images)
        if losses is not None:
            known = scores.detach().mT[:, None]
            losses.copy_(cross_entropies(known, batch.targets, batch.weights)[:, 0])
        shares = torch.softmax(scores.detach(), -1)
        errors = torch.addcmul(batch.answers(self.network.classes), shares, batch.weights[..., None])
        slopes = torch.autograd.grad(scores, list(leaves.values()), errors)
        torch.cat([slope.flatten(1) for slope in slopes], dim=1, out=out)

    def _leaves(self, points: Tensor) -> dict[str, Tensor]:
        """Tensors (k, ...) by name, each in one piece, for autograd to start from."""
        clients, layout = len(points), self.network.layout
        sizes = [clients * part.size for part in layout]
        if clients not in self._orders:
            self._orders.clear()
            numbers = torch.arange(points.numel(), device=points.device).view(points.shape)
            apart = torch.split(numbers, [part.size for part in layout], 1)
            self._orders[clients] = torch.cat([part.flatten() for part in apart])
        together = torch.split(points.flatten().index_select(0, self._orders[clients]), sizes)
        return {
            part.name: values.view(clients, *part.shape).detach().requires_grad_()
            for part, values in zip(layout, together, strict=True)
        }

    def _scores(self, leaves: dict[str, Tensor], images: Tensor) -> Tensor:
        """Scores (k, b, classes) of models with tensors (k, ...) on images (k, b, C, H, W)."""
        clients = len(images)

        def convolve(name: str, values: Tensor, stride: int) -> Tensor:
            weight, scale, shift = (
                leaves[f"{name}.{part}"].flatten(0, 1) for part in ("weight", "norm.weight", "norm.bias")
            )
            values = conv2d(values, weight, stride=stride, padding=1, groups=clients)
            return group_norm(values, len(weight) // CHANNELS_A_GROUP, scale, shift)

        def shorten(values: Tensor, more: int) -> Tensor:
            apart = torch.unflatten(values[:, :, ::2, ::2], 1, (clients, -1))
            return pad(apart, (0, 0, 0, 0, 0, more)).flatten(1, 2)

        features = self.network.features(images.transpose(0, 1).flatten(1, 2).contiguous(), convolve, shorten)
        means = torch.unflatten(features.mean((2, 3)), 1, (clients, -1)).transpose(0, 1)
        return torch.baddbmm(leaves["head.bias"][:, None], means, leaves["head.weight"].mT)
