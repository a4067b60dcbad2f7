"""What all commands have in common: help, completion, public names, settings, tables, progress, warnings."""

import itertools
import re
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from command_line import make_claim
from msgspec import Meta
from rich.text import Text

import clusterproof
from clusterproof import InvalidArgument, checker, theorem
from clusterproof.algorithms import ALGORITHMS
from clusterproof.checker import REGISTRY
from clusterproof.checker.report import tables as report
from clusterproof.commands import terminal
from clusterproof.commands.application import app, main
from clusterproof.conformance import DEFINITIONS
from clusterproof.experiments.tables import TABLES
from clusterproof.figures import FIGURES
from clusterproof.neural.data.loading import DATASETS
from clusterproof.running.storage import load_trace
from clusterproof.settings import from_settings, values_from_texts
from clusterproof.synthetic import TASKS

Capture = pytest.CaptureFixture[str]


def test_the_public_names_are_what_they_are_where_they_come_from() -> None:
    assert clusterproof.check is checker.check
    assert clusterproof.CFLMGD is ALGORITHMS["cfl-mgd"]
    assert clusterproof.RegressionMixture is TASKS["regression"]
    assert clusterproof.load_trace is load_trace
    assert re.fullmatch(r"\d+\.\d+\.\d+", clusterproof.__version__)
    for word in theorem.__all__:
        assert getattr(theorem, word) is getattr(clusterproof, word)
    with pytest.raises(AttributeError, match="attribute chekc"):
        clusterproof.chekc  # noqa: B018 - the attribute access is the test


# ---- help and completion


@pytest.mark.parametrize("command", ["check", "train", "figures"])
def test_descriptions_of_options_fill_their_lines(command: str, capsys: Capture) -> None:
    assert main([command, "--help"]) == 0
    rows: dict[str, list[re.Match[str]]] = {}
    for line in capsys.readouterr().out.splitlines():
        if row := re.fullmatch(r"│ (?:(?P<option>--[a-z-]+)(?: [A-Z]+)?)? +(?P<text>.*?) *│", line):
            rows.setdefault(row["option"] or next(reversed(rows), ""), []).append(row)
    assert any(len(lines) > 1 for lines in rows.values())
    for lines in rows.values():
        for row, following in itertools.pairwise(lines):
            assert row.end("text") + 1 + len(following["text"].split()[0]) > len(row[0]) - 2, row[0]


OFFERED: list[tuple[list[str], Callable[[], list[str]]]] = [
    (["check", "cfl-mgd/lem"], lambda: [name for name in REGISTRY if name.startswith("cfl-mgd/lem")]),
    (["show", "fpfc/"], lambda: [name for name in REGISTRY if name.startswith("fpfc/")]),
    (["claims", "--paper", ""], lambda: [name.partition("/")[0] for name in REGISTRY]),
    (["conform", "x.py:X", "--as", ""], lambda: list(DEFINITIONS)),
    (["figures", ""], lambda: list(FIGURES)),
    (["data", "fetch", ""], lambda: list(DATASETS)),
]


@pytest.mark.parametrize(("words", "wanted"), OFFERED)
def test_a_shell_completes_the_names_of_the_program(
    capsys: Capture, words: list[str], wanted: Callable[[], list[str]]
) -> None:
    """By the command that the scripts of cyclopts call; REGISTRY also holds the claims of other tests' files."""
    assert main(["__complete", *words]) == 0
    offered = {line.partition("\t")[0] for line in capsys.readouterr().out.splitlines() if line[:1] != "\x1f"}
    offered = {name for name in offered if name and name.startswith(words[-1])}
    assert offered <= set(wanted())
    assert len(offered) >= 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_for_shells_have_every_command(shell: Any, tmp_path: Path) -> None:
    """And bash itself offers the options of a command."""
    script = app.generate_completion(prog_name="clusterproof", shell=shell)
    names = [*ALGORITHMS, *TASKS, *TABLES, "new", "leaderboard"] if shell == "bash" else ["check", "fail-on"]
    assert [name for name in names if name not in script] == []
    (tmp_path / "completion").write_text(script)
    if program := shutil.which(shell):
        assert subprocess.run([program, "-n", tmp_path / "completion"], capture_output=True).returncode == 0
    if program and shell == "bash":
        asked = (
            "source completion; COMP_WORDS=(clusterproof check --fai); COMP_CWORD=2;"
            "COMP_LINE='clusterproof check --fai'; COMP_POINT=${#COMP_LINE};"
            "$(complete -p clusterproof | sed 's/.*-F \\([^ ]*\\).*/\\1/') clusterproof --fai check;"
            'echo "${COMPREPLY[@]}"'
        )
        done = subprocess.run([program, "-c", asked], capture_output=True, text=True, cwd=tmp_path)
        assert "--fail-on" in done.stdout, done.stderr


# ---- settings


@dataclass(frozen=True, kw_only=True)
class Example:
    kappa: Annotated[float, Meta(ge=1)] = 4.0
    hidden: tuple[int, ...] = (8,)
    kind: Literal["a", "b"] = "a"
    rounds: int


