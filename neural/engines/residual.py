"""Residual networks of many clients, with a normalisation whose way back takes a GPU few launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from clusterproof.neural.engines.batched import VmapEngine
from clusterproof.neural.networks import ResNet20

EPSILON = 1e-5
"""Added to variances, as in ``torch.nn.functional.group_norm``."""


class GroupNormalisation(torch.autograd.Function):
    """``torch.nn.functional.group_norm``: backward in a dozen operations where ``torch.func.grad`` takes forty.

    That asks for a way back that has derivatives of its own, which is long. This one has none: Hessians take
    torch's.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor, groups: int, scale: Tensor, shift: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Normalise values (b, C, H, W); besides, what is shifted and scaled, (b, G, n), and 1 / deviations."""
        apart = values.reshape(len(values), groups, -1)
        variance, mean = torch.var_mean(apart, -1, correction=0, keepdim=True)
        inverse = torch.rsqrt(variance + EPSILON)
        normal = (apart - mean) * inverse
        scaled = torch.addcmul(shift[:, None, None], normal.view_as(values), scale[:, None, None])
        return scaled, normal, inverse

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Keep what the way back needs."""
        ctx.mark_non_differentiable(output[1], output[2])
        ctx.save_for_backward(inputs[2], output[1], output[2])

    @staticmethod
    def backward(ctx: Any, *errors: Tensor) -> tuple[Tensor | None, ...]:
        """Errors of values, scale and shift; nothing else that comes out is used."""
        scale, normal, inverse = ctx.saved_tensors
        own = errors[0]
        along = normal.view_as(own)
        products = own * along
        inner = (own * scale[:, None, None]).view_as(normal)
        slope = (inner * normal).mean(-1, keepdim=True)
        back = (inner - inner.mean(-1, keepdim=True) - normal * slope) * inverse
        return back.view_as(own), None, products.sum((0, 2, 3)), own.sum((0, 2, 3))


def normalised(values: Tensor, groups: int, scale: Tensor, shift: Tensor) -> Tensor:
    """Group normalisation of values (b, C, H, W)."""
    found: Tensor = GroupNormalisation.apply(values, groups, scale, shift)[0]  # type: ignore[no-untyped-call]  # torch has no types here
    return found


@dataclass(frozen=True)
class ResidualEngine(VmapEngine):
    """ResNet-20 on a GPU."""

    network: ResNet20

    def scores(self, parameters: dict[str, Tensor], images: Tensor) -> Tensor:
        """Scores (b, classes) of one model on images (b, C, H, W)."""
        return self.network.function(parameters, images, normalised)
