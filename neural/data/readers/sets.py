"""Each data set, made from the contents of its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from clusterproof.algorithms.randomness import generator
from clusterproof.neural.data.images import Images, ImageSet
from clusterproof.neural.data.readers.cifar import read_records
from clusterproof.neural.data.readers.idx import read_idx
from clusterproof.neural.data.readers.malformed import malformed


def _labelled(pixels: np.ndarray, labels: np.ndarray, classes: int, source: str) -> Images:
    """Join pixels (N, C, H, W) and label bytes (N,).

    Raises
    ------
    InvalidArgument
        If a label is none of the classes.
    """
    if labels.size and labels.max() >= classes:
        raise malformed(source, f"must hold labels below {classes}, not {labels.max()}")
    return Images(pixels, labels.astype(np.int64), classes)


def _read_half(
    contents: Mapping[str, bytes], half: str, count: int, classes: int, *, transposed: bool = False
) -> Images:
    """Read the file of images and the file of labels of one half.

    Parameters
    ----------
    half
        How both files' names begin.
    count
        Number of images.
    transposed
        Whether the file has rows and columns exchanged, which is undone.
    """
    names = [f"{half}-images-idx3-ubyte.gz", f"{half}-labels-idx1-ubyte.gz"]
    pixels = read_idx(contents[names[0]], (count, 28, 28), names[0])
    labels = read_idx(contents[names[1]], (count,), names[1])
    upright = np.ascontiguousarray(pixels.transpose(0, 2, 1)) if transposed else pixels
    return _labelled(upright[:, None], labels, classes, names[1])


def idx_set(name: str) -> Callable[[Mapping[str, bytes]], ImageSet]:
    """Make the reader of a set that is published as MNIST is."""

    def read(contents: Mapping[str, bytes]) -> ImageSet:
        train = _read_half(contents, "train", 60_000, 10)
        return ImageSet(name, train, _read_half(contents, "t10k", 10_000, 10))

    return read


def read_cifar10(contents: Mapping[str, bytes]) -> ImageSet:
    """CIFAR-10 from the six files of its binary version."""
    names = [f"data_batch_{number}.bin" for number in range(1, 6)]
    parts = [read_records(contents[name], 10_000, name) for name in names]
    pixels, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    test = _labelled(
        *read_records(contents["test_batch.bin"], 10_000, "test_batch.bin"), 10, "test_batch.bin"
    )
    return ImageSet("cifar10", _labelled(pixels, labels, 10, "data_batch_*.bin"), test)


def read_emnist(contents: Mapping[str, bytes]) -> ImageSet:
    """EMNIST ByMerge; where its training half is not there, the test half is divided."""
    test = _read_half(contents, "emnist-bymerge-test", 116_323, 47, transposed=True)
    if "emnist-bymerge-train-images-idx3-ubyte.gz" not in contents:
        order = generator(0, "emnist").permutation(len(test))
        part = len(test) // 7  # the proportion of the published halves
        note = (
            f"only the published test half is here: its {len(test)} images are divided at random,"
            f" {len(test) - part} for training and {part} for testing"
        )
        return ImageSet("emnist", test.take(order[part:]), test.take(order[:part]), note)
    train = _read_half(contents, "emnist-bymerge-train", 697_932, 47, transposed=True)
    return ImageSet("emnist", train, test)
