"""Random distortions of the images that local training sees, drawn from counters."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from clusterproof.neural.data.preprocessing import Preprocessing, standardised
from clusterproof.neural.engines.sampling import branches, draw_key, numbers, uniform

NUMBERS = 5
"""Uniform numbers that the distortion of an image takes: row and column of the crop, flip, brightness, contrast."""

FLIP = 2


def distorted(images: Tensor, preprocessing: Preprocessing, drawn: Tensor) -> Tensor:
    """Images (..., C, H, W) in [0, 1] as training sees them, by ``drawn`` (..., 5)."""
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


def draw_distortions(
    preprocessing: Preprocessing,
    clients: Tensor,
    steps: int,
    samples: int,
    generator: np.random.Generator,
) -> Tensor:
    """Draw what distorts the images of local training.

    Parameters
    ----------
    preprocessing
        Which distortions.
    clients
        Whose, (k,).
    steps, samples
        Gradient steps of each, and samples of a step.
    generator
        Gives a key. Each participant's numbers depend on that, on the client, and on how often the same client
        is among ``clients`` before.

    Returns
    -------
    Tensor
        Uniform in [0, 1), float32, (k, steps, samples, 5); the numbers of a batch are equal, except for flips, with
        ``augmentation_per = "batch"``.
    """
    before = (clients[:, None] == clients).tril_(-1).sum(1)
    keys = branches(branches(draw_key(generator), clients), before)
    drawn = uniform(numbers(keys, (steps, samples, NUMBERS)))
    if preprocessing.augmentation_per == "batch":
        drawn = torch.where(torch.arange(NUMBERS) == FLIP, drawn, drawn[:, :, :1])
    return drawn
