"""Hessians of linear layers with ReLU between them times a direction, by hand.

Pearlmutter's R-operator (1994): how everything on the way there and back changes as the layers move along the
direction. ReLU has no second derivative; the softmax's change is its own way back, as diag(p) - p p' is symmetric.
"""

from __future__ import annotations

import torch
from torch import Tensor

from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.packed import Walk, behind_relu


def add_hessian_product(
    moving: list[Tensor],
    layers: list[Tensor],
    along: list[Tensor],
    first: Tensor,
    batch: Batch,
    left: Walk,
    *,
    scale: float,
) -> None:
    """Add the Hessian of a batch's loss at some layers times a direction, in place.

    Parameters
    ----------
    moving, layers, along
        What it is added to, where it is taken, and the direction: matrices (k, o, i') of all layers. The first two
        may share their memory.
    first, batch
        Inputs of the first layer, (k, b, i'), of the samples.
    left
        What the walk through the layers with these samples has left.
    scale
        Factor of what is added.
    """
    values = first @ along[0].mT
    changes = []
    for layer, turned, inputs in zip(layers[1:], along[1:], left.inputs, strict=True):
        units = values.shape[2]
        changes.append(behind_relu(values, inputs[..., :units]))
        values = (inputs @ turned.mT).baddbmm_(changes[-1], layer[..., :units].mT)
    shares = left.shares
    bent = [torch.ops.aten._softmax_backward_data(values, shares, -1, shares.dtype)]
    bent[0].mul_(batch.weights[..., None])
    for index in range(len(layers) - 1, 0, -1):
        units = layers[index - 1].shape[1]
        errors = (bent[-1] @ layers[index][..., :units]).baddbmm_(
            left.errors[index], along[index][..., :units]
        )
        bent.append(behind_relu(errors, left.inputs[index - 1][..., :units]))
    for place, changed, inputs in zip(moving, bent[::-1], [first, *left.inputs], strict=True):
        place.baddbmm_(changed.mT, inputs, alpha=scale)
    for place, errors, changed in zip(moving[1:], left.errors[1:], changes, strict=True):
        place[..., : changed.shape[2]].baddbmm_(errors.mT, changed, alpha=scale)
