"""Without the optional libraries, and with standard output that cannot be written: never a traceback."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import polars
import pytest
from command_line import ROOT, make_claim

from clusterproof.algorithms.storage import load_trace
from clusterproof.commands import terminal
from clusterproof.commands.application import app, main
from clusterproof.figures import FIGURES

EXTRAS = "torch pooch safetensors distributed dask_jobqueue"
DATA = ("data list", "data fetch", "data verify")
NAMES = [name for name in app if not name.startswith("-")]
HELPS = ["--help", *(f"{name} --help" for name in (*NAMES, *DATA))]

WITHOUT = {
    **dict.fromkeys((*HELPS, "claims --paper ifca", "show cfl-mgd/theorem-1 --no-check"), ""),
    **dict.fromkeys(("run ifca --rounds 2", "data list", "table", "check baselines/fedavg", "figures"), ""),
    "data fetch mnist": "neural",
    "train --out t": "neural",
}
"""Each command line, and the extra that its refusal names without the optional libraries; empty where it works."""

PRINTING = (
    "--help",
    "check mine.py",
    "claims --paper ifca",
    "show mine/a mine.py",
)
PRINTING += ("check mine.py --json /dev/stdout", "run ifca --rounds 2", "data list", "table")
PRINTING += ("claims --json /dev/full", "figures contraction-map --out figures", "verify --help", "figures")

MINE = '''
from fractions import Fraction
from typing import Annotated
from clusterproof import at_most, claim, rationals

@claim("mine/a")
def a(step: Annotated[Fraction, rationals(0, 2, 2)]):
    """A step \N{GREEK SMALL LETTER ETA} does not lead away."""
    return at_most(abs(1 - step), one=1)
'''

RUN = """
import contextlib, io, json, os, sys
from clusterproof.commands.application import main
lines, kind, encoding, found = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3], {}
kept = os.dup(1)
for line in lines:
    errors = io.StringIO()
    reader, writer = (0, os.open("/dev/full", os.O_WRONLY)) if kind == "full" else os.pipe()
    if kind == "pipe":
        os.close(reader)
    os.dup2(os.open("output", os.O_WRONLY | os.O_CREAT) if kind == "file" else writer, 1)
    os.close(writer)
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)
    with contextlib.redirect_stderr(errors):
        status = main(line.split())
    with contextlib.suppress(Exception):
        sys.stdout.close()
    found[line] = status, errors.getvalue()
os.write(kept, json.dumps(found).encode())
"""


def outcomes(folder: Path, lines: list[str], kind: str, encoding: str, start: str = "") -> dict[str, list]:
    """Exit status and standard error of command lines in a process whose warnings are errors."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    command = [sys.executable, "-W", "error", "-c", start + RUN, json.dumps(lines), kind, encoding]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.slow(reason="runs many commands")
def test_commands_do_without_the_optional_libraries(tmp_path: Path) -> None:
    start = (
        "from importlib.machinery import PathFinder\n"
        f"true, hidden = PathFinder.find_spec, {EXTRAS.split()}\n"
        "PathFinder.find_spec = classmethod(\n"
        "    lambda cls, full, *rest: None if full.split('.')[0] in hidden else true(full, *rest)\n"
        ")\n"
    )
    for line, (status, errors) in outcomes(tmp_path, list(WITHOUT), "file", "utf-8", start).items():
        extra = WITHOUT[line]
        assert (status, errors.count("\n")) == ((2, 1) if extra else (0, 0)), (line, errors)
        assert f"'.[{extra}]'" in errors or not extra, (line, errors)


SLOW = pytest.mark.slow(reason="runs every command")


@pytest.mark.skipif(os.name != "posix", reason="devices of POSIX systems")
@pytest.mark.parametrize(
    ("kind", "encoding"),
    [
        pytest.param("full", "utf-8", marks=SLOW),
        pytest.param("pipe", "utf-8", marks=SLOW),
        pytest.param("file", "ascii", marks=SLOW),
    ],
)
def test_output_that_cannot_be_written_is_one_line(tmp_path: Path, kind: str, encoding: str) -> None:
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    found = outcomes(tmp_path, list(PRINTING), kind, encoding)
    for line, (status, printed) in found.items():
        # a slow machine reports how far a command is
        errors = re.sub(r"clusterproof: .* done, \d+ s.*\n", "", printed)
        if kind == "pipe" and "/dev/full" not in line:
            assert (status, errors) == (141, ""), line
        elif (
            kind == "full" or "mine" in line or "/dev/full" in line or line == "table"
        ):  # it prints a plus-minus sign
            assert (status, errors.count("\n")) == (2, 1), (line, errors)
        else:
            assert (status, errors) == (0, ""), line


