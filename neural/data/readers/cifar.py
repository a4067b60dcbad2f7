"""The records of CIFAR-10's binary version: a label byte, then the red, green and blue planes.

https://www.cs.toronto.edu/~kriz/cifar.html
"""

from __future__ import annotations

import numpy as np

from clusterproof.neural.data.readers.malformed import malformed

PIXELS = 3 * 32 * 32


def read_records(content: bytes, count: int, source: str) -> tuple[np.ndarray, np.ndarray]:
    """Read a file of records.

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
    length = count * (1 + PIXELS)
    if len(content) != length:
        rule = f"must hold {count} records of {1 + PIXELS} bytes, {length} in all, not {len(content)}"
        raise malformed(source, rule)
    records = np.frombuffer(content, dtype=np.uint8).reshape(count, 1 + PIXELS)
    return records[:, 1:].reshape(count, 3, 32, 32), records[:, 0]
