"""Loading: nothing is read that is not as published, and every refusal says what to do."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import refused

from clusterproof.commands.application import main
from clusterproof.common import InvalidArgument
from clusterproof.neural.data.loading import DATASETS, data_folder, load

SUMS = {name: [file.sha256 for file in dataset.files] for name, dataset in DATASETS.items()}


def test_digits_are_those_of_scikit_learn() -> None:
    from sklearn.datasets import load_digits

    data = load("digits")
    assert data.train.pixels.shape == (1440, 1, 8, 8)
    assert data.test.pixels.shape == (357, 1, 8, 8)
    pixels = np.concatenate([data.train.pixels, data.test.pixels]).reshape(1797, 64)
    labels = np.concatenate([data.train.labels, data.test.labels])
    published = load_digits()
    # every grey value k of 16 became k / 16 of 255, so it can be had back
    back = np.column_stack([np.round(pixels / 255 * 16).astype(int), labels])
    expected = np.column_stack([published.data.astype(int), published.target])
    assert np.array_equal(back[np.lexsort(back.T)], expected[np.lexsort(expected.T)])
    assert np.abs(pixels - np.round(pixels / 255 * 16) / 16 * 255).max() <= 0.5
    assert pixels.max() == 255
    assert "1797" in data.note
    again = load("digits", "a folder that does not matter")
    assert np.array_equal(again.train.pixels, data.train.pixels)


@pytest.mark.parametrize(
    ("name", "train", "test", "shape", "classes"),
    [
        ("digits", 1440, 357, (1, 8, 8), 10),
        ("mnist", 60_000, 10_000, (1, 28, 28), 10),
        ("fashion-mnist", 60_000, 10_000, (1, 28, 28), 10),
        ("cifar10", 50_000, 10_000, (3, 32, 32), 10),
        ("emnist", 697_932, 116_323, (1, 28, 28), 47),  # ByMerge
    ],
)
def test_sizes_are_the_published_ones(name: str, train: int, test: int, shape: Any, classes: int) -> None:
    known = DATASETS[name]
    assert (known.train, known.test, known.shape, known.classes) == (train, test, shape, classes)
    assert len(set(SUMS[name])) == len(SUMS[name])
    assert all(len(one) == 64 and set(one) <= set("0123456789abcdef") for one in SUMS[name])


def test_the_folder_is_the_argument_else_the_environment_else_a_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import pooch

    monkeypatch.setenv("CLUSTERPROOF_DATA", str(tmp_path / "environment"))
    assert data_folder(tmp_path) == tmp_path
    assert data_folder() == tmp_path / "environment"
    with pytest.raises(InvalidArgument, match="environment"):
        load("mnist")
    monkeypatch.setenv("CLUSTERPROOF_DATA", "")
    assert data_folder() == pooch.os_cache("clusterproof")


@pytest.mark.parametrize(
    ("name", "archived"),
    [("mnist", False), ("cifar10", False), ("emnist", False), ("cifar10", True), ("emnist", True)],
)
@pytest.mark.parametrize("kind", ["missing", "altered", "empty", "folder", "file in its way", "no name"])
def test_a_file_that_is_not_as_published_is_never_read(
    name: str, archived: bool, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = next(file for file in DATASETS[name].files if file.name not in DATASETS[name].optional)
    if archived and kind in ("altered", "empty", "folder"):
        assert DATASETS[name].archive is not None
        first = DATASETS[name].archive
    path = tmp_path / name / first.name
    folder = tmp_path
    content = {"altered": b"something else", "empty": b""}.get(kind)
    if kind == "file in its way":
        (tmp_path / name).write_bytes(b"")
    elif kind == "no name":
        folder = tmp_path / "\0"
    else:
        path.parent.mkdir()
    if content is not None:
        path.write_bytes(content)
    if kind == "folder":
        path.mkdir()
    with pytest.raises(InvalidArgument) as refusal:
        load(name, folder)
    message = str(refusal.value)
    assert "\n" not in message
    assert first.name in message
    assert f"clusterproof data fetch {name}" in message
    assert "--data-dir" in message
    if content is not None:
        assert first.sha256 in message
        assert hashlib.sha256(content).hexdigest() in message
    capsys.readouterr()
    status = main(["data", "verify", name, "--data-dir", str(folder)])
    output, errors = capsys.readouterr()
    assert status == 1
    assert errors.count("\n") == 1
    assert first.name in output


def test_what_the_commands_refuse(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "--name" not in refused(capsys, "data", "verify", "nist")
    assert "'fashion-mnist'" in refused(capsys, "data", "fetch", "nist")
    refused(capsys, "data", "fetch")
    refused(capsys, "data", "verify", "mnist", "--folder", "x")
    refused(capsys, "data", "find")
    (tmp_path / "file").write_bytes(b"")
    line = refused(capsys, "data", "fetch", "mnist", "--data-dir", str(tmp_path / "file"))
    assert "--data-dir" in line
    refused(capsys, "data", "fetch", "mnist", "--data-dir", "/proc/nothing")
    with pytest.raises(InvalidArgument, match="See `clusterproof data list`"):
        load("cifar-10")


def test_the_list_says_what_is_here(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = [file.name for file in DATASETS["mnist"].files]
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / names[0]).write_bytes(b"")
    (tmp_path / "emnist").mkdir()
    for file in DATASETS["emnist"].files[2:]:
        (tmp_path / "emnist" / file.name).write_bytes(b"")
    (tmp_path / "cifar10").mkdir()
    (tmp_path / "cifar10" / "cifar-10-binary.tar.gz").write_bytes(b"")
    assert main(["data", "list", "--data-dir", str(tmp_path)]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert [name for name in lines if name in DATASETS] == list(DATASETS)
    found = {"digits": "in scikit-learn", "mnist": "1 of 4 files", "fashion-mnist": " no "}
    found |= {"cifar10": " yes ", "emnist": "test half"}
    for name, state in found.items():
        assert state in lines[name]
        assert DATASETS[name].origin in lines[name]
        assert DATASETS[name].licence in lines[name]
    assert "32 x 32 x 3" in lines["cifar10"]
    assert main(["data", "verify", "digits"]) == 0
    assert main(["data", "fetch", "digits"]) == 0


def test_archives_have_the_folders_of_krizhevsky_and_of_nist() -> None:
    folders = {name: known.archive.folder for name, known in DATASETS.items() if known.archive is not None}
    assert folders == {"cifar10": "cifar-10-batches-bin/", "emnist": "gzip/"}