@pytest.mark.slow(reason="several seconds")
@pytest.mark.skipif(os.name != "posix", reason="devices of POSIX systems")
@pytest.mark.parametrize(
    ("redirection", "status"),
    [
        (">/dev/full", 2),
        *(
            pytest.param(*row, marks=SLOW)
            for row in ((">&-", 2), (">/dev/null 2>/dev/full", 0), ("| true", 0))
        ),
    ],
)
def test_the_end_of_the_process_adds_nothing(redirection: str, status: int) -> None:
    """The interpreter flushes standard output once more when it exits."""
    for words in ("claims", "claims --help"):
        line = f"{sys.executable} -m clusterproof {words} {redirection}"
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=ROOT, env=environment)
        assert (done.returncode, done.stderr.count("\n")) == (status, status // 2), done.stderr


def test_a_table_on_a_terminal_has_every_cell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    terminal.show_table(("name", "value"), [("first", "1"), ("[second]", "2")])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [["name", "value"], ["first", "1"], ["[second]", "2"]]


def test_a_progress_bar_leaves_redirected_output_where_it_belongs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with terminal.progress(2) as advance:
        advance(1, "half")
        print("a result")
    output, errors = capsys.readouterr()
    assert output == "a result\n"
    assert "half" in errors


@pytest.mark.parametrize(
    "command", ["check ours/slow ours/quick", "figures slow momentum-paths --out figures"]
)
def test_in_a_pipe_a_line_says_how_far_the_command_is(
    command: str,
    registry: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also while one step takes longer than the time between two lines."""
    shown = ""

    def wait(*_: object, **__: object) -> bytes:
        nonlocal shown
        deadline = time.monotonic() + 10
        while shown.count("\n") < 2 and time.monotonic() < deadline:
            shown += capsys.readouterr().err
        return b"figure"

    class Slow(Exception):
        def __str__(self) -> str:
            return str(wait())

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(terminal, "PAUSE", 0.01)
    make_claim("ours/slow", outcome=Slow())
    make_claim("ours/quick")
    monkeypatch.setitem(FIGURES, "slow", FIGURES["momentum-paths"])
    monkeypatch.setattr("clusterproof.commands.figures._render", wait)
    main(command.split())
    assert shown.count("\n") >= 2
    for line in shown.splitlines():
        assert re.fullmatch(r"clusterproof: 0 of 2 done, 0 s; (ours/)?slow", line), line


def test_numbers_are_written_as_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same ones as in parquet, or in the frame of a run; pandas takes a frame without pyarrow."""
    monkeypatch.chdir(tmp_path)
    small = ["--task", "quadratic", "--clients", "4", "--dimension", "2", "--rounds", "3"]
    assert main(["run", "ifca", *small, "--out", "trace", "--csv", "run.csv"]) == 0
    frame = load_trace("trace").frame()
    assert polars.read_csv("run.csv").cast(frame.schema).equals(frame)
    pandas = pytest.importorskip("pandas")
    converted = pandas.DataFrame(frame.to_dict(as_series=False))
    assert converted["error"].to_numpy().tolist() == frame["error"].to_list()
    short = [
        "--images",
        "120",
        "--clusters",
        "2",
        "--clients-per-cluster",
        "2",
        "--hidden",
        "4",
        "--rounds",
        "2",
    ]
    assert main(["train", "--algorithm", "ifca", *short, "--out", "one", "--csv", "one.csv"]) == 0
    rows = polars.read_parquet("one/metrics.parquet")
    assert polars.read_csv("one.csv").cast(rows.schema).equals(rows)
    Path("sweep.toml").write_text(
        'measure = ["error"]\nrounds = 1\nseeds = 2\n[settings]\nalgorithm = "ifca"\ntask = "quadratic"\n'
    )
    files = ["--parquet", "s.parquet", "--csv", "s.csv"]
    assert main(["sweep", "sweep.toml", "--out", "units", "--jobs", "1", *files]) == 0
    table = polars.read_parquet("s.parquet")
    assert polars.read_csv("s.csv").cast(table.schema).equals(table)
    assert main(["sweep", "sweep.toml", "--csv", "no/s.csv"]) == 2
