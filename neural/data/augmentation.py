"""Images as ``Preprocessing`` says: the same in every evaluation, and distorted by drawn numbers in training."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms.randomness import generator as derive
from clusterproof.neural.data.preprocessing import Preprocessing, central

NUMBERS = 5
"""Uniform numbers that the distortion of an image takes: row and column of the crop, flip, brightness, contrast."""

FLIP = 2


def draw_distortions(
    preprocessing: Preprocessing,
    clients: np.ndarray,
    steps: int,
    samples: int,
    generator: np.random.Generator,
) -> np.ndarray:
    """Draw what distorts the images of local training.

    Parameters
    ----------
    preprocessing
        What is done.
    clients
        Whose, (k,).
    steps, samples
        Gradient steps of each, and samples of a step.
    generator
        Of the round; it gives one number, of which each participant's own source is derived by the word
        "augmentation", its client, and how often that one came before, in other replicates.

    Returns
    -------
    np.ndarray
        Uniform in [0, 1), float32, (k, steps, samples, 5); the numbers of a batch are all alike but for flips
        where that is asked for.
    """
    seed = int(generator.integers(2**63))
    drawn = np.empty((len(clients), steps, samples, NUMBERS), np.float32)
    before: Counter[int] = Counter()
    for place, client in enumerate(map(int, clients)):
        source = derive(seed, "augmentation", client, before[client])
        before[client] += 1
        drawn[place] = source.random((steps, samples, NUMBERS), dtype=np.float32)
    if preprocessing.augmentation_per == "batch":
        flips = drawn[..., FLIP].copy()
        drawn[:] = drawn[:, :, :1]
        drawn[..., FLIP] = flips
    return drawn


def distorted(images: Tensor, preprocessing: Preprocessing, numbers: Tensor) -> Tensor:
    """Images (..., C, H, W) in [0, 1] as training sees them, by numbers (..., 5) of ``draw_distortions``."""
    lead, numbers = images.shape[:-3], numbers.reshape(-1, NUMBERS).to(images.dtype)
    values = images.movedim(-3, -1).flatten(0, -4)  # colours last, as convolutions have them in memory
    height, width = values.shape[1:3]
    side = preprocessing.crop
    across = torch.arange(width if side is None else side, device=values.device).expand(len(values), -1)
    if preprocessing.flip:
        across = torch.where(numbers[:, FLIP, None] < 0.5, across.flip(1), across)
    if side is not None:
        top, left = (
            (numbers[:, axis] * (size - side + 1)).long() for axis, size in enumerate((height, width))
        )
        down = top[:, None] + torch.arange(side, device=values.device)
        own = torch.arange(len(values), device=values.device)[:, None, None]
        values = values[own, down[:, :, None], (across + left[:, None])[:, None, :]]
    elif preprocessing.flip:
        values = values.gather(2, across[:, None, :, None].expand(values.shape))
    if preprocessing.brightness:
        values = values + (preprocessing.brightness * (2 * numbers[:, 3] - 1))[:, None, None, None]
    if preprocessing.contrast:
        factors = (1 + preprocessing.contrast * (2 * numbers[:, 4] - 1))[:, None, None, None]
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
