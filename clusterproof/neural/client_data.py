"""Clients' samples on the device that computes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from clusterproof.neural.data.preprocessing import Preprocessing, undistorted
from clusterproof.neural.distortion import distorted
from clusterproof.neural.partitions.base import ClientImages


@dataclass(frozen=True, eq=False)
class Batch:
    """Samples.

    Attributes
    ----------
    images
        In [0, 1], (..., C, H, W), or other samples; ``...`` is (k, b) for b samples of each of k clients.
    targets
        Classes, (...).
    """

    images: Tensor
    targets: Tensor


class ClientData:
    """Samples of clients on a device: pixels stay bytes until they are used, and codes stay integers.

    The samples of all clients have numbers: those of client 0 come first, then those of client 1, and so on.

    Parameters
    ----------
    client_images
        Samples of all clients.
    device, dtype
        Where, and the type of the scaled images.
    channels_last
        Whether to store the channels of a pixel next to each other (NHWC), as convolutions are fastest.
    preprocessing
        What is done to images.
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
        is_real = np.arange(client_images.indices.shape[1]) < self.sizes[:, None]
        self._rows, self._targets = (
            torch.from_numpy(np.asarray(table)[is_real]).to(device)
            for table in (client_images.indices, client_images.targets)
        )

    def numbers(self, client: int, samples: np.ndarray | None = None) -> np.ndarray:
        """Numbers of some samples of a client (b,), or of all."""
        samples = np.arange(self.sizes[client]) if samples is None else samples
        return np.asarray(self._first[client] + samples)

    def take(self, numbers: np.ndarray, drawn: np.ndarray | None = None) -> Batch:
        """Samples of some numbers (...), as evaluation sees them or distorted by ``drawn`` (..., 5)."""
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
        shape = numbers.shape
        return Batch(images.view(*shape, *images.shape[1:]), self._targets[flat].view(shape))
