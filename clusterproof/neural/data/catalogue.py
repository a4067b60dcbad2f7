"""The data sets in ``catalogue.json``, and functions that read scikit-learn's digits, gzipped idx files and CIFAR-10.

Before a file is read, its SHA-256 hash, or the hash of its archive, is compared with the published value. The readers
therefore do not check formats.
"""

from __future__ import annotations

import gzip
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from clusterproof.common.randomness import generator
from clusterproof.common.validation import InvalidArgument, install
from clusterproof.neural.data.images import Images, ImageSet
from clusterproof.neural.data.published import Archive, PublishedFile

TRAINING = 1440
"""Number of training images of the digits; the other 357 images are for testing."""


def read_digits(_: Mapping[str, bytes]) -> ImageSet:
    """Read the digits, and scale their grey values from 0 to 16 to 0 to 255.

    A fixed permutation divides the 1797 images into a training half and a test half.
    """
    table = _table()
    pixels = np.rint(table[:, :-1].reshape(-1, 1, 8, 8) * (255 / 16)).astype(np.uint8)
    images = Images(pixels, table[:, -1].astype(np.int64), 10)
    order = generator(0, "digits").permutation(len(images))
    note = f"one list of {len(images)} images, divided at random: {TRAINING} for training"
    return ImageSet("digits", images.take(order[:TRAINING]), images.take(order[TRAINING:]), note)


def _table() -> np.ndarray:
    """Read grey values and labels, (1797, 65), from a file of scikit-learn without importing it, which is slow."""
    found = importlib.util.find_spec("sklearn")
    if found is None or found.origin is None:
        raise InvalidArgument(
            "data", "digits", "needs scikit-learn, which contains the images", install("run")
        )
    return np.loadtxt(Path(found.origin).parent / "datasets" / "data" / "digits.csv.gz", delimiter=",")


def read_idx(content: bytes, shape: tuple[int, ...]) -> np.ndarray:
    """Read a gzipped idx file of unsigned bytes, the format of MNIST, Fashion-MNIST and EMNIST.

    An idx file begins with two zero bytes, a type code, the number of dimensions and each size as a
    32-bit big-endian integer; the elements follow in C order. http://yann.lecun.com/exdb/mnist

    Parameters
    ----------
    content
        The file's bytes.
    shape
        Shape of the result, with the same number of axes as in the file; one size may be -1.
    """
    values = np.frombuffer(gzip.decompress(content), dtype=np.uint8, offset=4 + 4 * len(shape))
    return values.reshape(shape)


def read_records(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Read a file of CIFAR-10 records. Each record is a label byte, followed by the red, green and blue planes.

    https://www.cs.toronto.edu/~kriz/cifar.html

    Returns
    -------
    tuple
        Pixels, uint8 (N, 3, 32, 32), and labels, uint8 (N,); both read-only.
    """
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, 1 + 3 * 32 * 32)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]


def _read_half(contents: Mapping[str, bytes], half: str, classes: int, *, transposed: bool = False) -> Images:
    """Read the image file and the label file of one half, training or test.

    Parameters
    ----------
    half
        Common prefix of the names of both files.
    transposed
        Whether the file contains transposed images; the result is never transposed.
    """
    pixels = read_idx(contents[f"{half}-images-idx3-ubyte.gz"], (-1, 28, 28))
    labels = read_idx(contents[f"{half}-labels-idx1-ubyte.gz"], (-1,))
    upright = np.ascontiguousarray(pixels.transpose(0, 2, 1)) if transposed else pixels
    return Images(upright[:, None], labels.astype(np.int64), classes)


def idx_set(name: str) -> Callable[[Mapping[str, bytes]], ImageSet]:
    """Return a function that reads a data set in MNIST's format."""

    def read(contents: Mapping[str, bytes]) -> ImageSet:
        train = _read_half(contents, "train", 10)
        return ImageSet(name, train, _read_half(contents, "t10k", 10))

    return read


def read_cifar10(contents: Mapping[str, bytes]) -> ImageSet:
    """Read CIFAR-10 from the six files of its binary version."""
    parts = [read_records(contents[f"data_batch_{number}.bin"]) for number in range(1, 6)]
    halves = (
        (np.concatenate(arrays) for arrays in zip(*parts, strict=True)),
        read_records(contents["test_batch.bin"]),
    )
    train, test = (Images(pixels, labels.astype(np.int64), 10) for pixels, labels in halves)
    return ImageSet("cifar10", train, test)


def read_emnist(contents: Mapping[str, bytes]) -> ImageSet:
    """Read EMNIST ByMerge; if its training half is missing, split the test half."""
    test = _read_half(contents, "emnist-bymerge-test", 47, transposed=True)
    if "emnist-bymerge-train-images-idx3-ubyte.gz" not in contents:
        order = generator(0, "emnist").permutation(len(test))
        part = len(test) // 7  # the same proportion as the published halves
        note = (
            f"only the published test half is here: its {len(test)} images are divided at random,"
            f" {len(test) - part} for training and {part} for testing"
        )
        return ImageSet("emnist", test.take(order[part:]), test.take(order[:part]), note)
    train = _read_half(contents, "emnist-bymerge-train", 47, transposed=True)
    return ImageSet("emnist", train, test)


READERS: dict[str, Callable[[Mapping[str, bytes]], ImageSet]] = {
    "digits": read_digits,
    "mnist": idx_set("mnist"),
    "fashion-mnist": idx_set("fashion-mnist"),
    "cifar10": read_cifar10,
    "emnist": read_emnist,
}
"""Functions that read a data set from the contents of its files, indexed by the name of the data set."""


@dataclass(frozen=True)
class Dataset:
    """Description of a data set.

    Attributes
    ----------
    name
        Name on the command line.
    train, test
        Number of images for training and testing, as published.
    shape
        Channels, height and width.
    classes
        Number of classes.
    origin
        Web page of the authors.
    licence
        Description of the licence.
    files
        The files; empty if an installed package contains the data.
    archive
        Archive in which the files were published, or None.
    optional
        Names of files that may be missing; without them, only a part of the data set can be read.
    """

    name: str
    train: int
    test: int
    shape: tuple[int, int, int]
    classes: int
    origin: str
    licence: str
    files: tuple[PublishedFile, ...]
    archive: Archive | None = None
    optional: frozenset[str] = frozenset()

    def read(self, contents: Mapping[str, bytes]) -> ImageSet:
        """Read the data set from the contents of its files, indexed by file name."""
        return READERS[self.name](contents)


DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=list[Dataset])
}
"""All data sets, indexed by their names on the command line.

:meta hide-value:
"""
