"""Images for tests: made ones that are told apart by their pixels, and the published ones where they are."""

from functools import cache

import numpy as np

from clusterproof.neural.data.images import Images
from clusterproof.neural.data.loading import ImageSet
from clusterproof.neural.partitions.base import ClientImages


def made_set(train: int, test: int, *, classes: int = 10, side: int = 6, name: str = "made") -> ImageSet:
    """Return the images of random pixels: no two are alike, nor is one another one turned."""
    random = np.random.default_rng(7)
    halves = [
        Images(
            random.integers(0, 256, (count, 1, side, side), dtype=np.uint8),
            random.permutation(np.arange(count) % classes),
            classes,
        )
        for count in (train, test)
    ]
    return ImageSet(name, *halves)


@cache
def _rows_and_turns(pixels: bytes, shape: tuple[int, ...]) -> dict[bytes, tuple[int, int]]:
    """Row and quarter turns of every image, by the pixels that it has when it is turned."""
    turned = [
        np.rot90(np.frombuffer(pixels, np.uint8).reshape(shape), turn, axes=(2, 3)) for turn in range(4)
    ]
    return {image.tobytes(): (row, turn) for turn in range(4) for row, image in enumerate(turned[turn])}


def identify(held: ClientImages, images: Images) -> list[list[tuple[int, int]]]:
    """For each client the published row and the quarter turns of each image, in its order.

    Found by the pixels alone, whatever the layout.
    """
    known = _rows_and_turns(images.pixels.tobytes(), images.pixels.shape)
    return [
        [known[held.pixels[index].tobytes()] for index in held.indices[client, :size]]
        for client, size in enumerate(held.sizes)
    ]


def targets(held: ClientImages) -> list[list[int]]:
    return [held.targets[client, :size].tolist() for client, size in enumerate(held.sizes)]


def is_well_formed(held: ClientImages) -> bool:
    """Types, padding, and every image stored once and held by somebody."""
    real = np.arange(held.indices.shape[1]) < held.sizes[:, None]
    stored = held.pixels.reshape(len(held.pixels), -1)
    arrays = (held.indices, held.targets, held.sizes, held.labels)
    return (
        held.pixels.dtype == np.uint8
        and held.pixels.flags.writeable  # or torch warns
        and all(array.dtype == np.int64 for array in arrays)
        and held.sizes.max() == held.indices.shape[1]
        and held.sizes.min() >= 1
        and not held.indices[~real].any()
        and not held.targets[~real].any()
        and np.array_equal(np.unique(held.indices[real]), np.arange(len(held.pixels)))
        and len(np.unique(stored, axis=0)) == len(stored)
    )
