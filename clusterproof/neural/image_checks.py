"""Requirements of an image task on its partition and network."""

from __future__ import annotations

import numpy as np
import torch

from clusterproof.common.validation import InvalidArgument
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.networks import NETWORKS, Network
from clusterproof.neural.partitions.base import ClientImages, Partition

MOST_CHANNELS = 4
"""Largest number of channels of common images; square images with such a last axis are channels-last (NHWC)."""


def check_images(partition: Partition, network: Network, preprocessing: Preprocessing) -> None:
    """Raise ``InvalidArgument`` unless every client has samples that the network accepts."""
    for half, client_images in (("training", partition.train), ("test", partition.test)):
        empty = np.flatnonzero(np.asarray(client_images.sizes) < 1)
        if len(empty):
            rule = f"must give every client {half} samples, and client {empty[0]} has none"
            raise InvalidArgument("partition", partition.name, rule, "leave that client out")
        _check_samples(client_images, network, preprocessing)
    if network.classes != partition.classes:
        rule = f"must tell the partition's {partition.classes} classes apart"
        raise InvalidArgument("network", network.classes, rule, "make the network for these classes")


def _check_samples(client_images: ClientImages, network: Network, preprocessing: Preprocessing) -> None:
    sizes, kind = client_images.pixels.shape[1:], client_images.pixels.dtype
    images = network.convolutional or preprocessing.random
    if images and len(sizes) == 3 and sizes[0] == sizes[1] > MOST_CHANNELS >= sizes[2]:
        rule = f"would be {sizes[0]} channels of {sizes[1]} x {sizes[2]} pixels, not channels, height, width"
        raise InvalidArgument("data", sizes, rule, "bring the channels to the front: (n, C, H, W)")
    preprocessing.check(client_images.pixels)
    shape = preprocessing.shape(sizes)
    if shape != tuple(network.image_shape):
        rule = f"must take the partition's images, {shape}"
        raise InvalidArgument("network", network.image_shape, rule, "make the network for these images")
    if kind.kind in "iu" and kind != np.uint8 and type(network) in NETWORKS.values():
        rule = f"has codes, which the network {network.name!r} does not take"
        remedy = "give bytes, floating numbers, or a user-supplied network"
        raise InvalidArgument("data", str(kind), rule, remedy)


def checked_device(name: str) -> torch.device:
    """Return the device with a name; raise ``InvalidArgument`` if it is missing."""
    if name not in ("cpu", "cuda") and not name.startswith("cuda:"):
        raise InvalidArgument("device", name, "must be 'cpu' or 'cuda'", "use 'cpu'")
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA raises AssertionError
        rule = "is not there, or not for this torch"
        raise InvalidArgument("device", name, rule, "use 'cpu'") from error
    return torch.device(name)
