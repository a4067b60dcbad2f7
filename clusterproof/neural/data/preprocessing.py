"""Preprocessing of images for a network, with random distortions in training but not in evaluation."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from clusterproof.common.validation import InvalidArgument
from clusterproof.settings import checked_settings, parameter_types

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """Preprocessing of images, in this order: crop, flip, brightness, contrast, standardisation.

    For each training gradient, every image is distorted independently. Evaluation uses the central crop without any
    distortion, and standardises images if training does. The losses by which clients choose a model are computed in the
    same way.

    Parameters
    ----------
    crop
        Side length in pixels of a random crop, or None. Evaluation uses the central
        crop.
    flip
        Whether to flip each image from left to right with probability 1/2.
    brightness
        Largest size of a uniform random number that is added to all pixels, which lie in [0, 1].
    contrast
        Largest size of a random number u; contrast is multiplied by 1 + u. The contrast of a pixel is its difference
        from its channel's mean, and u is uniform.
    standardise
        Whether to give each image mean 0 and standard deviation 1. Images are divided by their standard deviation, or
        by 1 / sqrt(number of pixels) if this is larger.
    augmentation_per
        Whether crop, brightness and contrast are drawn for each image or for each batch. Flips are always drawn for
        each image.

    Raises
    ------
    InvalidArgument
        If a value is out of range.

    Notes
    -----
    IFCA's public code for CIFAR-10 uses crops of 24, flips, contrast 0.8 and standardised images, with one crop and
    contrast per batch. It also changes the brightness of pixels in [0, 1] by up to 63; the standardisation undoes this
    change. It also chooses models with the loss on distorted images.
    """

    crop: Annotated[int, Meta(ge=1)] | None = None
    flip: bool = False
    brightness: Annotated[float, Meta(ge=0, le=1e6)] = 0.0
    contrast: Annotated[float, Meta(ge=0, le=1)] = 0.0
    standardise: bool = False
    augmentation_per: Literal["image", "batch"] = "image"

    def __post_init__(self) -> None:
        """Check types and ranges."""
        checked_settings(parameter_types(Preprocessing), vars(self))

    @property
    def random(self) -> bool:
        """Whether training images differ from evaluation images."""
        return bool(self.crop is not None or self.flip or self.brightness or self.contrast)

    @property
    def nothing(self) -> bool:
        """Whether preprocessing does not change images at all."""
        return not (self.random or self.standardise)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that differ from the defaults, as plain JSON values."""
        left_out = {entry.name: entry.default for entry in fields(self)}
        return {key: value for key, value in asdict(self).items() if value != left_out[key]}

    def shape(self, stored: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the network's input for samples of a stored shape."""
        return tuple(stored) if self.crop is None else (stored[0], self.crop, self.crop)

    def check(self, pixels: np.ndarray) -> None:
        """Raise an error unless this preprocessing can be applied to samples (N, ...).

        Raises
        ------
        InvalidArgument
            If the samples are codes, are not images, or are smaller than the crop.
        """
        if self.nothing:
            return
        name = next(iter(self.settings))
        value = self.settings[name]
        if pixels.dtype.kind in "iu" and pixels.dtype != np.uint8:
            raise InvalidArgument(name, value, "needs images, not codes", "leave it out")
        if self.random and pixels.ndim != 4:
            rule = f"needs images (channels, height, width), not samples {pixels.shape[1:]}"
            raise InvalidArgument(name, value, rule, "leave it out")
        if self.crop is not None and self.crop > min(pixels.shape[2:]):
            rule = f"must be at most {min(pixels.shape[2:])}, the smaller side of the images"
            raise InvalidArgument("crop", self.crop, rule, "use a smaller crop")


def central(images: Any, crop: int | None) -> Any:
    """Crop images (..., height, width) to the central square; return whole images if ``crop`` is None."""
    if crop is None:
        return images
    top, left = ((size - crop) // 2 for size in images.shape[-2:])
    return images[..., top : top + crop, left : left + crop]


def undistorted(samples: Tensor, preprocessing: Preprocessing, lead: int = 2) -> Tensor:
    """Preprocess samples for evaluation; their shape is (..., C, H, W), or any shape after ``lead`` axes."""
    samples = central(samples, preprocessing.crop)
    return standardised(samples, lead) if preprocessing.standardise else samples


def standardised(samples: Tensor, lead: int = 2) -> Tensor:
    """Scale each sample to mean 0 and standard deviation 1; the first ``lead`` axes enumerate the samples.

    Samples are divided by their standard deviation, or by 1 / sqrt(number of entries) if this is larger.
    """
    axes = tuple(range(lead, samples.ndim))
    least = 1 / math.sqrt(math.prod(samples.shape[lead:]))
    centred = samples - samples.mean(axes, keepdim=True)
    spread = (centred * centred).mean(axes, keepdim=True).sqrt_()
    return centred / spread.clamp_min_(least)
