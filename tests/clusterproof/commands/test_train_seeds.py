"""``train --seeds``: the runs are those that ``train --seed`` gives one by one; means, failures and going on."""

import math
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars
import pytest
from command_line import ROOT, refused, without_progress
from engine_here import Here
from small_training import configure

from clusterproof.commands import engine
from clusterproof.commands.application import main
from clusterproof.commands.train_seeds import seed_table
from clusterproof.experiments import store
from clusterproof.experiments.summary import summarise
from clusterproof.experiments.training_units import SUMMARISED, train_seed, training_unit
from clusterproof.figures import seed_curves
from clusterproof.figures.style import caption_of
from clusterproof.neural.runs.configuration import configuration_from
from clusterproof.neural.runs.training import train

OPTIONS = (
    *("train", "--clients-per-cluster", "2", "--hidden", "4", "--engine", "serial"),  # starts fastest
    *("--rounds", "3", "--checkpoint-every", "1"),
)


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


def test_a_seed_of_several_trains_as_it_does_alone(tmp_path: Path) -> None:
    configuration = configure(rounds=4, seed=1, engine="serial")
    unit = training_unit(configuration, 3, threads=1, device="cpu")
    assert train_seed(replace(unit, folder=str(tmp_path / "several"))) == {"remarks": []}
    sections = configuration.sections
    sections["training"]["seed"] = 3
    train(configuration_from(sections), out=tmp_path / "alone")
    assert contents(tmp_path / "several") == contents(tmp_path / "alone")


@pytest.mark.slow(reason="trains six times")
def test_seeds_are_single_runs_and_their_metrics_are_averaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plot = tmp_path / "seeds", ("--plot", str(tmp_path / "seeds.svg"))
    assert main([*OPTIONS, "--seed", "4", "--seeds", "2", "--out", str(out), "--jobs", "2", *plot]) == 0
    output, errors = capsys.readouterr()
    assert without_progress(errors) == []
    for seed in (4, 5):
        single = tmp_path / f"single-{seed}"
        assert main([*OPTIONS, "--seed", str(seed), "--out", str(single)]) == 0
        assert contents(out / f"seed-{seed}") == contents(single)
    purities = [polars.read_parquet(out / f"seed-{seed}/metrics.parquet")["purity"][-1] for seed in (4, 5)]
    line = next(line.split("  ") for line in output.splitlines() if line.startswith("purity"))
    assert line[-1] == f"{statistics.mean(purities):.4g} ± {statistics.stdev(purities):.2g}"
    assert "3 rounds: 2 of 2 seeds from 4" in output
    assert "metric  round 1  round 2  round 3" in output
    assert (tmp_path / "seeds.svg").read_text(encoding="utf-8").count("band ") == 3
    # a third seed is one more; what is finished is not trained again
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    capsys.readouterr()
    assert main([*OPTIONS, "--seed", "4", "--seeds", "3", "--out", str(out), "--jobs", "2"]) == 0
    assert "3 of 3 seeds" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (out / "seed-6" / "metrics.parquet").exists()


def test_a_failed_seed_is_named_and_costs_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seeds 4 and 5, of which the second's folder is taken; then 5 alone, of which nothing is told or drawn."""
    monkeypatch.setattr(store, "source_digest", lambda module: "0" * 16)  # which takes seconds
    monkeypatch.setattr(engine, "choose", lambda *_, **__: Here())
    out, plot = tmp_path / "seeds", tmp_path / "seeds.svg"
    (out / "seed-5").mkdir(parents=True)
    (out / "seed-5" / "file").touch()
    command = [*OPTIONS, "--threads", "1", "--out", str(out), "--plot", str(plot)]
    for seeds, finished in ((("4", "2"), 1), (("5", "1"), 0)):
        plot.unlink(missing_ok=True)
        status = main([*command, "--seed", seeds[0], "--seeds", seeds[1]])
        output, errors = capsys.readouterr()
        (line,) = without_progress(errors)
        assert "failed: cfl-mgd, seed 5: InvalidArgument: out = " in line
        assert (status, output.splitlines()[-1]) == (1, f"stored in {out}")
        assert (f"drawn in {plot}" in output.splitlines()) == plot.exists() == bool(finished)
        assert (f"3 rounds: 1 of 2 seeds from {seeds[0]}, mean" in output) == bool(finished)
        if finished:
            purity = polars.read_parquet(out / "seed-4/metrics.parquet")["purity"]
            assert "  ".join(["purity", *(f"{value:.4g}" for value in purity.tail(3))]) in output.splitlines()


