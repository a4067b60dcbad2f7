"""Readers: pixels, labels and halves as the formats have them."""

import gzip
import struct

import numpy as np

from clusterproof.neural.data.catalogue import DATASETS, idx_set, read_cifar10, read_emnist, read_records


def test_a_record_is_a_label_and_three_planes() -> None:
    planes = np.random.default_rng(0).integers(0, 256, (2, 3072), dtype=np.uint8)
    content = b"".join(bytes([label]) + plane.tobytes() for label, plane in zip((7, 3), planes, strict=True))
    pixels, labels = read_records(content)
    assert labels.tolist() == [7, 3]
    # red, green, blue, each plane row by row
    assert pixels[1, 2, 30, 5] == planes[1, 2 * 1024 + 30 * 32 + 5]


def idx(values: np.ndarray) -> bytes:
    header = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    return gzip.compress(header + values.tobytes(), 1)


def test_mnist_halves() -> None:
    contents = {}
    for half, count in (("train", 60), ("t10k", 10)):
        pixels = np.zeros((count, 28, 28), dtype=np.uint8)
        pixels[7, 3, 10] = 200
        contents[f"{half}-images-idx3-ubyte.gz"] = idx(pixels)
        contents[f"{half}-labels-idx1-ubyte.gz"] = idx((np.arange(count) % 10).astype(np.uint8))
    for name in ("mnist", "fashion-mnist"):
        assert DATASETS[name].read(contents).name == name
    read = idx_set("mnist")(contents)
    assert read.train.pixels.shape == (60, 1, 28, 28)
    assert np.argwhere(read.test.pixels).tolist() == [[7, 0, 3, 10]]
    assert read.test.labels.tolist() == list(range(10))


def test_cifar10_batches() -> None:
    batches = {}
    for number, name in enumerate([*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"]):
        records = np.zeros((20, 3073), dtype=np.uint8)
        records[:, 0] = np.arange(20) % 10
        records[:, 1] = number
        batches[name] = records.tobytes()
    read = read_cifar10(batches)
    assert read.train.pixels.shape == (100, 3, 32, 32)
    assert read.train.pixels[::20, 0, 0, 0].tolist() == [0, 1, 2, 3, 4]
    assert set(read.test.pixels[:, 0, 0, 0]) == {5}
    assert read.train.labels[45] == 5


def test_half_of_emnist_is_turned_upright_and_divided_once() -> None:
    pixels = np.zeros((1163, 28, 28), dtype=np.uint8)
    pixels[:, 3, 10] = np.arange(1163) % 251
    labels = (np.arange(1163) % 47).astype(np.uint8)
    contents = {
        "emnist-bymerge-test-images-idx3-ubyte.gz": idx(pixels),
        "emnist-bymerge-test-labels-idx1-ubyte.gz": idx(labels),
    }
    read = read_emnist(contents)
    assert (len(read.train), len(read.test)) == (1163 - 166, 166)
    assert "1163" in read.note
    upright = np.concatenate([read.train.pixels[:, 0, 10, 3], read.test.pixels[:, 0, 10, 3]])
    both = np.concatenate([read.train.labels, read.test.labels])
    expected = np.sort((np.arange(1163) % 251) * 47 + labels)
    assert np.array_equal(np.sort(upright.astype(int) * 47 + both), expected)
    assert np.array_equal(read_emnist(contents).test.labels, read.test.labels)
