"""Random distortions of the images that training sees."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from clusterproof.neural.data.preprocessing import Preprocessing, standardised

NUMBERS = 5
"""Uniform numbers that the distortion of an image takes: row and column of the crop, flip, brightness, contrast."""

FLIP = 2


def draw_distortions(
    preprocessing: Preprocessing, count: int, generator: np.random.Generator
) -> np.ndarray | None:
    """Draw what distorts the images of a batch.

    Returns
    -------
    numpy.ndarray
        Uniform in [0, 1), (count, 5), whose rows are equal, except for flips, with ``augmentation_per = "batch"``;
        None where images are not distorted.
    """
    if not preprocessing.random:
        return None
    drawn = generator.random((count, NUMBERS))
    if preprocessing.augmentation_per == "batch":
        drawn = np.where(np.arange(NUMBERS) == FLIP, drawn, drawn[:1])
    return drawn


def distorted(images: Tensor, preprocessing: Preprocessing, drawn: Tensor) -> Tensor:
    """Images (n, C, H, W) in [0, 1] as training sees them, by uniform numbers ``drawn`` (n, 5)."""
    values = images.movedim(1, -1)  # NHWC, as they are stored for convolutions
    count, height, width, _ = values.shape
    side = preprocessing.crop
    across = torch.arange(width if side is None else side, device=values.device).expand(count, -1)
    if preprocessing.flip:
        across = torch.where(drawn[:, FLIP, None] < 0.5, across.flip(1), across)
    if side is not None:
        top, left = ((drawn[:, axis] * (size - side + 1)).long() for axis, size in enumerate((height, width)))
        down = top[:, None] + torch.arange(side, device=values.device)
        own = torch.arange(count, device=values.device)[:, None, None]
        values = values[own, down[:, :, None], (across + left[:, None])[:, None, :]]
    elif preprocessing.flip:
        values = values.gather(2, across[:, None, :, None].expand(values.shape))
    shifts, factors = (drawn[:, 3:] * 2 - 1).to(values.dtype)[..., None, None, None].unbind(1)
    if preprocessing.brightness:
        values = values + preprocessing.brightness * shifts
    if preprocessing.contrast:
        means = values.mean((1, 2), keepdim=True)
        values = (values - means) * (1 + preprocessing.contrast * factors) + means
    values = values.movedim(-1, 1)
    return standardised(values, 1) if preprocessing.standardise else values
