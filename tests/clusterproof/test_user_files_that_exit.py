"""A user's file that ends the process, or raises what has no message, costs one line and never status 0."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import ROOT, refused

from clusterproof.commands import check as check_command
from clusterproof.commands import child_process, terminal
from clusterproof.commands.application import main
from clusterproof.commands.check_unit import evaluate, evaluate_in_processes
from clusterproof.theory import find_claim

START = """
import os, signal, sys, time
from fractions import Fraction
from typing import Annotated
from clusterproof.conformance import DEFINITIONS
from clusterproof.theorem import at_most, claim, rationals

class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no message")

def end():
    {end}
"""
CLAIM = """
@claim("mine/a")
def a(step: Annotated[Fraction, rationals(0, 2, 2)]):
    {at}
    return at_most(abs(1 - step), one=1)
"""
IMPLEMENTATION = """
class Mine(DEFINITIONS["scaffold"]):
    def round(self, participants):
        {at}
        super().round(participants)
"""
ENDS = {"exit": "sys.exit(0)", "_exit": "os._exit(0)", "message": "raise Silent"}
IN_CHILD = pytest.mark.slow(reason="starts a process")


def arguments(folder: Path, command: str, end: str, when: str) -> list[str]:
    """Write a file whose code ends at its import or when it is evaluated; return the command line for it."""
    body = (CLAIM if command == "check" else IMPLEMENTATION).format(at="end()" if when == "later" else "pass")
    path = folder / "mine.py"
    path.write_text(START.format(end=end) + body + ("end()\n" if when == "import" else ""))
    return ["check", str(path)] if command == "check" else ["conform", f"{path}:Mine", "--as", "scaffold"]


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start children here, too, as a command line does."""
    monkeypatch.setattr(child_process, "is_child", False)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("when", ["import", "later"])
