"""``table --choose``, ``--choices`` and ``--parquet``: separate parts for each choice, and the files written."""

import json
import shlex
from pathlib import Path

import miniature_table
import polars
import pytest
from command_line import without_progress
from planting import planted

from clusterproof.algorithms import InvalidArgument, atomic
from clusterproof.commands.application import main
from clusterproof.experiments.tables.registry import TABLES

NAME = "miniature/table-1"


@pytest.fixture(autouse=True)
def miniature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLES, NAME, miniature_table.TABLE)


def computed(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> str:
    capsys.readouterr()
    assert main(["table", NAME, "--jobs", "1", "--out", str(folder), *arguments]) == 0
    output, errors = capsys.readouterr()
    assert without_progress(errors) == []
    return output


# ------------------------------------------------------------------ what is chosen


@pytest.mark.slow(reason="computes a table several times")
def test_parts_of_other_choices_are_never_mixed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record, parts = tmp_path / "table.json", tmp_path / "parts"
    output = computed(capsys, parts, "--json", str(record))
    assert "; 6 of them now" in output
    assert "Chosen" not in output
    plain = json.loads(record.read_bytes())
    assert "choices" not in plain["settings"]
    # the slow method does not know the choice: its parts are those of before
    output = computed(capsys, parts, "--json", str(record), "--choose", "lead=3", "--choose=order=down")
    assert "; 3 of them now" in output
    assert "Chosen in place of the default: lead 3 (1); order down (up)." in output
    chosen = json.loads(record.read_bytes())
    assert chosen["settings"]["choices"] == {"lead": 3, "order": "down"}
    for before, after, shift in zip(plain["rows"], chosen["rows"], (2, 0), strict=True):
        values = [cells["cells"]["score"]["values"] for cells in (before, after)]
        assert values[1] == pytest.approx([value + shift for value in values[0]])
        assert after["cells"]["score"]["verdict"] is not None or shift == 0
    # what is chosen as it is by default is no other part, and is told in the settings alone
    output = computed(
        capsys, parts, "--json", str(record), "--choose", "lead=1", "--choose", "batch-size=all"
    )
    assert "; 0 of them now" in output
    assert "Chosen" not in output
    again = json.loads(record.read_bytes())
    assert again["settings"]["choices"] == {"lead": 1, "batch-size": None}
    assert again["rows"] == plain["rows"]


def test_choices_are_listed_with_their_defaults_and_nothing_is_computed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["table", NAME, "--choices"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [(line[0], line[1]) for line in lines] == [
        ("lead", "1"),
        ("batch-size", "all"),
        ("widths", "3"),
        ("thresholds", "none"),
        ("order", "up"),
        ("depth", "3"),
    ]
    assert main(["table", NAME, "--choices", "--scale", "small"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines if line[0] in ("batch-size", "depth")] == [["batch-size", "2"]]
    assert not (tmp_path / "cache").exists()


def test_every_table_lists_its_choices(capsys: pytest.CaptureFixture[str]) -> None:
    for name, definition in TABLES.items():
        choices = definition.choices
        assert main(["table", name, "--choices"]) == 0
        output, errors = capsys.readouterr()
        assert errors == ""
        lines = output.splitlines()
        assert [line.split()[0] for line in lines] == [choice.name for choice in choices]
        for line, choice in zip(lines, choices, strict=True):
            assert line.split()[1] == choice.kind.show(choice.default)
            assert line.endswith(f". {choice.about}")
            assert "paper" in choice.about


@pytest.mark.parametrize("name", sorted(TABLES))
def test_what_is_shown_is_read_back(name: str) -> None:
    for choice in TABLES[name].choices:
        for scale in ("full", "small"):
            if choice.only_full and scale == "small":
                continue
            default = choice.default_at(scale)
            found = choice.read(choice.kind.show(default), scale)
            assert (found, type(found)) == (default, type(default))


@pytest.mark.slow(reason="computes a table in worker processes")
def test_a_real_table_with_a_choice_from_the_command_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Softmax regressions: methods with one local step or none are not computed again."""
    arguments = shlex.split("table fpfc/table-1 --scale small --seeds 1 --rounds 5 --jobs 1")
    arguments += ["--out", str(tmp_path / "parts")]
    found = {}
    for number, chosen in enumerate(([], ["--choose", "local-steps=3"])):
        record = tmp_path / f"{number}.json"
        assert main([*arguments, "--json", str(record), *chosen]) == 0
        found[number] = json.loads(record.read_bytes())
    output, _ = capsys.readouterr()
    assert "3 gradient steps a round" in output
    assert "Chosen in place of the default: local steps 3 (10)." in output
    assert found[1]["settings"]["local_steps"] == 3
    assert found[1]["settings"]["choices"] == {"local-steps": 3}
    rows = [{(row["name"], row["settings"]): row["cells"] for row in one["rows"]} for one in found.values()]
    same = {key for key in rows[0] if key in rows[1] and rows[0][key] == rows[1][key]}
    assert {name for name, _ in same} == {"IFCA", "CFL", "Oracle"}
    units, now = found[1]["cost"]["units"], found[1]["cost"]["computed_now"]
    assert units - now == 1 + 3 + 2  # IFCA and CFL as coded, the oracle and the data


# ------------------------------------------------------------------ the long table


@pytest.mark.slow(reason="computes a table")
def test_numbers_are_read_back_from_parquet(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = ["--json", str(tmp_path / "table.json"), "--parquet", str(tmp_path / "table.parquet")]
    computed(capsys, tmp_path / "parts", *files)
    record = json.loads((tmp_path / "table.json").read_bytes())
    frame = polars.read_parquet(tmp_path / "table.parquet")
    for row in record["rows"]:
        for column, cell in row["cells"].items():
            own = frame.filter(part="row", row=row["name"], settings=row["settings"], column=column)
            assert own["seed"].to_list() == [0, 1, 2]
            assert own["value"].to_list() == cell["values"]
            printed = cell["printed"] or {"value": None, "spread": None}
            assert own["printed"].to_list() == [printed["value"]] * 3
            assert own["printed_spread"].to_list() == [printed["spread"]] * 3
            assert own["at"].to_list() == [None] * 3
    (curve,) = record["curves"]
    own = frame.filter(part="curve", row=curve["name"], parameter="step")
    assert own["at"].to_list() == [0.5] * 3 + [1.0] * 3
    assert own["value"].to_list() == [value for cells in curve["cells"] for value in cells["score"]["values"]]
    assert set(frame["table"]) == {NAME}
    assert not list(tmp_path.glob(".clusterproof-*"))


@pytest.mark.slow(reason="starts worker processes")
def test_a_full_disk_costs_neither_the_printed_table_nor_the_other_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full")
    for broken, other in (("json", "parquet"), ("parquet", "json")):
        good = tmp_path / f"table.{other}"
        arguments = ["table", NAME, "--jobs", "1", "--out", str(tmp_path / "parts")]
        assert main([*arguments, f"--{broken}", str(full), f"--{other}", str(good)]) == 2
        output, errors = capsys.readouterr()
        assert "fast - slow" in output
        (line,) = without_progress(errors)
        assert line.startswith(f"clusterproof: --{broken} = '/dev/full'")
        assert good.stat().st_size > 500
    with planted(atomic, "write_whole", full_disk):
        places = ["--json", str(tmp_path / "a"), "--parquet", str(tmp_path / "b")]
        assert main([*arguments, *places]) == 2
    output, errors = capsys.readouterr()
    assert "fast - slow" in output
    (line,) = without_progress(errors)
    assert "--json" in line
    assert "parquet = " in line


def full_disk(argument: str, path: Path, content: bytes) -> None:
    raise InvalidArgument(argument, str(path), "must be a file that can be written", "choose another place")
