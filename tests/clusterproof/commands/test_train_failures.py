"""What stops a run is said in a line, and the last good checkpoint outlives it."""

import fcntl
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import ROOT, refused
from planting import planted

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.commands.application import main
from clusterproof.neural.runs import assembly
from clusterproof.neural.runs.assembly import assemble
from clusterproof.neural.runs.configuration import Configuration, configuration_from, to_toml
from clusterproof.neural.runs.divergence import find_culprit
from clusterproof.neural.runs.storage import checkpoint
from clusterproof.neural.runs.storage.checkpoint import find_checkpoint
from clusterproof.neural.runs.storage.run_folder import HOLDER, LOCK, held_folder, stored_configuration
from clusterproof.neural.runs.training import train
from clusterproof.neural.task import ImageTask

Plant = Callable[..., Any]

SMALL = [
    "--clusters",
    "2",
    "--clients-per-cluster",
    "3",
    "--images",
    "240",
    "--hidden",
    "8",
    "--threads",
    "1",
]


def configure(algorithm: dict[str, Any] | None = None, **training: Any) -> Configuration:
    return configuration_from(
        {
            "partition": {"clusters": 2, "clients_per_cluster": 3, "images": 240},
            "network": {"hidden": [8]},
            "algorithm": algorithm or {"name": "ifca"},
            "training": {"rounds": 8, "checkpoint_every": 2, "threads": 1, **training},
        }
    )


def rounds_kept(folder: Path) -> int:
    stored = find_checkpoint(folder / "checkpoints")
    assert stored is not None
    assert not stored.remarks
    return stored.rounds


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_is_full_from_the_start_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with no_file_longer_than(2000):
        message = refused(capsys, "train", *SMALL, "--rounds", "3", "--out", str(tmp_path / "run"))
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
    for name in ("checkpoint-000008.safetensors", "checkpoint-000006.safetensors"):
        assert (out / "checkpoints" / name).read_bytes() == (
            tmp_path / "whole" / "checkpoints" / name
        ).read_bytes()


@pytest.mark.parametrize(
    "place", ["", "/proc/run", "/dev/null/run", "file", "file/below", "full", "a\0b", "x" * 300]
)
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
        assert f"in use by another run, process {os.getpid()}" in message
        assert "in use" in refused(capsys, "train", "--resume", str(out), "--rounds", "4")
    assert main(["train", "--resume", str(out)]) == 0


