"""Matrix products of many clients at once, by the faster of two libraries."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

FEW = 32
"""Rows that are copied sooner than they slow a product down."""


def multiply(left: Tensor, right: Tensor, out: Tensor | None = None) -> Tensor:
    """Multiply matrices (..., p, q) and (..., q, r) into (..., p, r), leading axes broadcast.

    On one thread of the CPU, as in a pass over clients, numpy's BLAS does it, one client's product after the
    other: it makes use of what a processor has where torch's takes a slower way on those of other makers, and
    is faster on thin matrices on all. With more threads torch does; two pools of threads in one process would
    stand in each other's way.

    Parameters
    ----------
    left, right
        Factors; transposed and strided views are not copied.
    out
        Where to write the product, which may be a strided view.
    """
    if left.device.type == "cpu" and torch.get_num_threads() == 1:
        if out is None:
            if left.shape[-2] < right.shape[-1] and right.stride(-2) == 1:
                # few rows times a transposed factor: the transposed product takes half the time, and less yet
                # where the few are not transposed in their turn
                turned = left.mT.contiguous() if left.shape[-2] <= FEW else left.mT
                return torch.from_numpy(np.matmul(right.mT.numpy(), turned.numpy())).mT
            return torch.from_numpy(np.matmul(left.numpy(), right.numpy()))
        np.matmul(left.numpy(), right.numpy(), out=out.numpy())
        return out
    if out is None:
        return torch.matmul(left, right)
    if left.ndim == right.ndim == 3:  # which writes to a strided view at once
        return torch.bmm(left, right, out=out)
    return torch.matmul(left, right, out=out)


def affine(weight: Tensor, values: Tensor, bias: Tensor) -> Tensor:
    """Multiply by weights (..., o, i) and add biases (..., o): (..., o, n) from values (..., i, n)."""
    return multiply(weight, values).add_(bias[..., None])


def accumulate(target: Tensor, left: Tensor, right: Tensor, *, keep: float, scale: float) -> None:
    """Replace target (k, p, r) by keep * target + scale * left right, in place.

    Parameters
    ----------
    target
        May be a strided view.
    left, right
        Factors (k, p, q) and (k, q, r).
    keep, scale
        Weights of the old value and of the product.
    """
    if target.device.type == "cpu" and torch.get_num_threads() == 1:
        if keep != 1:
            target.mul_(keep)
        target.add_(multiply(left, right), alpha=scale)
    else:
        target.baddbmm_(left, right, beta=keep, alpha=scale)
