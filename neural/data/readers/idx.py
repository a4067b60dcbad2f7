"""The gzipped idx files of MNIST, Fashion-MNIST and EMNIST.

An idx file begins with two zero bytes, a type code, the number of dimensions and each size as a
32-bit big-endian integer; the elements follow in C order. http://yann.lecun.com/exdb/mnist
"""

from __future__ import annotations

import gzip
import io
import math
import struct
import zlib

import numpy as np

from clusterproof.neural.data.readers.malformed import malformed

UNSIGNED_BYTE = 0x08


def read_idx(content: bytes, shape: tuple[int, ...], source: str) -> np.ndarray:
    """Read a gzipped idx file of unsigned bytes.

    Parameters
    ----------
    content
        The file's bytes.
    shape
        What its header must say; no more than that is decompressed.
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
                raise malformed(source, f"must begin as idx file {_describe(header)}, not {_describe(found)}")
            values = file.read(length)
            rest = file.read(1)  # reaches the end, where gzip compares its checksum
    except (OSError, EOFError, zlib.error) as error:
        raise malformed(source, f"must be a whole gzip file ({error})") from error
    if len(values) < length or rest:
        rule = f"must hold {length} bytes after its header, not {'more' if rest else len(values)}"
        raise malformed(source, rule)
    return np.frombuffer(values, dtype=np.uint8).reshape(shape)


def _describe(header: bytes) -> str:
    return header.hex(" ", 4) or "empty"
