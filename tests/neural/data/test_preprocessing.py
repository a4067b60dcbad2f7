"""Reading of image files, and crops, flips, brightness and standardisation against loops over single images."""

import gzip
import struct
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from clusterproof.common import InvalidArgument
from clusterproof.neural.client_data import distorted, draw_distortions
from clusterproof.neural.data.catalogue import DATASETS, idx_set, read_cifar10, read_emnist, read_records
from clusterproof.neural.data.preprocessing import Preprocessing, central, undistorted

EVERYTHING: dict[str, Any] = {
    "crop": 5,
    "flip": True,
    "brightness": 0.3,
    "contrast": 0.8,
    "standardise": True,
}


def one_image(image: np.ndarray, numbers: np.ndarray, given: Preprocessing) -> np.ndarray:
    """What training sees of an image (C, H, W), pixel by pixel where it can be."""
    if given.crop is not None:
        top, left = (int(numbers[axis] * (image.shape[1 + axis] - given.crop + 1)) for axis in (0, 1))
        image = image[:, top : top + given.crop, left : left + given.crop]
    if given.flip and numbers[2] < 0.5:
        image = image[:, :, ::-1]
    image = image + given.brightness * (2 * numbers[3] - 1)
    factor = 1 + given.contrast * (2 * numbers[4] - 1)
    image = np.stack([(channel - channel.mean()) * factor + channel.mean() for channel in image])
    return standard(image) if given.standardise else image


def standard(image: np.ndarray) -> np.ndarray:
    centred = image - image.mean()
    return np.asarray(centred / max(float(image.std()), image.size**-0.5))


def images(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape)


@pytest.mark.parametrize(
    "options",
    [EVERYTHING, {"crop": 7}, {"flip": True}, {"contrast": 1.0, "standardise": True}, {"brightness": 0.5}],
    ids=str,
)
@pytest.mark.parametrize("per", ["image", "batch"])
@pytest.mark.parametrize("channels_last", [False, True])
def test_training_sees_what_a_loop_over_images_makes(
    options: dict[str, Any], per: str, channels_last: bool
) -> None:
    given = Preprocessing(**options, augmentation_per=per)
    assert given.random
    pixels = images((6, 3, 7, 8))
    stored = torch.from_numpy(pixels)
    if channels_last:
        stored = stored.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    numbers = draw_distortions(given, 6, np.random.default_rng(5))
    assert numbers is not None
    found = distorted(stored, given, torch.from_numpy(numbers))
    assert found.shape == (6, *given.shape((3, 7, 8)))
    for place in range(6):
        expected = one_image(pixels[place], numbers[place], given)
        np.testing.assert_allclose(found[place], expected, rtol=0, atol=1e-12)


def test_evaluation_sees_the_standardised_centre() -> None:
    given = Preprocessing(**EVERYTHING)
    # the second client's deviations count as one over the root of the number of pixels
    pixels = images((2, 3, 3, 7, 10)) * np.array([1, 0.01])[:, None, None, None, None]
    found = undistorted(torch.from_numpy(pixels), given)
    for place in np.ndindex(2, 3):
        np.testing.assert_allclose(found[place], standard(pixels[place][:, 1:6, 2:7]), atol=1e-12)
    flat = torch.full((1, 1, 3, 7, 8), 0.7, dtype=torch.float64)  # nothing to divide by
    np.testing.assert_allclose(undistorted(flat, given), 0, atol=1e-12)
    vectors = torch.from_numpy(10 * images((2, 3, 11)))
    alike = Preprocessing(standardise=True)
    assert not alike.random
    found = undistorted(vectors, alike)
    np.testing.assert_allclose(found.std(-1, correction=0), 1, atol=1e-12)
    assert central(np.zeros((4, 3, 32, 32)), 24).shape == (4, 3, 24, 24)


def test_a_batch_has_one_crop_and_flips_of_its_own() -> None:
    stream = np.random.default_rng(0)
    assert draw_distortions(Preprocessing(standardise=True), 4, stream) is None
    each = draw_distortions(Preprocessing(**EVERYTHING), 4, stream)
    batch = draw_distortions(Preprocessing(**EVERYTHING, augmentation_per="batch"), 4, stream)
    assert each is not None
    assert batch is not None
    assert len(np.unique(each)) == each.size
    np.testing.assert_array_equal(np.ptp(batch, axis=0) == 0, [True, True, False, True, True])


def test_crops_and_flips_are_uniform() -> None:
    given = Preprocessing(crop=3, flip=True)
    stored = torch.arange(20.0).view(1, 1, 4, 5).expand(3000, 1, 4, 5)
    numbers = draw_distortions(given, 3000, np.random.default_rng(2))
    assert numbers is not None
    found = distorted(stored, given, torch.from_numpy(numbers))[:, 0]
    corners, counts = np.unique(found[:, 0].numpy(), axis=0, return_counts=True)
    assert len(corners) == 2 * 3 * 2  # places down, across, and both directions
    assert stats.chisquare(counts).pvalue > 1e-4


def test_samples_that_are_no_images_are_refused() -> None:
    bytes_ = np.zeros((2, 3, 6, 8), np.uint8)
    Preprocessing(crop=6).check(bytes_)
    Preprocessing(standardise=True).check(np.zeros((2, 5)))
    Preprocessing().check(np.zeros((2, 5), np.int64))
    for options, pixels, words in (
        ({"crop": 7}, bytes_, "at most 6"),
        ({"flip": True}, np.zeros((2, 5)), "needs images"),
        ({"standardise": True}, np.zeros((2, 5), np.int64), "codes"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            Preprocessing(**options).check(pixels)  # type: ignore[arg-type]


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
