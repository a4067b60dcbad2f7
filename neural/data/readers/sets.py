"""The published files of each data set: gzipped idx files, and the records of CIFAR-10's binary version."""

from __future__ import annotations

import gzip
import io
import math
import struct
import zlib
from collections.abc import Callable, Mapping

import numpy as np

from clusterproof.algorithms.randomness import generator
from clusterproof.neural.data.images import Images, ImageSet
from clusterproof.neural.data.readers.archives import malformed

UNSIGNED_BYTE = 0x08
RECORD = 3 * 32 * 32


def read_idx(content: bytes, shape: tuple[int, ...], source: str) -> np.ndarray:
    """Read a gzipped idx file of unsigned bytes, as of MNIST, Fashion-MNIST and EMNIST.

    An idx file begins with two zero bytes, a type code, the number of dimensions and each size as a
    32-bit big-endian integer; the elements follow in C order. http://yann.lecun.com/exdb/mnist

    Parameters
    ----------
    content
        The file's bytes.
    shape
        Required by its header; no more than that is decompressed.
    source
        The file's name, for the message.

    Returns
    -------
    numpy.ndarray
        uint8, of that shape, read-only.

    Raises
    ------
    InvalidArgument
        If it is no whole gzip file, no idx file of unsigned bytes, or has another shape.
    """
    header = struct.pack(f">HBB{len(shape)}I", 0, UNSIGNED_BYTE, len(shape), *shape)
    length = math.prod(shape)
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            found = file.read(len(header))
            if found != header:
                raise malformed(
                    source, f"must begin as idx file {header.hex(' ', 4)}, not {found.hex(' ', 4) or 'empty'}"
                )
            values = file.read(length)
            rest = file.read(1)  # reaches the end, where gzip compares its checksum
    except (OSError, EOFError, zlib.error) as error:
        raise malformed(source, f"must be a whole gzip file ({error})") from error
    if len(values) < length or rest:
        rule = f"must hold {length} bytes after its header, not {'more' if rest else len(values)}"
        raise malformed(source, rule)
    return np.frombuffer(values, dtype=np.uint8).reshape(shape)


def read_records(content: bytes, count: int, source: str) -> tuple[np.ndarray, np.ndarray]:
    """Read a file of CIFAR-10 records: a label byte, then the red, green and blue planes.

    https://www.cs.toronto.edu/~kriz/cifar.html

    Parameters
    ----------
    content
        The file's bytes.
    count
        Number of records that it must hold.
    source
        The file's name, for the message.

    Returns
    -------
    tuple
        Pixels, uint8 (count, 3, 32, 32), and labels, uint8 (count,); both read-only.

    Raises
    ------
    InvalidArgument
        If the length is another.
    """
    length = count * (1 + RECORD)
    if len(content) != length:
        rule = f"must hold {count} records of {1 + RECORD} bytes, {length} in all, not {len(content)}"
        raise malformed(source, rule)
    records = np.frombuffer(content, dtype=np.uint8).reshape(count, 1 + RECORD)
    return records[:, 1:].reshape(count, 3, 32, 32), records[:, 0]


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