@pytest.mark.parametrize("end", ["exit", "message"])
@pytest.mark.parametrize("command", ["check", "conform"])
def test_an_exception_that_would_pass_every_handler_is_one_line(
    command: str, end: str, when: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(arguments(tmp_path, command, ENDS[end], when))
    output, errors = capsys.readouterr()
    assert status == (1 if (command, end, when) == ("check", "message", "later") else 2)
    assert errors.count("\n") == 1, errors
    assert ("SystemExit" if end == "exit" else "Silent: its message raises RuntimeError") in errors
    assert "a defect" not in errors
    assert (command, end, when) != ("check", "exit", "later") or re.search(r"mine\.py, line \d+", errors)
    assert ("1 claim: 1 failed" in output) == (status == 1)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.usefixtures("children")
@pytest.mark.parametrize(
    ("command", "when"),
    [
        ("check", "later"),
        pytest.param("check", "import", marks=IN_CHILD),
        pytest.param("conform", "import", marks=IN_CHILD),
        pytest.param("conform", "later", marks=IN_CHILD),
    ],
)
def test_the_end_of_the_process_is_one_line(
    command: str, when: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    errors = refused(capsys, *arguments(tmp_path, command, ENDS["_exit"], when))
    assert "mine.py" in errors
    assert "ended the process with exit status 0" in errors


@pytest.mark.usefixtures("children")
@IN_CHILD
@pytest.mark.parametrize(
    "line",
    [
        "show mine/a mine.py",
        "claims mine.py",
        "leaderboard fedavg --module mine.py",
        "leaderboard fedavg --task mine.py:task",
        "run mine.py:Mine",
        "run ifca --measure mine.py:measure --out out",
        "sweep sweep.toml --code mine.py:Mine",
        "train --data mine.py:data --out out",
        "train --network mine.py:Net --out out",
        "train --algorithm mine.py:Mine --out out",
    ],
)
def test_no_command_lets_a_file_pass_for_success(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("import os\nos._exit(0)\n")
    Path("sweep.toml").write_text(
        'measure = ["error"]\nrounds = 1\nseeds = 1\n[grid]\nalgorithm = ["mine.py:Mine"]\n'
    )
    errors = refused(capsys, *line.split())
    assert "mine.py" in errors
    assert "ended the process with exit status 0" in errors


@pytest.mark.usefixtures("children")
@IN_CHILD
def test_a_killed_child_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    end = "os.kill(os.getpid(), signal.SIGKILL)"
    assert "was ended by SIGKILL" in refused(capsys, *arguments(tmp_path, "check", end, "later"))


@pytest.mark.usefixtures("children")
@IN_CHILD
def test_files_in_the_working_folder_replace_no_standard_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("json", "random", "signal"):
        Path(f"{name}.py").write_text("raise RuntimeError\n")
    (folder := tmp_path / "elsewhere").mkdir()
    assert main(arguments(folder, "check", "pass", "later")) == 0


@IN_CHILD
def test_options_of_the_interpreter_reach_the_child(tmp_path: Path) -> None:
    words = arguments(
        tmp_path, "check", "print(sys.flags.dev_mode, sys.warnoptions, file=sys.stderr)", "import"
    )
    python = [sys.executable, "-X", "dev", "-W", "ignore", "-m", "clusterproof"]
    done = subprocess.run([*python, *words], cwd=ROOT, capture_output=True, text=True)
    assert re.match(
        r"True \[.*'ignore'\]", done.stderr
    )  # before it stands what -X dev and the environment add


@pytest.mark.usefixtures("registry")
def test_a_worker_reports_a_claim_that_exits(tmp_path: Path) -> None:
    (path,) = arguments(tmp_path, "check", "sys.exit(0)", "later")[1:]
    assert evaluate(3, "mine/a", (path,), range(1)) == (3, "SystemExit: 0")


@pytest.mark.usefixtures("registry")
@IN_CHILD
def test_what_was_finished_before_a_worker_is_lost_is_no_failure(tmp_path: Path) -> None:
    words = arguments(tmp_path, "check", "pass", "later")
    second = (
        CLAIM.replace("mine/a", "mine/b")
        .replace("def a", "def b")
        .format(
            at=f"\n    while not os.path.exists({str(tmp_path / 'finished')!r}): time.sleep(0.05)\n    os._exit(1)"
        )
    )
    with open(words[1], "a", encoding="utf-8") as file:
        file.write(second)
    (names,) = terminal.load(words[1:])
    claims = [find_claim(name) for name in names]
    found = []
    for index, answer in evaluate_in_processes(claims, words[1:], range(1), jobs=2):
        found.append((index, isinstance(answer, str)))
        (tmp_path / "finished").touch()
    assert found == [(0, False), (1, True)]


@pytest.mark.usefixtures("children")
@IN_CHILD
@pytest.mark.parametrize("command", ["check", "conform"])
def test_a_child_prints_what_the_command_prints(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments(tmp_path, command, "print('here', file=sys.stderr)", "import")
    assert main(words) == 0
    output, errors = capsys.readouterr()
    assert errors == "here\n"
    assert ("1 claim: 1 certified" if command == "check" else "conforms: scaffold") in output


@pytest.mark.slow(reason="a second or more")
@pytest.mark.usefixtures("registry")
def test_the_verdicts_are_printed_where_the_file_has_replaced_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", sys.stdout)  # restored at the end
        assert main(arguments(tmp_path, "check", "sys.stdout = open(os.devnull, 'w')", "import")) == 0
    assert "1 claim: 1 certified" in capsys.readouterr().out


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")
@IN_CHILD
def test_an_interrupt_is_one_line_and_leaves_no_process(tmp_path: Path) -> None:
    words = arguments(
        tmp_path, "check", "open('begun', 'w').write(str(os.getpid())); time.sleep(600)", "later"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-m", "clusterproof", *words],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        begun = tmp_path / "begun"
        while not begun.exists() or not begun.read_text():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate() == ("", "clusterproof: interrupted\n")
        assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)


def test_a_command_that_exits_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever the exit comes from: of the plugins that a command imports, for example."""
    monkeypatch.setattr(check_command, "_chosen", lambda *_: sys.exit(0))
    errors = refused(capsys, "check", "cfl-mgd/lemma-2")
    assert "test_user_files_that_exit.py" in errors
    assert "remove sys.exit" in errors


@pytest.mark.slow(reason="a second or more")
@pytest.mark.usefixtures("registry")
def test_json_on_standard_output_leaves_the_counts_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments(tmp_path, "check", "pass", "later")
    assert main([*words, "--json", "-"]) == 0
    output, errors = capsys.readouterr()
    assert [verdict["claim"] for verdict in json.loads(output)["claims"]] == ["mine/a"]
    assert "1 claim: 1 certified" in errors
    assert "--json requires a file" in refused(capsys, *words, "--json", "--verbose")
