"""Malformed files: a reader gives what was stored, or refuses in one line, and nothing else."""

import gzip
import io
import struct
import tarfile
import zipfile
from collections.abc import Callable

import numpy as np
import pytest
from example_counts import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.data.catalogue import DATASETS
from clusterproof.neural.data.images import Images
from clusterproof.neural.data.readers import sets
from clusterproof.neural.data.readers.archives import read_tar, read_zip
from clusterproof.neural.data.readers.sets import idx_set, read_cifar10, read_emnist, read_idx, read_records

SHAPE = (3, 4, 5)
VALUES = np.random.default_rng(1).integers(0, 256, SHAPE, dtype=np.uint8)
HEADER = struct.pack(">HBBIII", 0, 8, 3, *SHAPE)
WHOLE = gzip.compress(HEADER + VALUES.tobytes(), mtime=0)
MEMBERS = {"inside/one.bin": VALUES.tobytes(), "inside/two.bin": bytes(range(256)) * 3}


def make_tar(members: dict[str, bytes] = MEMBERS) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def make_zip(members: dict[str, bytes] = MEMBERS, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


TAR, ZIP = make_tar(), make_zip()


def answer(read: Callable[[], object]) -> object:
    """What a reader gives; None where it refuses as it should."""
    try:
        return read()
    except InvalidArgument as error:
        refusal = error
    message = str(refusal)
    assert "\n" not in message
    assert len(message) < 600
    assert refusal.value == "the-file"
    assert "clusterproof data fetch" in message
    return None


def refused(read: Callable[[], object]) -> bool:
    return answer(read) is None


def mutated(whole: bytes) -> st.SearchStrategy[bytes]:
    """A whole file cut short, overwritten in places, with bytes put in, taken out or added."""
    place = st.integers(0, len(whole))
    few = st.binary(min_size=1, max_size=12)
    return st.one_of(
        place.map(lambda at: whole[:at]),
        place.map(lambda at: whole[at:]),
        st.tuples(place, few).map(lambda edit: whole[: edit[0]] + edit[1] + whole[edit[0] :]),
        st.tuples(place, few).map(lambda edit: whole[: edit[0]] + edit[1] + whole[edit[0] + len(edit[1]) :]),
        st.tuples(place, st.integers(0, 7)).map(
            lambda bit: b"".join(
                (
                    whole[: bit[0]],
                    bytes(byte ^ 1 << bit[1] for byte in whole[bit[0] : bit[0] + 1]),
                    whole[bit[0] + 1 :],
                )
            )
        ),
        st.tuples(place, place).map(lambda span: whole[: min(span)] + whole[max(span) :]),
        few.map(lambda tail: whole + tail),
        st.binary(max_size=200),
    )


@given(content=mutated(WHOLE))
@settings(max_examples=examples(400))
def test_idx_bytes(content: bytes) -> None:
    found = answer(lambda: read_idx(content, SHAPE, "the-file"))
    assert found is None or np.array_equal(found, VALUES)


@given(content=mutated(HEADER + VALUES.tobytes()), level=st.integers(0, 9))
@settings(max_examples=examples(200))
def test_idx_bytes_below_a_right_checksum(content: bytes, level: int) -> None:
    found = answer(lambda: read_idx(gzip.compress(content, level, mtime=0), SHAPE, "the-file"))
    right = content[: len(HEADER)] == HEADER and len(content) == len(HEADER) + VALUES.size
    assert (found is not None) == right
    if right:
        assert found.tobytes() == content[len(HEADER) :]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("code", "shape"),
    [
        *((code, SHAPE) for code in (0x00, 0x09, 0x0B, 0x0C, 0x0D, 0x0E, 0xFF)),
        *((0x08, shape) for shape in ((), (3,), (60,), (4, 3, 5), (2, 4, 5), (4, 4, 5), (0, 4, 5))),
        *((0x08, shape) for shape in ((2**32 - 1,) * 3, (3, 4, 5, 1), (1,) * 255)),
    ],
)
def test_idx_of_other_types_and_shapes(code: int, shape: tuple[int, ...]) -> None:
    header = struct.pack(f">HBB{len(shape)}I", 0, code, len(shape), *shape)
    assert refused(lambda: read_idx(gzip.compress(header + VALUES.tobytes()), SHAPE, "the-file"))


