"""The command ``table``: what it prints and stores."""

import json
import time
from pathlib import Path

import miniature_table
import numpy as np
import polars
import pytest
from command_line import without_progress
from engine_here import Here

from clusterproof.commands import engine
from clusterproof.commands.application import main
from clusterproof.experiments import store
from clusterproof.experiments.store import UnitStore
from clusterproof.experiments.tables.registry import TABLES


@pytest.fixture
def miniature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLES, "miniature/table-1", miniature_table.TABLE)


def numbers(path: Path) -> dict[str, object]:
    """A table's JSON without what it took to compute."""
    record = json.loads(path.read_bytes())
    del record["cost"]
    return record


def test_tables_are_listed(miniature: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [
        [table.id, table.title] for table in TABLES.values()
    ]
    assert len(lines) > 10


@pytest.mark.slow(reason="starts worker processes")
def test_an_interrupted_table_names_the_command_that_resumes(
    miniature: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(UnitStore, "write", interrupt)
    command = [
        "table",
        "miniature/table-1",
        "--seeds",
        "1",
        "--jobs",
        "2",
        "--out",
        str(tmp_path / "a folder"),
    ]
    assert main(command) == 130
    resuming = f"clusterproof {' '.join(command[:-1])} '{command[-1]}'"
    assert capsys.readouterr().err == f"clusterproof: interrupted; run `{resuming}` to resume\n"


@pytest.mark.slow(reason="starts worker processes five times")
def test_a_table_is_printed_and_stored_and_not_computed_again(
    miniature: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    record = tmp_path / "table.json"
    arguments = ["table", "miniature/table-1", "--json", str(record), "--jobs", "1"]
    assert main(arguments) == 0
    output, errors = capsys.readouterr()
    assert without_progress(errors) == []
    for part in (
        "Fast  as published",
        "1.00 ± 0.50",
        "fast - slow",
        "Score by step",
        "Nobody",
    ):
        assert part in output
    assert "6 parts" in output
    assert "; 6 of them now" in output
    first = numbers(record)
    cells = {row["name"]: row["cells"]["score"] for row in first["rows"]}
    assert cells["Fast"]["printed"]["value"] == 1.0
    assert cells["Slow"]["printed"] is None
    assert cells["Slow"]["gap"] == pytest.approx(1.0)
    assert first["comparisons"][0]["values"] == pytest.approx([1.0, 1.0, 1.0])
    assert main(arguments) == 0
    assert "; 0 of them now" in capsys.readouterr().out
    assert numbers(record) == first
    # one more seed asks for two more units only; other rounds for all
    assert main([*arguments, "--seeds", "4"]) == 0
    assert "8 parts" in (output := capsys.readouterr().out)
    assert "; 2 of them now" in output
    assert main([*arguments, "--rounds", "5", "--seeds", "1"]) == 0
    assert "; 2 of them now" in capsys.readouterr().out


def test_a_table_in_one_process_counts_its_parts_and_goes_on(
    miniature: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of four parts one is stored before Ctrl-C, two more beside one that fails, and the last one then."""
    began = time.perf_counter()
    monkeypatch.setattr(store, "source_digest", lambda module: "0" * 16)  # which takes a second
    record = tmp_path / "table.json"
    command = [
        "table",
        "miniature/table-1",
        "--seeds",
        "2",
        "--out",
        str(tmp_path / "parts"),
        "--json",
        str(record),
    ]
    monkeypatch.setattr(engine, "choose", lambda *_, **__: Here(pressed=1))
    assert main(command) == 130
    assert (
        capsys.readouterr().err
        == f"clusterproof: interrupted; run `clusterproof {' '.join(command)}` to resume\n"
    )
    monkeypatch.setattr(engine, "choose", lambda *_, **__: Here())
    monkeypatch.setenv("MINIATURE", "fault=fast,seed0")
    assert main(command) == 1
    output, errors = capsys.readouterr()
    assert output == ""
    (line,) = without_progress(errors)
    assert "1 of 4 parts failed" in line
    assert line.endswith("fast, seed 0: RuntimeError: no luck")
    monkeypatch.delenv("MINIATURE")
    now = []
    for _ in range(2):
        assert main([*command, "--parquet", str(tmp_path / "table.parquet")]) == 0
        output = capsys.readouterr().out
        cost = json.loads(record.read_bytes())["cost"]
        assert (cost["units"], cost["cpu_seconds"]) == (4, 4 * 90.0)
        assert 0 <= cost["seconds_now"] <= time.perf_counter() - began
        now.append(cost["computed_now"])
        assert f"4 parts, 6.0 min of processor time; {now[-1]} of them now, " in output
    assert now[1] == 0
    found = numbers(record)["rows"]
    for row, ahead in zip(found, (1.0, 0.0), strict=True):
        means = [float(np.random.default_rng(seed).standard_normal(4).mean()) + ahead for seed in (0, 1)]
        assert row["cells"]["score"]["values"] == pytest.approx(means)
    assert polars.read_parquet(tmp_path / "table.parquet").filter(row="Slow", part="row").height == 2
    assert main([*command, "--scale", "small"]) == 0
    output = capsys.readouterr().out
    assert "no verdict" in output