def test_values_reach_their_parameters() -> None:
    made = from_settings(Example, {"kappa": 100, "hidden": [64, 32], "rounds": 3})
    assert made == Example(kappa=100.0, hidden=(64, 32), rounds=3)
    assert isinstance(made.kappa, float)


@pytest.mark.parametrize(
    ("values", "argument", "words"),
    [
        ({"rounds": 3, "kapa": 2}, "x.kapa", "Write kappa"),
        ({}, "x.rounds", "no default"),
        *(({"rounds": value}, "x.rounds", "wrong type") for value in (3.5, True, "3")),
        *(({"rounds": 3, "kappa": value}, "x.kappa", "at least 1") for value in (0.5, float("nan"))),
        ({"rounds": 3, "kind": "c"}, "x.kind", "one of 'a', 'b'"),
        ({"rounds": 3, "hidden": "64"}, "x.hidden", "wrong type"),
    ],
)
def test_a_wrong_setting_is_one_sentence(values: dict[str, Any], argument: str, words: str) -> None:
    with pytest.raises(InvalidArgument, match=words) as caught:
        from_settings(Example, values, "x.")
    assert caught.value.argument == argument
    assert "\n" not in str(caught.value)


def test_texts_are_literals_or_words() -> None:
    deep = "(" * 20_000
    texts = [
        "kappa=100",
        "hidden=[64, 32]",
        "kind=b",
        "step-size=.5",
        "none=None",
        "on=true",
        "names=[x, 1]",
        f"deep={deep}",
    ]
    assert values_from_texts("set", texts) == {
        **{"kappa": 100, "hidden": [64, 32], "kind": "b", "step_size": 0.5, "none": None},
        **{"names": ["x", 1], "deep": deep, "on": True},
    }
    for wrong in (["kappa"], ["=3"], ["a=1", "a=2"]):
        with pytest.raises(InvalidArgument):
            values_from_texts("set", wrong)


# ---- what is printed


def test_a_table_on_a_terminal_has_every_cell(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in (("COLUMNS", "40"), ("NO_COLOR", "1"), ("TERM", "xterm-256color")):
        monkeypatch.setenv(name, value)
    terminal.show_table(("name", "value"), [("first", "1"), ("[second]", "2")])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [["name", "value"], ["first", "1"], ["[second]", "2"]]


def test_a_progress_bar_leaves_redirected_output_where_it_belongs(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with terminal.progress(2) as advance:
        advance(1, "half")
        print("a result")
    output, errors = capsys.readouterr()
    assert output == "a result\n"
    assert "half" in errors


@pytest.mark.parametrize(("seconds", "written"), [(89, "89 s"), (600, "10 min"), (9000, "2.5 h")])
def test_a_time_is_written_in_the_unit_that_suits_it(seconds: float, written: str) -> None:
    assert terminal._duration(seconds) == written


@pytest.mark.parametrize(
    "command", ["check ours/slow ours/quick", "figures slow momentum-paths --out figures"]
)
def test_in_a_pipe_a_line_says_how_far_the_command_is(
    command: str, registry: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
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
    *earlier, last = shown.splitlines()
    assert re.fullmatch(r"clusterproof: 0 of 2 done, 0 s; (ours/)?slow", last), last
    for line in earlier:  # the first may be written before the step begins
        assert line in (last, "clusterproof: 0 of 2 done, 0 s")


def test_warnings_of_torch_do_not_reach_the_user(
    registry: dict[str, Any], capsys: Capture, plant: Callable[..., Any]
) -> None:
    def warn(*_: object) -> Text:
        for module in ("torch.nn.functional", "torch", "torchless_plugin"):
            warnings.warn_explicit(f"from {module}", UserWarning, "file.py", 1, module=module)
        text = "no batching rule (Triggered internally at Batching.cpp:1)"
        warnings.warn_explicit(text, UserWarning, "file.py", 1, module="clusterproof.neural.task")
        return Text("")

    make_claim("p/one")
    plant(report, "count_table", warn)
    assert main(["check", "p/one"]) == 0
    assert capsys.readouterr().err == "clusterproof: from torchless_plugin\n"


def test_a_defect_shows_its_place_only_on_request(
    registry: dict[str, Any], capsys: Capture, plant: Callable[..., Any]
) -> None:
    make_claim("p/one", outcome=OSError("too large"))
    assert main(["check", "p/one"]) == 1
    assert "p/one: the check failed: OSError: too large" in capsys.readouterr().err
    make_claim("p/two")
    for error, status, words in (
        (ZeroDivisionError("by nought"), 1, "by nought; `python -X dev -m clusterproof` shows where\n"),
        (MemoryError("too large"), 2, "out of memory (too large); lower the sizes\n"),
    ):

        def broken(*_: object, error: Exception = error) -> None:
            raise error

        plant(report, "count_table", broken)
        assert main(["check", "p/two"]) == status
        errors = capsys.readouterr().err
        assert errors.endswith(words)
        assert errors.count("\n") == 1
