"""``train --seeds``: the runs are those that ``train --seed`` gives one by one; means, failures and going on."""

import math
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import polars
import pytest
from command_line import ROOT, refused, without_progress

from clusterproof.commands.application import main
from clusterproof.commands.train_seeds import summary

OPTIONS = ("train", "--clients-per-cluster", "2", "--hidden", "4", "--rounds", "3", "--checkpoint-every", "1")


def contents(folder: Path) -> dict[str, object]:
    """A run's files but their clocks: models bit for bit, metrics without seconds, the configuration."""
    files: dict[str, object] = {
        path.name: path.read_bytes() for path in (folder / "checkpoints").glob("*.safetensors")
    }
    files["metrics"] = (
        polars.read_parquet(folder / "metrics.parquet").drop("seconds").to_dict(as_series=False)
    )
    files["configuration"] = (folder / "configuration.toml").read_text(encoding="utf-8")
    assert len(files) >= 3
    return files


@pytest.mark.slow(reason="trains six times")
def test_seeds_are_single_runs_and_their_metrics_are_averaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "seeds"
    assert main([*OPTIONS, "--seed", "4", "--seeds", "2", "--out", str(out), "--jobs", "2"]) == 0
    output, errors = capsys.readouterr()
    assert without_progress(errors) == []
    for seed in (4, 5):
        single = tmp_path / f"single-{seed}"
        assert main([*OPTIONS, "--seed", str(seed), "--out", str(single)]) == 0
        assert contents(out / f"seed-{seed}") == contents(single)
    purities = [polars.read_parquet(out / f"seed-{seed}/metrics.parquet")["purity"][-1] for seed in (4, 5)]
    line = next(line.split() for line in output.splitlines() if line.startswith("  purity"))
    assert line == ["purity", f"{statistics.mean(purities):.4g}", "±", f"{statistics.stdev(purities):.4g}"]
    assert "3 rounds, 2 of 2 seeds from 4" in output
    # a third seed is one more; what is finished is not trained again
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    capsys.readouterr()
    assert main([*OPTIONS, "--seed", "4", "--seeds", "3", "--out", str(out), "--jobs", "2"]) == 0
    assert "3 of 3 seeds" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (out / "seed-6" / "metrics.parquet").exists()


@pytest.mark.slow(reason="trains in worker processes")
def test_a_failed_seed_is_named_and_costs_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "seed-1").mkdir()
    (tmp_path / "seed-1" / "file").touch()
    assert main([*OPTIONS, "--seeds", "2", "--out", str(tmp_path), "--jobs", "2"]) == 1
    output, errors = capsys.readouterr()
    (line,) = without_progress(errors)
    assert "failed: cfl-mgd, seed 1: InvalidArgument: out = " in line
    assert "1 of 2 seeds" in output


def test_a_mean_is_of_the_runs_that_measured_it() -> None:
    lines = summary([{"accuracy": 0.5, "correct_model": None}, {"accuracy": 0.75, "correct_model": 1.0}])
    assert [line.split() for line in lines] == [
        ["accuracy", "0.625", "±", f"{0.25 / math.sqrt(2):.4g}"],
        ["correct_model", "1"],
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--seeds 0", "must be an integer, at least 1"),
        ("--seeds 2 --resume r", "does not go with --resume"),
        ("--jobs 2", "asks for --seeds"),
        ("--dask tcp://x:1", "asks for --seeds"),
        ("--seeds 2 --jobs 2 --slurm 1 --out o", "cannot be combined with --jobs"),
        ("--seeds 2 --out run", "continue it with --resume"),
    ],
)
def test_what_does_not_go_together_is_refused(
    options: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    Path("run/configuration.toml").touch()
    assert words in refused(capsys, "train", *options.split())


@pytest.mark.slow(reason="kills processes")
@pytest.mark.skipif(os.name != "posix", reason="kills by signals")
def test_killed_and_interrupted_at_random_moments_the_same_command_ends_with_the_same_bits(
    tmp_path: Path,
) -> None:
    options = [*OPTIONS[:-4], "--rounds", "120", "--checkpoint-every", "1", "--threads", "1", "--seeds", "2"]
    command = [sys.executable, "-m", "clusterproof", *options, "--jobs", "2", "--out"]
    assert subprocess.run([*command, str(tmp_path / "whole")], cwd=ROOT, check=False).returncode == 0
    generator, out = random.Random(0), tmp_path / "stopped"
    for kind in (signal.SIGINT, signal.SIGKILL):
        with (
            (tmp_path / kind.name).open("w") as errors,
            subprocess.Popen([*command, str(out)], cwd=ROOT, stderr=errors) as process,
        ):
            while process.poll() is None and not list(out.rglob("*.safetensors")):
                time.sleep(0.02)
            time.sleep(generator.uniform(0.0, 1.0))
            process.send_signal(kind)
        assert process.returncode in (-signal.SIGKILL, 130)
    assert f"{out}` to resume" in (tmp_path / "SIGINT").read_text(encoding="utf-8")
    assert subprocess.run([*command, str(out)], cwd=ROOT, check=False).returncode == 0
    for seed in (0, 1):
        assert contents(out / f"seed-{seed}") == contents(tmp_path / "whole" / f"seed-{seed}")
