"""Clients' images on the device that computes."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from clusterproof.neural.data.preprocessing import Preprocessing, undistorted
from clusterproof.neural.partitions.base import ClientImages


@dataclass(frozen=True, eq=False)
class Batch:
    """Samples of k clients, padded to the same number b.

    Attributes
    ----------
    images
        In [0, 1], (k, b, C, H, W), or other samples, (k, b, ...).
    targets
        Classes, (k, b).
    weights
        One over the client's number of real samples, and 0 for padding, (k, b).
    """

    images: Tensor
    targets: Tensor
    weights: Tensor

    @property
    def unpadded(self) -> Batch:
        """The real samples of a batch of one client."""
        real = int((self.weights > 0).sum())
        return Batch(self.images[:, :real], self.targets[:, :real], self.weights[:, :real])


class ClientData:
    """Samples of clients on a device: pixels stay bytes until they are used, and codes stay integers.

    Parameters
    ----------
    client_images
        Samples of all clients.
    device, dtype
        Where, and the type of the scaled images.
    channels_last
        Whether to store the channels of a pixel next to each other (NHWC), as convolutions are fastest.
    preprocessing
        What evaluation does to images; training distorts them ``as_stored``.
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
        self.widths = padded_widths(self.sizes)
        self._like = torch.zeros((), device=device, dtype=dtype)
        self._channels_last, self.preprocessing = channels_last, preprocessing
        pixels = torch.from_numpy(np.ascontiguousarray(client_images.pixels))
        if pixels.is_floating_point():
            pixels = pixels.to(dtype)
        stored = pixels.permute(0, 2, 3, 1).contiguous() if channels_last else pixels
        self._pixels = stored.to(device)
        self._indices, self._targets = (
            torch.from_numpy(np.asarray(table)).to(device)
            for table in (client_images.indices, client_images.targets)
        )

    @property
    def as_stored(self) -> ClientData:
        """The same data without preprocessing."""
        stored = copy.copy(self)
        stored.preprocessing = Preprocessing()
        return stored

    def whole(self, clients: np.ndarray, width: int) -> Batch:
        """All samples of clients (k,), padded to ``width``."""
        samples = np.tile(np.arange(width), (len(clients), 1))
        return self.chosen(clients, samples, self.sizes[clients])

    def chosen(self, clients: np.ndarray, samples: np.ndarray, counts: np.ndarray) -> Batch:
        """Samples (k, b) of clients (k,), of which the first ``counts`` (k,) are real."""
        rows, columns = self._on_device(clients)[:, None], self._on_device(samples)
        return Batch(
            self._images(self._indices[rows, columns]),
            self._targets[rows, columns],
            mean_weights(counts, samples.shape[1], self._like),
        )

    def _on_device(self, indices: np.ndarray) -> Tensor:
        return torch.from_numpy(indices).to(self._like.device)

    def _images(self, indices: Tensor) -> Tensor:
        """Scaled images (k, b, C, H, W) at indices (k, b)."""
        images = self._pixels.index_select(0, indices.flatten())
        if images.dtype == torch.uint8:
            images = images.to(self._like.dtype).div_(255)
        images = images.view(*indices.shape, *images.shape[1:])
        if self._channels_last:
            images = images.permute(0, 1, 4, 2, 3)
        return undistorted(images, self.preprocessing)


def mean_weights(counts: np.ndarray, width: int, like: Tensor) -> Tensor:
    """Weights (k, width) of means over the first ``counts`` (k,) samples, of the type of ``like``."""
    weights = (np.arange(width) < counts[:, None]) / counts[:, None]
    return torch.from_numpy(weights).to(like.device, like.dtype)


def padded_widths(sizes: np.ndarray) -> np.ndarray:
    """Width to which each client's data are padded, so that those of similar size can share a product: (m,).

    The largest size over a power of the root of 2, rounded up. It does not depend on the other participants.
    """
    ladder = np.ceil(sizes.max() / 2 ** (np.arange(64) / 2)).astype(np.int64)[::-1]
    return np.asarray(ladder[np.searchsorted(ladder, sizes)])