def test_a_folder_that_another_run_is_beginning_is_left_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    out.mkdir()
    with open(out / LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "is in use by another run" in refused(capsys, "train", *SMALL, "--out", str(out))
    assert [path.name for path in out.iterdir()] == [LOCK]


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


HOLD_AND_WAIT = """
import sys, time
from clusterproof.neural.runs.storage.run_folder import held_folder
with held_folder(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_lock_dies_with_its_process(tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(configure(rounds=1), out=out)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_AND_WAIT, str(out)], stdout=subprocess.PIPE, cwd=ROOT
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(InvalidArgument, match=f"process {holder.pid}"), held_folder(out):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with held_folder(out) as folder:
        assert (folder / HOLDER).read_text() == f"{os.getpid()}\n"


def interrupted_at(count: int, times: int = 1) -> AbstractContextManager[Any]:
    """Press Ctrl-C in the middle of a round, once or more."""
    real, left = ImageTask.losses, count

    def losses(self: ImageTask, *arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
        return real(self, *arguments)

    return planted(ImageTask, "losses", losses)


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], times: int
) -> None:
    out = tmp_path / "run"
    arguments = ["train", *SMALL, "--rounds", "8", "--checkpoint-every", "3", "--evaluate-every", "9"]
    before = signal.getsignal(signal.SIGINT)
    with interrupted_at(5, times):
        assert main([*arguments, "--out", str(out)]) == 130
    assert signal.getsignal(signal.SIGINT) is before
    errors = capsys.readouterr().err.splitlines()
    assert f"clusterproof train --resume {out}` goes on" in errors[-1]
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


@pytest.mark.parametrize(
    "algorithm",
    [
        {"name": "ifca", "averaging": "model", "local_steps": 3},
        {"name": "ifca"},
        {"name": "cfl-mgd", "averaging": "model", "local_steps": 2, "participation": 0.5},
        {"name": "cfl-mgd", "momentum_owner": "client"},
        {"name": "fedavg", "local_steps": 3},
        {"name": "local"},
        {"name": "fedprox"},
        {"name": "gradient-loss"},
        {"name": "sofl"},
        {"name": "fpfc", "reuse_memory": True},
        {"name": "per-fedavg"},
    ],
    ids=lambda algorithm: "-".join(map(str, algorithm.values())),
)
def test_a_client_that_diverges_is_named(tmp_path: Path, plant: Plant, algorithm: dict[str, Any]) -> None:
    """One client's training yields NaN from some round on; nobody else's does."""
    configuration, sick = configure({**algorithm, "step_size": 0.01}), 4
    real = {
        name: getattr(ImageTask, name)
        for name in ("gradients", "local_training", "losses_and_gradients", "meta_training")
    }
    step = {"number": 0}

    def spoil(values: torch.Tensor, clients: torch.Tensor) -> torch.Tensor:
        spoilt = values.clone()
        if step["number"] >= 3:
            spoilt[clients == sick] = torch.nan
        return spoilt

    def gradients(self: ImageTask, points: Any, clients: Any, generator: Any) -> Any:
        return spoil(real["gradients"](self, points, clients, generator), clients)

    def gradient_sums(self: ImageTask, models: Any, clients: Any, assignments: Any, generator: Any) -> Any:
        own = gradients(self, models[assignments], clients, generator)
        return torch.stack([own[assignments == index].sum(0) for index in range(len(models))])

    def losses_and_gradients(self: ImageTask, models: Any, clients: Any, generator: Any) -> Any:
        losses, slopes = real["losses_and_gradients"](self, models, clients, generator)
        return losses, spoil(slopes, clients)

    def local_training(
        self: ImageTask, points: Any, buffers: Any, anchors: Any, clients: Any, *rest: Any, **how: Any
    ) -> Any:
        trained, carried = real["local_training"](self, points, buffers, anchors, clients, *rest, **how)
        return spoil(trained, clients), carried

    def meta_training(self: ImageTask, points: Any, clients: Any, *rest: Any, **how: Any) -> Any:
        return spoil(real["meta_training"](self, points, clients, *rest, **how), clients)

    def cluster_training(
        self: ImageTask,
        models: Any,
        buffers: Any,
        clients: Any,
        assignments: Any,
        losses_generator: Any,
        generator: Any,
        *,
        weights: None,
        **how: Any,
    ) -> Any:
        chosen = assignments
        if callable(assignments):
            chosen = assignments(self.losses(models, clients, losses_generator))
        start, speed = models[chosen], None if buffers is None else buffers[chosen]
        found = local_training(self, start, speed, start, clients, generator, **how)
        add = torch.nn.functional.one_hot(chosen, len(models)).T.to(models.dtype)
        return chosen, *(None if vectors is None else add @ vectors for vectors in found)

    replaced = (
        gradients,
        gradient_sums,
        losses_and_gradients,
        local_training,
        meta_training,
        cluster_training,
    )
    for function in replaced:
        plant(ImageTask, function.__name__, function)

    def count(row: Any) -> None:
        step["number"] = row["round"]

    with pytest.raises(InvalidArgument) as caught:
        train(configuration, out=tmp_path / "run", progress=count)
    message = str(caught.value)
    assert "\n" not in message
    assert "the model of client 4" in message
    done = step["number"] + 1
    assert f"in round {done} " in message
    assert 4 <= done <= 8
    assert rounds_kept(tmp_path / "run") in (done - 1, done - 2)
    stored = find_checkpoint(tmp_path / "run" / "checkpoints")
    assert stored is not None
    checkpoint = stored.restore(configuration.algorithm)
    assert np.isfinite(to_numpy(checkpoint.state.models)).all()
    if configuration.algorithm.target == "clusters" and "participation" not in algorithm:
        # the cluster that it had chosen in the round before, and in this one with these small steps
        assert f"in cluster {checkpoint.last_assignments[4]};" in message
    step["number"] = 0
    assembly = assemble(configuration)
    culprit = find_culprit(
        assembly.algorithm,
        checkpoint.state,
        assembly.task,
        checkpoint.randomness,
        None,
        checkpoint.last_assignments,
    )
    assert culprit.client is None, "a healthy round has no culprit"


@pytest.mark.parametrize("averaging", ["gradient", "model"])
def test_too_large_a_step_is_exit_two_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], averaging: str
) -> None:
    arguments = ["train", "--algorithm", "ifca", "--averaging", averaging, *SMALL, "--step-size", "1e30"]
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 2
    output, errors = capsys.readouterr()
    assert errors.count("\n") == 1
    assert "--step-size = 1e+30: led in round" in errors
    assert "Traceback" not in errors + output
    rounds_kept(tmp_path / "run")


def test_a_step_that_vanishes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"training\.step_size_decay = 1e-200.*in round 3"):
        train(configure(step_size_decay=1e-200), out=tmp_path / "run")
    assert rounds_kept(tmp_path / "run") == 2


def test_want_of_memory_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], plant: Plant
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes")

    plant(ImageTask, "gradient_sums", exhausted)
    message = refused(capsys, "train", *SMALL, "--out", str(tmp_path / "run"))
    assert "out of memory" in message
    assert "parameters" in refused(
        capsys, "train", "--hidden", "1000000000", "--out", str(tmp_path / "other")
    )
    assert not (tmp_path / "other").exists()


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
    assert "training run" in refused(capsys, "train", "--resume", str(tmp_path))


def test_no_bar_where_standard_error_is_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *SMALL, "--rounds", "2", "--out", str(tmp_path / "run")]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert "stored in" in output