def test_a_gzip_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(HEADER + VALUES.tobytes() + bytes(2**26), 9)
    assert refused(lambda: read_idx(bomb, SHAPE, "the-file"))


@given(count=st.integers(0, 4), change=st.integers(-3073, 3073))
def test_records_of_any_length(count: int, change: int) -> None:
    content = bytes(max(0, 3073 * count + change))
    found = answer(lambda: read_records(content, count, "the-file"))
    assert (found is not None) == (len(content) == 3073 * count)


def test_a_record_is_a_label_and_three_planes() -> None:
    planes = np.random.default_rng(0).integers(0, 256, (2, 3072), dtype=np.uint8)
    content = b"".join(bytes([label]) + plane.tobytes() for label, plane in zip((7, 3), planes, strict=True))
    pixels, labels = read_records(content, 2, "the-file")
    assert labels.tolist() == [7, 3]
    # red, green, blue, each plane row by row
    assert pixels[1, 2, 30, 5] == planes[1, 2 * 1024 + 30 * 32 + 5]


READERS = {"tar": (read_tar, lambda raw: gzip.compress(raw, 1, mtime=0), TAR), "zip": (read_zip, bytes, ZIP)}


def unpack(kind: str, content: bytes) -> object:
    reader = READERS[kind][0]
    return answer(lambda: reader(io.BufferedReader(io.BytesIO(content)), list(MEMBERS), "the-file"))


@pytest.mark.parametrize("kind", READERS)
def test_whole_archives(kind: str) -> None:
    _, pack, whole = READERS[kind]
    assert unpack(kind, pack(whole)) == MEMBERS


@given(content=mutated(gzip.compress(TAR, mtime=0)))
@settings(max_examples=examples(200))
def test_tar_gz_bytes(content: bytes) -> None:
    found = unpack("tar", content)
    assert found is None or set(found) == set(MEMBERS)  # type: ignore[call-overload]


@given(content=mutated(TAR))
@example(content=TAR[:512])
@settings(max_examples=examples(300))
def test_tar_bytes_below_a_right_checksum(content: bytes) -> None:
    found = unpack("tar", gzip.compress(content, 1, mtime=0))
    assert found is None or set(found) == set(MEMBERS)  # type: ignore[call-overload]


@given(
    kind=st.sampled_from([*(bytes([code]) for code in b"01234567gxLKSVX\x00 ")]),
    size=st.one_of(
        st.integers(0, 2**40), st.sampled_from([b"-0000000001\x00", b"\xff" * 12, b"\x80" + b"\xff" * 11])
    ),
    body=st.binary(max_size=600),
)
@settings(max_examples=examples(200))
def test_tar_entries_of_every_kind(kind: bytes, size: int | bytes, body: bytes) -> None:
    field = size if isinstance(size, bytes) else b"%011o\x00" % size if size < 8**11 else b"\xff" * 12
    header = bytearray(TAR[:512])
    header[124:136], header[156:157] = field, kind
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\x00 " % sum(header)
    body += bytes(-len(body) % 512)
    for content in (bytes(header) + body + TAR, bytes(header) + body):
        found = unpack("tar", gzip.compress(content, 1, mtime=0))
        assert found is None or set(found) == set(MEMBERS)  # type: ignore[call-overload]


@given(content=mutated(ZIP))
@settings(max_examples=examples(400))
def test_zip_bytes(content: bytes) -> None:
    found = unpack("zip", content)
    assert found is None or found == MEMBERS  # a zip file has checksums of its members


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zip_files_compressed_otherwise(method: int) -> None:
    whole = make_zip(method=method)
    assert unpack("zip", whole) == MEMBERS
    for at in range(0, len(whole), 7):
        unpack("zip", whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    "members",
    [
        {},
        {"inside/one.bin": b"1"},
        {"../inside/one.bin": b"1", "/inside/two.bin": b"2"},
        {"inside/ONE.BIN": b""},
    ],
)
def test_archives_without_the_member(kind: str, members: dict[str, bytes]) -> None:
    pack = READERS[kind][1]
    assert unpack(kind, pack((make_tar if kind == "tar" else make_zip)(members))) is None


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
def test_a_member_that_is_no_regular_file(kind: bytes) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name in MEMBERS:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/hostname"
            archive.addfile(entry)
    assert unpack("tar", buffer.getvalue()) is None


