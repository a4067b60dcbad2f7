"""Pipes, devices, files of any size and depth: a command that is handed one ends at once, with one line."""

import hashlib
import json
import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import refused

from clusterproof.commands.application import main
from clusterproof.experiments.units import read
from clusterproof.files import ARRAYS, DEPTH, check_depth, parse_toml

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX systems")

SECONDS = 20
"""Time that a command is given: a thousandth of it is enough, but for imports."""
SETTING = (
    "--client-class strong --smoothness 1 --strong-convexity 1/4 --heterogeneity 1 --distance 1 --rounds 2"
)
TRAIN = "train --clusters 2 --clients-per-cluster 2 --images 120 --hidden 4 --threads 1 --rounds 2"

FILES = [
    "check FILE.py",
    "show cfl-mgd/lemma-2 FILE.py",
    "claims FILE.py",
    f"leaderboard fedavg {SETTING} --step-size 1/2 --module FILE.py",
    f"leaderboard fedavg {SETTING} --step-size 1/2 --task FILE.py:task",
    "conform FILE.py:Mine --as fedavg",
    "run FILE.py:Mine",
    "run ifca --measure FILE.py:measure --out out",
    "verify FILE.json",
    "sweep FILE.toml",
    "train --config FILE.toml --out out",
    "train --data FILE.py:data --out out",
    "train --network FILE.py:Net --out out",
    "train --algorithm FILE.py:Mine --out out",
]
"""Command lines, with the file that is handed in."""

RUN_FILES = ["configuration.json", "metrics.parquet", "clients.parquet", "checkpoint.safetensors"]
"""Files that resuming a run reads."""

CLOSED = DEPTH + 400
"""Levels that the parsers of JSON accept."""
DEEP = {
    "json": [
        '{"a":' * 10**5,
        f'{{"evidence": [{{"claim": "cfl-mgd/lemma-2", "instance": {"[" * CLOSED}{"]" * CLOSED}}}]}}',
    ],
    "toml": [
        "a = " + "[" * 10**5,
        f"[network]\nhidden = {'[' * 2 * DEPTH}{']' * 2 * DEPTH}\n",
        ".".join(["a"] * 10**5) + " = 1\n",  # which tomllib would take minutes for
        "[" + " . ".join(['"a\\"."', "'b.'"] * 10**5) + "]\n",
    ],
}


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        pytest.fail(f"not ended after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(path: Path, kind: str) -> None:
    """Put a pipe that nobody writes into, a device without an end, or a file of 64 GiB and a byte."""
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with open(path, "wb") as file:
            file.truncate(ARRAYS + 1)  # a hole: nothing of it is on disk


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
@pytest.mark.parametrize("line", FILES)
def test_a_file_that_does_not_end_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, kind: str
) -> None:
    (word,) = (word for word in line.split() if word.startswith("FILE"))
    put(folder / word.partition(":")[0], kind)
    message = refused(capsys, *shlex.split(line))
    assert ("larger than the" if kind == "large" else "not a regular file") in message
    assert not (folder / "out").exists()


@pytest.mark.parametrize("line", [line for line in FILES if ".py" not in line])
def test_a_deep_file_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    (word,) = (word for word in line.split() if word.startswith("FILE"))
    for text in DEEP[word.partition(".")[2]]:
        (folder / word).write_text(text)
        refused(capsys, *shlex.split(line))


@pytest.mark.parametrize("words", ["--replay --evidence .", "--evidence ."])
@pytest.mark.parametrize("kind", ["pipe", "device", "large", "deep"])
def test_evidence_that_does_not_end_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], kind: str, words: str
) -> None:
    for text in DEEP["json"]:
        if kind == "deep":
            (folder / "cfl-mgd.json").write_text(text)
        else:
            put(folder / "cfl-mgd.json", kind)
        assert "cfl-mgd.json" in refused(capsys, "check", "cfl-mgd/lemma-2", *words.split())


def with_sum(record: dict[str, Any]) -> bytes:
    """A record of a run that vouches for what is written in it."""
    record.pop("sha256")
    content = json.dumps(record, sort_keys=True).encode()
    return json.dumps({**record, "sha256": hashlib.sha256(content).hexdigest()}).encode()


def nested(levels: int) -> Any:
    inner: Any = 0
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("kind", ["pipe", "device", "large", "deep"])
def test_files_of_a_training_run_that_do_not_end_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    assert main([*TRAIN.split(), "--client-metrics", "--out", "run"]) == 0
    for name in RUN_FILES:
        paths = list((folder / "run").glob(name))
        assert paths
        kept = [path.read_bytes() for path in paths]
        for path, content in zip(paths, kept, strict=True):
            if kind != "deep":
                put(path, kind)
            elif path.suffix == ".json":
                path.write_text(json.dumps({**json.loads(content), "network": {"hidden": nested(CLOSED)}}))
        if kind != "deep" or name.endswith("json"):
            refused(capsys, *["train", "--resume", "run", "--rounds", "3"])
        for path, content in zip(paths, kept, strict=True):
            path.unlink()
            path.write_bytes(content)
    assert main(["train", "--resume", "run", "--rounds", "3"]) == 0


@pytest.mark.parametrize("kind", ["pipe", "device", "large", "deep"])
def test_files_of_a_trace_that_do_not_end_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    assert (
        main(["run", "cfl-mgd", "--clients", "4", "--dimension", "2", "--rounds", "2", "--out", "run"]) == 0
    )
    for path in (folder / "run").iterdir():
        content = path.read_bytes()
        if kind != "deep":
            put(path, kind)
        elif path.suffix == ".json":
            record = json.loads(content)
            record["settings"]["task"]["labels"] = nested(CLOSED)
            path.write_bytes(with_sum(record))
        else:
            continue
        refused(capsys, *["check", "cfl-mgd/theorem-d", "--trace", "run"])
        path.unlink()
        path.write_bytes(content)


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_image_data_that_do_not_end_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    (folder / "data" / "mnist").mkdir(parents=True)
    for half in ("train", "t10k"):
        for what in ("images-idx3", "labels-idx1"):
            put(folder / "data" / "mnist" / f"{half}-{what}-ubyte.gz", kind)
    message = refused(capsys, *f"{TRAIN} --data mnist --data-dir data --out out".split())
    assert "as published (cannot be read" in message
    assert not (folder / "out").exists()
    # which says of each file whether it is whole
    assert main(["data", "verify", "mnist", "--data-dir", "data"]) == 1
    output, errors = capsys.readouterr()
    assert output.count("cannot be read (") == 4
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    "content", [None, b'{"result":' * 10**5, json.dumps({"result": nested(CLOSED)}).encode()]
)
def test_a_stored_part_that_is_large_or_deep_is_computed_again(folder: Path, content: bytes | None) -> None:
    path = folder / "unit.json"
    if content is None:
        put(path, "large")
    else:
        path.write_bytes(content)
    assert read(path) is None


def test_the_depth_that_is_accepted() -> None:
    for levels in (1, DEPTH):
        assert check_depth(nested(levels)) == nested(levels)
    # the file's table is a level
    assert parse_toml(f"a = {nested(DEPTH - 1)}".encode()) == {"a": nested(DEPTH - 1)}
    parse_toml(b".".join([b"a"] * DEPTH) + b" = 1")
    for too_deep in (f"a = {nested(DEPTH)}", ".".join(["a"] * (DEPTH + 1)) + " = 1"):
        with pytest.raises(ValueError, match="nested more than"):
            parse_toml(too_deep.encode())
    with pytest.raises(ValueError, match="nested more than"):
        check_depth(nested(DEPTH + 1))
