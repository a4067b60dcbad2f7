"""Images after ``Preprocessing``: undistorted in evaluation, distorted by random numbers in training."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from clusterproof.neural.data.preprocessing import Preprocessing, central

NUMBERS = 5
"""Uniform numbers that the distortion of an image takes: row and column of the crop, flip, brightness, contrast."""

FLIP = 2


def distorted(images: Tensor, preprocessing: Preprocessing, drawn: Tensor) -> Tensor:
    """Images (..., C, H, W) in [0, 1] as training sees them, by ``drawn`` (..., 5), see ``engines.distortion``."""
    lead, drawn = images.shape[:-3], drawn.reshape(-1, NUMBERS).to(images.dtype)
    values = images.movedim(-3, -1).flatten(0, -4)  # NHWC, as in convolutions
    height, width = values.shape[1:3]
    side = preprocessing.crop
    across = torch.arange(width if side is None else side, device=values.device).expand(len(values), -1)
    if preprocessing.flip:
        across = torch.where(drawn[:, FLIP, None] < 0.5, across.flip(1), across)
    if side is not None:
        top, left = ((drawn[:, axis] * (size - side + 1)).long() for axis, size in enumerate((height, width)))
        down = top[:, None] + torch.arange(side, device=values.device)
        own = torch.arange(len(values), device=values.device)[:, None, None]
        values = values[own, down[:, :, None], (across + left[:, None])[:, None, :]]
    elif preprocessing.flip:
        values = values.gather(2, across[:, None, :, None].expand(values.shape))
    if preprocessing.brightness:
        values = values + (preprocessing.brightness * (2 * drawn[:, 3] - 1))[:, None, None, None]
    if preprocessing.contrast:
        factors = (1 + preprocessing.contrast * (2 * drawn[:, 4] - 1))[:, None, None, None]
        means = values.mean((1, 2), keepdim=True)
        values = (values - means) * factors + means
    values = values.movedim(-1, -3)
    values = values.view(*lead, *values.shape[1:])
    return standardised(values, len(lead)) if preprocessing.standardise else values


def undistorted(samples: Tensor, preprocessing: Preprocessing, lead: int = 2) -> Tensor:
    """Samples (..., C, H, W), or of other shapes after ``lead`` axes, as evaluation sees them."""
    samples = central(samples, preprocessing.crop)
    return standardised(samples, lead) if preprocessing.standardise else samples


def standardised(samples: Tensor, lead: int = 2) -> Tensor:
    """Samples, each a point of the first ``lead`` axes, with mean 0 and standard deviation 1.

    The standard deviation counts as at least one over the root of the number of entries.
    """
    axes = tuple(range(lead, samples.ndim))
    least = 1 / math.sqrt(math.prod(samples.shape[lead:]))
    centred = samples - samples.mean(axes, keepdim=True)
    spread = (centred * centred).mean(axes, keepdim=True).sqrt_()
    return centred / spread.clamp_min_(least)
