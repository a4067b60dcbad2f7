"""Perceptrons' scores and errors by hand, many clients at once, without an autograd graph.

Values of a layer are stored a column a sample, (..., units, n): the softmax then runs over columns side by
side, and the coefficients of a gradient in the samples come out in the shape that the products need.
"""

from __future__ import annotations

import torch
from torch import Tensor

from clusterproof.neural.engines.products import affine, multiply

Layers = list[tuple[Tensor, Tensor]]
"""Weights (..., out, in) and biases (..., out) of every layer."""


def first_values(layers: Layers, features: Tensor) -> Tensor:
    """What the first layer gives, before ReLU: (..., out, n) from features (..., n, in)."""
    weight, bias = layers[0]
    return affine(weight, features.mT, bias)


def remaining_values(later: Layers, first: Tensor) -> list[Tensor]:
    """Values of every layer from those of the first (..., h, n), which ReLU overwrites; last the scores.

    ``later`` are the layers after the first.
    """
    return values_behind(later, first.clamp_min_(0) if later else first)


def values_behind(later: Layers, first: Tensor) -> list[Tensor]:
    """The same from what ReLU has made of the first values already."""
    values = [first]
    for index, (weight, bias) in enumerate(later):
        values.append(affine(weight, values[-1].clamp_min_(0) if index else first, bias))
    return values


def to_errors(scores: Tensor, truth: Tensor, weights: Tensor) -> Tensor:
    """Gradient of the weighted cross-entropy in scores (k, classes, n), which may be overwritten by it.

    Parameters
    ----------
    scores
        Of each sample and class.
    truth
        ``weights`` at each sample's class and 0 elsewhere, (k, classes, n).
    weights
        Of the samples, (k, n).
    """
    if scores.device.type == "cuda":  # the same in three launches instead of seven
        return torch.softmax(scores, -2).mul_(weights.unsqueeze(-2)).sub_(truth)
    scores.sub_(scores.amax(-2, keepdim=True)).exp_()
    return scores.mul_((weights / scores.sum(-2)).unsqueeze(-2)).sub_(truth)


def all_errors(later: Layers, values: list[Tensor], errors: Tensor) -> list[Tensor]:
    """Gradients of the loss in the values of every layer before ReLU, from those in the scores."""
    found = [errors]
    for (weight, _), below in zip(later[::-1], values[-2::-1], strict=True):
        found.append(_behind_relu(multiply(weight.mT, found[-1]), below))
    return found[::-1]


def _behind_relu(errors: Tensor, values: Tensor) -> Tensor:
    """Errors where the values after ReLU are positive, else 0, in place."""
    through: Tensor = torch.ops.aten.threshold_backward.grad_input(errors, values, 0, grad_input=errors)
    return through


def cross_entropies(scores: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Weighted cross-entropies of P models on each client's samples.

    Parameters
    ----------
    scores
        (k, P, classes, n).
    targets, weights
        Classes and weights of the samples, (k, n); of weight 0 where there is none.

    Returns
    -------
    Tensor
        (k, P).
    """
    own = scores.gather(2, targets[:, None, None, :].expand(-1, scores.shape[1], 1, -1)).squeeze(2)
    surprise = torch.logsumexp(scores, 2).sub_(own)
    return (surprise * weights[:, None, :]).sum(-1)


def hit_rates(scores: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Weighted shares of samples whose largest score is their class's, shapes as above: (k, P)."""
    return ((scores.argmax(2) == targets[:, None, :]) * weights[:, None, :]).sum(-1)
