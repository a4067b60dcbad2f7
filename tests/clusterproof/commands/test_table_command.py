"""The command ``table``: its summary, its help, what it computes in how many processes, what it prints and stores."""

import json
import os
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars
import pytest
import torch
from toy_tables import TOY

from clusterproof.commands.application import main
from clusterproof.commands.engine import GPU_UNIT, default_jobs
from clusterproof.experiments import paper_table, units
from clusterproof.experiments.tables import TABLES
from clusterproof.neural.data.loading import DATASETS

NAME = "sofl/table-2"


def options(name: str, **more: object) -> list[str]:
    values = {**TOY[name], **more}
    return [part for key, value in values.items() for part in ("--set", f"{key}={value}")]


def test_without_a_name_the_stored_results_are_one_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table"]) == 0
    output = capsys.readouterr().out
    for settings, _ in polars.read_parquet(sorted(paper_table.RESULTS.glob("*.parquet"))).group_by("table"):
        assert f"{settings[0]}: {TABLES[str(settings[0])].title}" in output
    assert re.search(r"(?m)^CFL-MGD +accuracy % +96\.05 ± 0\.12 +9\d\.\d\d( ± \d\.\d\d)? +\d ", output)
    assert "method measured paper ours seeds shown from word" in " ".join(output.split())
    assert output.count("not reproduced: Welch's test") == 1
    other = output.partition("data cifar10, ")[2].partition("\n\n")[0]
    assert (
        f"{TABLES['cfl-mgd/table-2'].from_values({'data': 'cifar10'}).printed('CFL-MGD', 'accuracy %').value}"
        in other
    )
    assert "Never run at full size: EMNIST" in output


@pytest.mark.parametrize("name", TABLES)
def test_help_has_every_setting_with_its_default(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", name, "--help"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    usual = TABLES[name].from_values({})
    for setting in fields(usual):
        assert f"{setting.name}={json.dumps(getattr(usual, setting.name))}" in output
    for data, values in TABLES[name].by_data.items():
        stated = output.partition(f"with data={data}: ")[2].partition("•")[0]
        assert values
        for key, value in values.items():
            assert f"{key}={json.dumps(value)}" in stated
    assert {"--set", "--seeds", "--out", "--parquet", "--jobs", "--dask"} <= set(
        re.findall(r"--[a-z]+", output)
    )


@pytest.mark.slow(reason="several seconds")
def test_a_table_is_printed_stored_and_not_computed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, file = tmp_path / "units", tmp_path / "table.parquet"
    line = ["table", NAME, *options(NAME), *f"--seeds 2 --jobs 1 --out {out} --parquet {file}".split()]
    line += ["--csv", str(tmp_path / "table.csv")]
    assert main(line) == 0
    output = capsys.readouterr().out
    frame = polars.read_parquet(file)
    assert polars.read_csv(tmp_path / "table.csv").select(frame.columns).cast(frame.schema).equals(frame)
    assert frame["seed"].unique().sort().to_list() == [0, 1]
    assert json.loads(frame["settings"][0]) == {**TOY[NAME]}
    mean = frame.filter(method="SOM", column="clusters")["value"].mean()
    assert re.search(rf"(?m)^SOM +clusters +- +{mean:.2f} ± [\d.]+ +2 +- +-$", output)
    assert "no row is judged" in output
    times = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    assert main(line) == 0
    assert {path: path.stat().st_mtime_ns for path in out.iterdir()} == times
    assert polars.read_parquet(file).equals(frame)


def test_what_is_asked_of_the_workers_and_the_seeds_that_are_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By default three seeds, on every core; one run of seed 0 fails. With Dask the data are elsewhere."""
    monkeypatch.setenv("CLUSTERPROOF_DATA", str(tmp_path))
    asked: list[dict[str, Any]] = []
    metrics = {"round": [1], "accuracy": [0.5], "correct_model": [0.5]}

    def compute(wanted: list[Any], _: Path, **options: Any) -> tuple[list[Any], list[str]]:
        asked.append(options | {"runs": [unit.name for unit in wanted]})
        return [None, *[metrics] * (len(wanted) - 1)], [f"failure {number}" for number in range(21)]

    monkeypatch.setattr(units, "compute", compute)
    name = "cfl-mgd/table-2"
    for more in (["--dask", "tcp://x:1"], [*options(name), "--jobs", "5"], options(name)):
        assert main(["table", name, *more]) == 1
    assert [(found["jobs"], found["dask"]) for found in asked] == [
        *((os.cpu_count(), "tcp://x:1"), (5, None), (os.cpu_count(), None))
    ]
    assert asked[0]["runs"][::4] == [f"CFL-MGD, seed {seed}" for seed in range(3)]
    output, errors = capsys.readouterr()
    assert " ".join(output.split()).count("CFL-MGD accuracy % - 50.00 ± 0.00 2 ") == 2
    for words in ("failure 19\n", "(1 more failed)", "rerun the command to resume"):
        assert errors.count(words) == 3
    file = tmp_path / "numbers.parquet"
    assert main(["table", name, *options(name), "--parquet", str(file)]) == 1
    first = polars.read_parquet(file).filter(polars.col("method") == "CFL-MGD")
    assert set(first["seed"]) == {1, 2}
    (tmp_path / "mnist").mkdir()  # one of its files is enough
    (tmp_path / "mnist" / DATASETS["mnist"].files[0].name).touch()
    assert main(["table", name]) == 1


def test_the_command_draws_the_numbers_by_round_and_says_what_a_precision_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = {"round": [2, 3], "accuracy": [0.25, 0.5], "correct_model": [0.5, 1.0]}
    monkeypatch.setattr(units, "compute", lambda wanted, *_, **__: ([metrics] * len(wanted), []))
    name, picture = "cfl-mgd/table-2", tmp_path / "curves.svg"
    assert main(["table", name, *options(name), "--set", "precision=bf16", "--plot", str(picture)]) == 0
    drawn = picture.read_text()
    assert all(f'id="{method}"' in drawn for method in ("CFL-MGD", "IFCA", "FedAvg", "FedBCD"))
    output = " ".join(capsys.readouterr().out.split())
    assert output.count("accuracy % - 50.00 ± 0.00 3 ") == 4
    assert "rounded by up to 2^-8 of its size" in output  # bf16 has 8 bits
    assert main(["table", NAME, *options(NAME), "--plot", str(tmp_path / "none.svg")]) == 2
    assert "only numbers after the last round" in capsys.readouterr().err
    assert main(["table", name, *options(name), "--plot", str(tmp_path / "curves.txt")]) == 2
    assert "must end in one of png, svg, pdf" in capsys.readouterr().err


def test_an_interrupted_table_names_the_command_that_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(units, "compute", interrupt)
    assert main(["table", "fpfc/table-1", "--out", str(tmp_path / "a folder")]) == 130
    assert (
        f"run `clusterproof table fpfc/table-1 --out '{tmp_path}/a folder'` to resume"
        in capsys.readouterr().err
    )


def test_runs_share_a_gpu_as_its_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    units = {
        device: list(TABLES["cfl-mgd/table-2"].from_values({"device": device}).units(0).values())
        for device in ("cpu", "cuda")
    }
    assert default_jobs(units["cpu"]) == 16
    for free, jobs in ((0, 1), (3 * GPU_UNIT - 1, 2), (3 * GPU_UNIT, 3), (1000 * GPU_UNIT, 16)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda free=free: (free, 2 * free))
        assert default_jobs(units["cuda"]) == jobs
