"""Clients' samples on the computing device: checks, minibatches, and random distortions of images."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from clusterproof.common.validation import InvalidArgument
from clusterproof.neural.data.preprocessing import Preprocessing, standardised, undistorted
from clusterproof.neural.networks import NETWORKS, Network
from clusterproof.neural.partitions.base import ClientImages, Partition


@dataclass(frozen=True, eq=False)
class Step:
    """The data for one gradient step of a client.

    Attributes
    ----------
    samples
        Indices of the samples among the client's samples, integers (b,).
    distortions
        Uniform random numbers for the distortions, (b, 5), or None if there are no distortions.
    """

    samples: np.ndarray
    distortions: np.ndarray | None


def draw_steps(
    size: int, steps: int, batch_size: int, preprocessing: Preprocessing, generator: np.random.Generator
) -> list[Step]:
    """Draw the minibatches of a client with ``size`` samples.

    The batches follow random orders of the data. One pass uses each sample once, and the next pass has a new order. The
    last batch of a pass may be smaller. A client with at most ``batch_size`` samples uses all of them in every step.
    """
    batches: list[np.ndarray] = []
    while len(batches) < steps:
        order = np.arange(size) if size <= batch_size else generator.permutation(size)
        batches += [order[start : start + batch_size] for start in range(0, size, batch_size)]
    return [Step(batch, draw_distortions(preprocessing, len(batch), generator)) for batch in batches[:steps]]


def groups(plans: Sequence[Sequence[Step]], most: int) -> Iterator[np.ndarray]:
    """Divide the participants into groups of at most ``most`` clients with equal batch sizes.

    Yield the positions of the participants in each group.
    """
    alike: dict[tuple[int, ...], list[int]] = {}
    for position, plan in enumerate(plans):
        alike.setdefault(tuple(len(step.samples) for step in plan), []).append(position)
    for positions in alike.values():
        for first in range(0, len(positions), most):
            yield np.array(positions[first : first + most])


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch of samples and their classes.

    Attributes
    ----------
    images
        Images in [0, 1], (..., C, H, W), or other samples; ``...`` is (k, b) for k clients with b samples each.
    targets
        Classes of the samples, (...).
    """

    images: Tensor
    targets: Tensor


class ClientData:
    """Samples of all clients on a device. Pixels are stored as bytes until they are used; codes remain integers.

    The samples of all clients have consecutive indices: first the samples of client 0, then the samples of client 1,
    and so on.

    Parameters
    ----------
    client_images
        Samples of all clients.
    device, dtype
        Device, and number type of the scaled images.
    channels_last
        Whether to store the channels of a pixel next to each other (NHWC), with which convolutions are fastest.
    preprocessing
        Preprocessing of images.
    """

    def __init__(
        self,
        client_images: ClientImages,
        device: torch.device,
        dtype: torch.dtype,
        *,
        channels_last: bool,
        preprocessing: Preprocessing,
    ) -> None:
        self.sizes = np.asarray(client_images.sizes)
        self._first = np.cumsum(self.sizes) - self.sizes
        self._device, self._dtype = device, dtype
        self._channels_last, self._preprocessing = channels_last, preprocessing
        pixels = torch.from_numpy(np.ascontiguousarray(client_images.pixels))
        if pixels.is_floating_point():
            pixels = pixels.to(dtype)
        self._pixels = (pixels.permute(0, 2, 3, 1).contiguous() if channels_last else pixels).to(device)
        self.sample_size = math.prod(client_images.pixels.shape[1:])
        is_real = np.arange(client_images.indices.shape[1]) < self.sizes[:, None]
        self._rows, self._targets = (
            torch.from_numpy(np.asarray(table)[is_real]).to(device)
            for table in (client_images.indices, client_images.targets)
        )

    def numbers(self, client: int, samples: np.ndarray | None = None) -> np.ndarray:
        """Return the indices, among the samples of all clients, of some or all samples of one client, (b,)."""
        samples = np.arange(self.sizes[client]) if samples is None else samples
        return np.asarray(self._first[client] + samples)

    def take(self, numbers: np.ndarray, drawn: np.ndarray | None = None) -> Batch:
        """Return the samples with the indices ``numbers`` (...), distorted by ``drawn`` (..., 5) unless it is None."""
        flat = torch.from_numpy(numbers.ravel()).to(self._device)
        images = self._pixels.index_select(0, self._rows[flat])
        if images.dtype == torch.uint8:
            images = images.to(self._dtype).div_(255)
        if self._channels_last:
            images = images.permute(0, 3, 1, 2)
        if drawn is None:
            images = undistorted(images, self._preprocessing, 1)
        else:
            rows = torch.from_numpy(drawn.reshape(len(flat), -1)).to(self._device)
            images = distorted(images, self._preprocessing, rows)
        shape, targets = numbers.shape, self._targets[flat].view(numbers.shape)
        if not self._channels_last:
            return Batch(images.view(*shape, *images.shape[1:]), targets)
        # for C = 1 a view of (C, H, W) would have strides with which convolutions are slower
        pixels = images.permute(0, 2, 3, 1).contiguous()
        return Batch(pixels.view(*shape, *pixels.shape[1:]).movedim(-1, -3), targets)


