"""``train --seeds``: the runs are those that ``train --seed`` gives one by one; means, failures and resumption."""

import statistics
from collections.abc import Sequence
from pathlib import Path

import joblib
import numpy as np
import polars
import pytest
from planting import planted
from small_training import SMALL, contents, interrupted_at, rounds_kept

from clusterproof.commands.application import main
from clusterproof.commands.train_seeds import SUMMARISED, seed_table
from clusterproof.figures import seed_curves
from clusterproof.neural import training
from clusterproof.neural.checkpoint import stored_configuration

OPTIONS = ("train", *SMALL, "--algorithm", "ifca", "--rounds", "3", "--checkpoint-every", "1")


@pytest.mark.slow(reason="a second or more")
def test_seeds_are_single_runs_and_their_metrics_are_averaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also those of a command that was interrupted in the second round of its first seed, and is rerun."""
    out, plot = tmp_path / "seeds", ("--plot", str(tmp_path / "seeds.svg"))
    both = [*OPTIONS, "--seed", "4", "--seeds", "2", "--out", str(out), "--jobs", "1", *plot]
    with interrupted_at(4):  # an evaluation asks, too
        assert main(both) == 130
    assert rounds_kept(out / "seed-4") > 0
    assert not (out / "seed-5").exists()
    assert "to resume" in capsys.readouterr().err
    assert main(both) == 0
    output = capsys.readouterr().out
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
    before = {path: path.read_bytes() for path in out.rglob("*.parquet")}
    capsys.readouterr()
    assert main([*OPTIONS, "--seed", "4", "--seeds", "3", "--out", str(out), "--jobs", "1"]) == 0
    assert "3 of 3 seeds" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in before} == before  # seconds, too
    assert (out / "seed-6" / "metrics.parquet").exists()


def test_evaluated_rounds_are_shown_and_an_interrupted_command_names_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each seed says what it remarks, and has the threads that were asked for."""
    monkeypatch.chdir(tmp_path)
    command = [
        *" ".join(OPTIONS).replace("--threads 1", "--threads 2 --evaluate-every 2").split(),
        "--seeds",
        "1",
    ]
    with planted(training, "cluster_count", lambda _: 1):
        assert main(command) == 0
    output, errors = capsys.readouterr()
    assert "metric  round 2  round 3\n" in output
    assert "seed-0: 1 of 2 models have clients" in errors
    assert stored_configuration(tmp_path / "training-1" / "seed-0").training.threads == 2

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(joblib, "Parallel", interrupt)
    assert main(command) == 130
    assert "--out training-2` to resume" in capsys.readouterr().err


def test_a_failed_seed_is_named_and_costs_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seeds 4 and 5, of which the second's folder is taken; then 5 alone, of which nothing is told or drawn."""
    out, plot = tmp_path / "seeds", tmp_path / "seeds.svg"
    (out / "seed-5").mkdir(parents=True)
    (out / "seed-5" / "file").touch()
    command = [*OPTIONS, "--jobs", "1", "--out", str(out), "--plot", str(plot)]
    for first, seeds, finished in (("4", "2", True), ("5", "1", False)):
        plot.unlink(missing_ok=True)
        status = main([*command, "--seed", first, "--seeds", seeds])
        output, errors = capsys.readouterr()
        assert "failed: seed-5: InvalidArgument: out = " in errors
        assert (status, output.splitlines()[-1]) == (1, f"stored in {out}")
        assert (f"drawn in {plot}" in output.splitlines()) == plot.exists() == finished
        assert ("3 rounds: 1 of 2 seeds from 4, mean" in output) == finished
        if finished:
            purity = polars.read_parquet(out / "seed-4/metrics.parquet")["purity"]
            assert "  ".join(["purity", *(f"{value:.4g}" for value in purity.tail(3))]) in output.splitlines()


@pytest.mark.parametrize(
    ("rounds", "shown"), [(range(1, 101), [25, 50, 75, 100]), ([10, 20, 25], [10, 20, 25]), ([7], [7])]
)
def test_the_table_shows_rounds_in_which_every_seed_was_evaluated(
    rounds: Sequence[int], shown: list[int]
) -> None:
    frames = [
        polars.DataFrame({"seed": seed, "round": rounds}).with_columns(
            polars.lit(value).alias(name) for name in SUMMARISED
        )
        for seed, value in ((0, 0.4), (1, 0.6))
    ]
    alone = polars.DataFrame({"seed": 1, "round": [200], **{name: [0.5] for name in SUMMARISED}})
    headers, rows = seed_table(polars.concat([*frames, alone]))
    assert headers == ["metric", *(f"round {done}" for done in shown)]
    assert rows[0] == ["accuracy", *["0.5 ± 0.14"] * len(shown)]  # 0.1 times the root of two


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
    assert "Mean over 3 seeds (0, 1, 2)" in figure.caption
    assert seed_curves.draw(frame.filter(seed=2), "ifca on digits").caption == "ifca on digits. Seed 2."
