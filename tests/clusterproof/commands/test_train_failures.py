"""A training run that fails prints one line and keeps its newest checkpoint."""

import os
import signal
import threading
import warnings
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import filelock
import pytest
import torch
from command_line import refused
from planting import planted
from small_training import SMALL, Plant, configure, rounds_kept

from clusterproof.commands.application import main
from clusterproof.neural.runs import assembly
from clusterproof.neural.runs.configuration import to_toml
from clusterproof.neural.runs.storage import checkpoint
from clusterproof.neural.runs.storage.run_folder import LOCK, held_folder, stored_configuration
from clusterproof.neural.runs.training import train
from clusterproof.neural.task import ImageTask


def test_a_folder_that_another_run_is_beginning_is_left_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    out.mkdir()
    with filelock.FileLock(out / LOCK):
        assert "is in use by another run" in refused(capsys, "train", *SMALL, "--out", str(out))
    assert [path.name for path in out.iterdir()] == [LOCK]


def test_a_full_disk_at_the_start_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    resource = pytest.importorskip("resource", reason="POSIX only")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        message = refused(capsys, "train", *SMALL, "--rounds", "3", "--out", str(tmp_path / "run"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "File too large" in message
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_keeps_the_last_checkpoint_and_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.fsync
    left = 11  # four files and two folders at the start and in round 2, and some of round 4

    def full_disk(descriptor: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "No space left on device")
        whole(descriptor)

    out = tmp_path / "run"
    arguments = ["train", *SMALL, "--rounds", "8", "--checkpoint-every", "2", "--out", str(out)]
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        status = main(arguments)
    output, errors = capsys.readouterr()
    assert status == 2
    assert errors.count("\n") == 1
    assert "No space left on device" in errors
    kept = rounds_kept(out)
    assert f"clusterproof train --resume {out}` then goes on after round {kept}" in errors
    assert "test accuracy" in output, "what was measured must not be lost"
    assert kept == 2
    assert not list(out.rglob("*.partial"))
    assert main(["train", "--resume", str(out)]) == 0
    train(stored_configuration(out), out=tmp_path / "whole")
    last = Path("checkpoints") / "checkpoint-000008.safetensors"
    assert (out / last).read_bytes() == (tmp_path / "whole" / last).read_bytes()


@pytest.mark.parametrize("place", ["", "file", "file/below", "full", "a\0b", "x" * 300])
def test_a_folder_that_cannot_be_used_is_refused_before_anything_is_made(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plant: Plant,
    capsys: pytest.CaptureFixture[str],
    place: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("precious")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("precious")
    plant(assembly, "assemble", lambda *_: pytest.fail("the data was loaded"))
    assert "out = " in refused(capsys, "train", "--out", place)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "full", "thesis.tex"]


def test_a_begun_run_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "run")
    assert main(["train", *SMALL, "--rounds", "1", "--out", out]) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert f"--resume {out}" in refused(capsys, "train", *SMALL, "--out", out)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_two_runs_do_not_share_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    train(configure(rounds=1), out=out)
    with held_folder(out):
        message = refused(capsys, "train", "--resume", str(out))
        assert "is in use by another run" in message
        assert "in use" in refused(capsys, "train", "--resume", str(out), "--rounds", "4")
    assert main(["train", "--resume", str(out)]) == 0


def test_what_a_killed_process_left_unfinished_does_not_matter(tmp_path: Path) -> None:
    out = tmp_path / "run"
    (out / ".clusterproof-0123abcd").mkdir(parents=True)
    (out / ".clusterproof-4567cdef.partial").write_text("half of a configuration")
    train(configure(rounds=1), out=out)
    (out / ".clusterproof-89abcdef.partial").write_text("half of a table")
    train(configure(rounds=2), out=out, resume=True)
    assert not list(out.glob(".clusterproof-*"))


def test_the_number_of_threads_is_the_callers_again(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        seen = []
        train(
            configure(rounds=1, threads=1),
            out=tmp_path / "run",
            progress=lambda _: seen.append(torch.get_num_threads()),
        )
        assert seen == [1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def interrupted_at(count: int, times: int = 1) -> AbstractContextManager[Any]:
    """Press Ctrl-C in the middle of a round, once or more."""
    real, left = ImageTask.losses, count

    def losses(self: ImageTask, *arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return real(self, *arguments)

    return planted(ImageTask, "losses", losses)


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_keeps_finished_rounds_and_names_the_command_that_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], times: int
) -> None:
    out = tmp_path / "run"
    arguments = ["train", *SMALL, "--rounds", "8", "--checkpoint-every", "3", "--evaluate-every", "9"]
    before = signal.getsignal(signal.SIGINT)
    with interrupted_at(5, times):
        assert main([*arguments, "--out", str(out)]) == 130
    assert signal.getsignal(signal.SIGINT) is before
    errors = capsys.readouterr().err.splitlines()
    assert f"clusterproof train --resume {out}` to resume" in errors[-1]
    assert "Traceback" not in "".join(errors)
    # the first press lets the round end; the second one does not
    assert rounds_kept(out) == (5 if times == 1 else 3)
    assert main(["train", "--resume", str(out)]) == 0
    train(stored_configuration(out), out=tmp_path / "whole")
    name = Path("checkpoints") / "checkpoint-000008.safetensors"
    assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_ctrl_c_before_the_first_checkpoint_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    for place, name in ((assembly, "assemble"), (checkpoint, "save_checkpoint")):
        with planted(place, name, interrupted):
            assert main(["train", *SMALL, "--out", str(tmp_path / "run")]) == 130
        assert capsys.readouterr().err == "clusterproof: interrupted\n"
        assert list(tmp_path.iterdir()) == []


def test_a_thread_may_train(tmp_path: Path) -> None:
    statuses: list[int] = []
    arguments = ["train", *SMALL, "--rounds", "1", "--out", str(tmp_path / "run")]
    thread = threading.Thread(target=lambda: statuses.append(main(arguments)))
    thread.start()
    thread.join()
    assert statuses == [0]


def test_want_of_memory_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], plant: Plant
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes")

    plant(ImageTask, "gradient_sums", exhausted)
    assert "out of memory" in refused(capsys, "train", *SMALL, "--out", str(tmp_path / "run"))


def test_a_configuration_that_was_edited_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    train(configure(rounds=2), out=out)
    text = to_toml(configure(rounds=2))
    (out / "configuration.toml").write_text(text.replace("step_size = 0.1", "step_size = 0.2"))
    line = 1 + text[: text.index("step_size = ")].count("\n")
    message = refused(capsys, "train", "--resume", str(out))
    assert f"configuration.toml, line {line}, [algorithm] step_size = 0.2: was 0.1" in message
    (out / "configuration.toml").write_text("[algorithm\n")
    assert "must be a TOML file" in refused(capsys, "train", "--resume", str(out))
    (out / "configuration.toml").unlink()
    assert main(["train", "--resume", str(out), "--rounds", "3"]) == 0
    assert stored_configuration(out) == configure(rounds=3)


def test_checkpoints_that_are_all_damaged_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    train(configure(rounds=4), out=out)
    for path in (out / "checkpoints").glob("*.json"):
        path.write_bytes(path.read_bytes()[:50])
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file() and path.name != LOCK}
    assert "checkpoint-000004.json" in refused(capsys, "train", "--resume", str(out))
    assert before == {
        path: path.read_bytes() for path in out.rglob("*") if path.is_file() and path.name != LOCK
    }


def test_no_bar_where_standard_error_is_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *SMALL, "--rounds", "2", "--out", str(tmp_path / "run")]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert "stored in" in output


@pytest.mark.parametrize(
    ("text", "module", "shown"),
    [
        ("dynamo gave up", "torch._dynamo", False),
        ("no batching rule (Triggered internally at Batching.cpp:1)", "clusterproof.neural.task", False),
        ("out of memory with 4 clients at a time", "user_module", True),
    ],
)
def test_warnings_of_torch_do_not_reach_the_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], plant: Plant, text: str, module: str, shown: bool
) -> None:
    real = ImageTask.losses

    def losses(self: ImageTask, *arguments: Any) -> Any:
        warnings.warn_explicit(text, UserWarning, "file.py", 1, module=module)
        return real(self, *arguments)

    plant(ImageTask, "losses", losses)
    assert main(["train", *SMALL, "--rounds", "1", "--out", str(tmp_path / "run")]) == 0
    assert (text in capsys.readouterr().err) == shown