def idx(values: np.ndarray) -> bytes:
    header = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    return gzip.compress(header + values.tobytes(), 1)


def test_mnist_halves_and_a_label_beyond_the_classes() -> None:
    contents = {}
    for half, count in (("train", 60_000), ("t10k", 10_000)):
        pixels = np.zeros((count, 28, 28), dtype=np.uint8)
        pixels[7, 3, 10] = 200
        contents[f"{half}-images-idx3-ubyte.gz"] = idx(pixels)
        contents[f"{half}-labels-idx1-ubyte.gz"] = idx((np.arange(count) % 10).astype(np.uint8))
    read = idx_set("mnist")(contents)
    assert read.train.pixels.shape == (60_000, 1, 28, 28)
    assert np.argwhere(read.test.pixels).tolist() == [[7, 0, 3, 10]]
    assert read.test.labels.tolist() == list(range(10)) * 1000
    contents["t10k-labels-idx1-ubyte.gz"] = idx((np.arange(10_000) % 11).astype(np.uint8))
    with pytest.raises(InvalidArgument, match="labels below 10, not 10"):
        idx_set("mnist")(contents)


def test_cifar10_batches_and_a_label_beyond_the_classes() -> None:
    batches = {}
    for number, name in enumerate([*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"]):
        records = np.zeros((10_000, 3073), dtype=np.uint8)
        records[:, 0] = np.arange(10_000) % 10
        records[:, 1] = number
        batches[name] = records.tobytes()
    read = read_cifar10(batches)
    assert read.train.pixels.shape == (50_000, 3, 32, 32)
    assert read.train.pixels[::10_000, 0, 0, 0].tolist() == [0, 1, 2, 3, 4]
    assert set(read.test.pixels[:, 0, 0, 0]) == {5}
    assert read.train.labels[12_345] == 5
    batches["data_batch_3.bin"] = b"\x0a" + batches["data_batch_3.bin"][1:]
    with pytest.raises(InvalidArgument, match="labels below 10, not 10"):
        read_cifar10(batches)


def test_half_of_emnist_is_turned_upright_and_divided_once() -> None:
    pixels = np.zeros((116_323, 28, 28), dtype=np.uint8)
    pixels[:, 3, 10] = np.arange(116_323) % 251
    labels = (np.arange(116_323) % 47).astype(np.uint8)
    contents = {
        "emnist-bymerge-test-images-idx3-ubyte.gz": idx(pixels),
        "emnist-bymerge-test-labels-idx1-ubyte.gz": idx(labels),
    }
    read = read_emnist(contents)
    assert (len(read.train), len(read.test)) == (116_323 - 16_617, 16_617)
    assert "116323" in read.note
    upright = np.concatenate([read.train.pixels[:, 0, 10, 3], read.test.pixels[:, 0, 10, 3]])
    both = np.concatenate([read.train.labels, read.test.labels])
    expected = np.sort((np.arange(116_323) % 251) * 47 + labels)
    assert np.array_equal(np.sort(upright.astype(int) * 47 + both), expected)
    assert np.array_equal(read_emnist(contents).test.labels, read.test.labels)


def test_both_halves_of_emnist_are_turned_upright(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    half = Images(np.zeros((2, 1, 28, 28), np.uint8), np.arange(2), 47)
    monkeypatch.setattr(
        sets, "_read_half", lambda _, *given, **options: asked.append((given, options)) or half
    )
    read_emnist({"emnist-bymerge-train-images-idx3-ubyte.gz": b""})
    known = DATASETS["emnist"]
    assert asked == [
        ((f"emnist-bymerge-{name}", count, known.classes), {"transposed": True})
        for name, count in (("test", known.test), ("train", known.train))
    ]