def test_a_mean_is_of_the_runs_that_measured_it() -> None:
    frame = polars.DataFrame(
        {"seed": [3, 4, 3], "round": [2, 2, 1], "accuracy": [0.5, 0.75, 0.1], "purity": [None, 1.0, 0.4]}
    )
    means = summarise(frame, ["round"], ["accuracy", "purity"])
    assert means.rows() == [(2, f"0.625 ± {0.25 / math.sqrt(2):.2g}", "1"), (1, "0.1", "0.4")]
    assert summarise(frame.head(1), ["round"], ["purity"]).rows() == [(2, "-")]


@pytest.mark.parametrize(
    ("rounds", "shown"), [(range(1, 101), [25, 50, 75, 100]), ([10, 20, 25], [10, 20, 25]), ([7], [7])]
)
def test_the_table_shows_rounds_in_which_every_seed_was_evaluated(
    rounds: Sequence[int], shown: list[int]
) -> None:
    columns = {name: [0.5] * len(rounds) for name in SUMMARISED}
    frames = [polars.DataFrame({"seed": seed, "round": rounds, **columns}) for seed in (0, 1)]
    alone = polars.DataFrame({"seed": 1, "round": [200], **{name: [0.5] for name in SUMMARISED}})
    headers, rows = seed_table(polars.concat([*frames, alone]))
    assert headers == ["metric", *(f"round {done}" for done in shown)]
    assert rows[0] == ["accuracy", *["0.5 ± 0"] * len(shown)]


def test_the_figure_has_means_and_bands_of_one_deviation() -> None:
    accuracies = {0: [0.2, 0.6, 0.8], 1: [0.4, 0.6, 0.9], 2: [0.3, 0.3, 0.7]}
    frame = polars.concat(
        polars.DataFrame(
            {"seed": seed, "round": [1, 2, 3], "accuracy": values, "training_loss": None}
        ).with_columns(polars.lit(1.0).alias("adjusted_rand_index"))
        for seed, values in accuracies.items()
    )
    figure = seed_curves.draw(frame, "ifca on digits")
    wide = frame.with_columns(adjusted_rand_index=polars.col("seed").clip(0, 1) * 1.0)  # 2/3 + 0.58 > 1
    (band,) = seed_curves.draw(wide, "").axes[1].collections
    assert band.get_paths()[0].vertices[:, 1].max() == 1
    assert [panel.get_title(loc="left") for panel in figure.axes] == [
        "a  Test accuracy",
        "b  Adjusted Rand index",
    ]
    (line,), (band,) = figure.axes[0].lines, figure.axes[0].collections
    values = np.array(list(accuracies.values()))
    mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
    assert (mean + deviation <= 1).all()
    np.testing.assert_allclose(line.get_ydata(), mean)
    points = band.get_paths()[0].vertices
    for place in range(3):
        ends = points[points[:, 0] == place + 1][:, 1]
        assert (ends.min(), ends.max()) == pytest.approx(
            (mean[place] - deviation[place], mean[place] + deviation[place])
        )
    assert "Mean over 3 seeds (0, 1, 2)" in caption_of(figure)
    assert caption_of(seed_curves.draw(frame.filter(seed=2), "ifca on digits")) == "ifca on digits. Seed 2."


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--seeds 0", "must be an integer, at least 1"),
        ("--seeds 2 --resume r", "does not go with --resume"),
        ("--jobs 2", "asks for --seeds"),
        ("--plot a.png", "asks for --seeds"),
        ("--seeds 2 --plot a.txt --out o", "must end in one of png, svg, pdf"),
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
    options = [*OPTIONS[:-4], "--rounds", "60", "--checkpoint-every", "1", "--threads", "1"]
    command = [sys.executable, "-m", "clusterproof", *options, "--seeds", "2", "--jobs", "2", "--out"]
    generator, out = random.Random(0), tmp_path / "stopped"
    for kind in (signal.SIGINT, signal.SIGKILL):
        with (
            (tmp_path / kind.name).open("w") as errors,
            subprocess.Popen([*command, str(out)], cwd=ROOT, stderr=errors) as process,
        ):
            while process.poll() is None and not list(out.rglob("*.safetensors")):
                time.sleep(0.02)
            time.sleep(generator.uniform(0.0, 0.5))
            process.send_signal(kind)
        assert process.returncode in (-signal.SIGKILL, 130)
    assert f"{out}` to resume" in (tmp_path / "SIGINT").read_text(encoding="utf-8")
    assert subprocess.run([*command, str(out)], cwd=ROOT, check=False).returncode == 0
    for seed in (0, 1):
        single = tmp_path / f"single-{seed}"
        assert main([*options, "--seed", str(seed), "--out", str(single)]) == 0
        assert contents(out / f"seed-{seed}") == contents(single)