NUMBERS = 5
"""Number of uniform random numbers per distortion: row and column of the crop, flip, brightness, contrast."""

FLIP = 2


def draw_distortions(
    preprocessing: Preprocessing, count: int, generator: np.random.Generator
) -> np.ndarray | None:
    """Draw uniform random numbers for the distortion of the images in a batch.

    Returns
    -------
    numpy.ndarray
        Uniform random numbers in [0, 1), (count, 5). With ``augmentation_per = "batch"``, the rows differ only in the
        column for flips. The result is None if images are not distorted.
    """
    if not preprocessing.random:
        return None
    drawn = generator.random((count, NUMBERS))
    if preprocessing.augmentation_per == "batch":
        drawn = np.where(np.arange(NUMBERS) == FLIP, drawn, drawn[:1])
    return drawn


def distorted(images: Tensor, preprocessing: Preprocessing, drawn: Tensor) -> Tensor:
    """Distort images (n, C, H, W) in [0, 1] for training, by uniform random numbers ``drawn`` (n, 5)."""
    values = images.movedim(1, -1)  # NHWC, the fastest layout for convolutions
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


MOST_CHANNELS = 4
"""Largest number of channels of typical images.

If the last axis of square images has at most this length, it probably contains the channels.
"""


def check_images(partition: Partition, network: Network, preprocessing: Preprocessing) -> None:
    """Raise ``InvalidArgument`` unless every client has samples that the network accepts."""
    for half, client_images in (("training", partition.train), ("test", partition.test)):
        empty = np.flatnonzero(np.asarray(client_images.sizes) < 1)
        if len(empty):
            rule = f"must give every client {half} samples; client {empty[0]} has none"
            raise InvalidArgument("partition", partition.name, rule, "leave this client out")
        _check_samples(client_images, network, preprocessing)
    if network.classes != partition.classes:
        rule = f"must distinguish the partition's {partition.classes} classes"
        raise InvalidArgument("network", network.classes, rule, "create the network for these classes")


def _check_samples(client_images: ClientImages, network: Network, preprocessing: Preprocessing) -> None:
    sizes, kind = client_images.pixels.shape[1:], client_images.pixels.dtype
    images = network.convolutional or preprocessing.random
    if images and len(sizes) == 3 and sizes[0] == sizes[1] > MOST_CHANNELS >= sizes[2]:
        rule = f"would be {sizes[0]} channels of {sizes[1]} x {sizes[2]} pixels, not channels, height, width"
        raise InvalidArgument("data", sizes, rule, "move the channels to the front: (n, C, H, W)")
    preprocessing.check(client_images.pixels)
    shape = preprocessing.shape(sizes)
    if shape != tuple(network.image_shape):
        rule = f"must accept the partition's images, {shape}"
        raise InvalidArgument("network", network.image_shape, rule, "create the network for these images")
    if kind.kind in "iu" and kind != np.uint8 and type(network) in NETWORKS.values():
        rule = f"contains integer codes, which the network {network.name!r} does not accept"
        remedy = "use bytes or floating-point numbers, or a user-supplied network"
        raise InvalidArgument("data", str(kind), rule, remedy)


def checked_device(name: str) -> torch.device:
    """Return the device with the given name; raise ``InvalidArgument`` if it is missing."""
    if name not in ("cpu", "cuda") and not name.startswith("cuda:"):
        raise InvalidArgument("device", name, "must be 'cpu' or 'cuda'", "use 'cpu'")
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA raises AssertionError
        rule = "is missing, or the installed torch does not support it"
        raise InvalidArgument("device", name, rule, "use 'cpu'") from error
    return torch.device(name)
