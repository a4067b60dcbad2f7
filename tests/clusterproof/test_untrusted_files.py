"""Untrusted files execute nothing: pickles that would leave a trace replace files of each kind."""

import hashlib
import io
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import refused

from clusterproof.commands.application import main

TRAIN = "train --clusters 2 --clients-per-cluster 2 --images 200 --hidden 8 --threads 1 --rounds 2"


class Trace:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.fixture
def executed(tmp_path: Path) -> Path:
    return tmp_path / "executed"


def pickled(executed: Path) -> bytes:
    return pickle.dumps(Trace(executed))


def archived(executed: Path) -> bytes:
    """An npz archive whose arrays hold the pickle."""
    content = io.BytesIO()
    array = np.array([Trace(executed)], dtype=object)
    np.savez(content, models=array, assignments=array, step_size=array)
    return content.getvalue()


def with_sum(record: dict[str, object]) -> bytes:
    """A sidecar or a checkpoint's record that vouches for what is written in it."""
    content = json.dumps(record, sort_keys=True).encode()
    return json.dumps({**record, "sha256": hashlib.sha256(content).hexdigest()}).encode()


def test_the_pickles_here_do_leave_a_trace(executed: Path) -> None:
    pickle.loads(pickled(executed))
    assert executed.exists()
    executed.rmdir()
    np.load(io.BytesIO(archived(executed)), allow_pickle=True)["models"]
    assert executed.exists()


@pytest.mark.parametrize("words", ["check cfl-mgd/lemma-2 --replay --evidence", "verify", "train --config"])
def test_no_single_file_is_executed(
    tmp_path: Path, executed: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    for content in (pickled(executed), archived(executed)):
        (tmp_path / "file").write_bytes(content)
        (tmp_path / "cfl-mgd.json").write_bytes(content)
        refused(capsys, *words.split(), str(tmp_path if "--evidence" in words else tmp_path / "file"))
    assert not executed.exists()


def test_no_stored_run_is_executed(
    tmp_path: Path, executed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert (
        main(["run", "ifca", "--clients", "4", "--dimension", "2", "--rounds", "2", "--out", str(run)]) == 0
    )
    record = json.loads((run / "run.json").read_bytes())
    del record["sha256"]
    for content in (pickled(executed), archived(executed)):
        for name in record["files"]:
            (run / name).write_bytes(content)
            record["files"][name] = hashlib.sha256(content).hexdigest()
        (run / "run.json").write_bytes(with_sum(record))
        assert "SHA-256" not in refused(capsys, "check", "cfl-mgd/theorem-a", "--trace", str(run))
    assert not executed.exists()


def test_no_training_run_is_executed(
    tmp_path: Path, executed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main([*TRAIN.split(), "--out", str(run)]) == 0
    for name in ("metrics.parquet", "checkpoint.safetensors", "configuration.json"):
        kept = (run / name).read_bytes()
        for content in (pickled(executed), archived(executed)):
            (run / name).write_bytes(content)
            assert name in refused(capsys, "train", "--resume", str(run), "--rounds", "4")
        (run / name).write_bytes(kept)
    assert not executed.exists()
