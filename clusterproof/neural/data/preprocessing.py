"""Preprocessing of images before a network sees them: random in training, fixed in evaluation."""

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

    Each training gradient distorts every image independently. Evaluation, and the losses by which clients choose their
    model, use the central crop without flips or other changes, and standardise if training does.

    Parameters
    ----------
    crop
        Side of a random square crop; whole images by default. Evaluation uses the central crop.
    flip
        Whether to flip each image from left to right with probability 1/2.
    brightness
        Largest absolute value of a uniform number that is added to all pixels in [0, 1].
    contrast
        Largest distance from 1 of a uniform factor that multiplies the distances from the channel's mean.
    standardise
        Whether to give each image mean 0 and standard deviation 1. The standard deviation counts as at least one over
        the root of the number of pixels.
    augmentation_per
        Unit that shares a crop, brightness and contrast: each image, or each batch. Flips are always drawn for each
        image.

    Raises
    ------
    InvalidArgument
        If a value is out of range.

    Notes
    -----
    IFCA's public code for CIFAR-10 has crops of 24, flips, contrast 0.8 and standardised images, with one crop and
    contrast per batch. The public code also changes brightness by up to 63, on pixels in [0, 1]; the standardisation
    undoes this change. The public code also chooses models by the loss on distorted images.
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
        """Whether images stay unchanged."""
        return not (self.random or self.standardise)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that differ from the defaults, as plain JSON values."""
        left_out = {entry.name: entry.default for entry in fields(self)}
        return {key: value for key, value in asdict(self).items() if value != left_out[key]}

    def shape(self, stored: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape that a network sees for samples of a stored shape."""
        return tuple(stored) if self.crop is None else (stored[0], self.crop, self.crop)

    def check(self, pixels: np.ndarray) -> None:
        """Require samples (N, ...) that this preprocessing can be applied to.

        Raises
        ------
        InvalidArgument
            If the samples are not images, are codes, or are smaller than the crop.
        """
        if self.nothing:
            return
        name = next(iter(self.settings))
        value = self.settings[name]
        if pixels.dtype.kind in "iu" and pixels.dtype != np.uint8:
            raise InvalidArgument(name, value, "asks for images, not for codes", "leave it out")
        if self.random and pixels.ndim != 4:
            rule = f"asks for images (channels, height, width), not for samples {pixels.shape[1:]}"
            raise InvalidArgument(name, value, rule, "leave it out")
        if self.crop is not None and self.crop > min(pixels.shape[2:]):
            rule = f"must be at most {min(pixels.shape[2:])}, the smaller side of the images"
            raise InvalidArgument("crop", self.crop, rule, "lower it")


def central(images: Any, crop: int | None) -> Any:
    """Return the central square of images (..., height, width), arrays or tensors; whole images if None."""
    if crop is None:
        return images
    top, left = ((size - crop) // 2 for size in images.shape[-2:])
    return images[..., top : top + crop, left : left + crop]


def undistorted(samples: Tensor, preprocessing: Preprocessing, lead: int = 2) -> Tensor:
    """Return samples (..., C, H, W), or of other shapes after ``lead`` axes, as evaluation sees them."""
    samples = central(samples, preprocessing.crop)
    return standardised(samples, lead) if preprocessing.standardise else samples


def standardised(samples: Tensor, lead: int = 2) -> Tensor:
    """Return samples with mean 0 and standard deviation 1; the first ``lead`` axes number the samples.

    The standard deviation counts as at least one over the root of the number of entries.
    """
    axes = tuple(range(lead, samples.ndim))
    least = 1 / math.sqrt(math.prod(samples.shape[lead:]))
    centred = samples - samples.mean(axes, keepdim=True)
    spread = (centred * centred).mean(axes, keepdim=True).sqrt_()
    return centred / spread.clamp_min_(least)
