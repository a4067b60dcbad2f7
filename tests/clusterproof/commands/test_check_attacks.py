"""Files and records that somebody wrote to be certified of what is false: a check says no false word of them."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from command_line import command
from text_cases import CASES
from tiers import slow_after

from clusterproof.checker import REGISTRY
from clusterproof.commands.application import main

FILE = """
from fractions import Fraction
from clusterproof.theorem import Q, at_most, claim

@claim("mine/two", evaluations=20)
def two(x: Fraction = Q[0:5]):
    return {"good": at_most(x, 5), "bad": at_most(x, 1)}

@claim("mine/alone", evaluations=20)
def alone(x: Fraction = Q[0:5]):
    return at_most(x, 1)

@claim("mine/true", evaluations=60)
def true(x: Fraction = Q[0:5]):
    return at_most(float(x), 5.0)

@claim("mine/float", evaluations=20)
def in_floats(x: Fraction = Q[0:5]):
    return at_most(float(x), 1.0)
"""
WORDS = {
    "mine/two": "violated",
    "mine/alone": "violated",
    "mine/true": "consistent",
    "mine/float": "violated",
}
RECORDED = {**WORDS, "mine/two#good": "certified", "mine/two#bad": "violated"}
"""What a record may be shown to say."""
Stored = dict[str, Any]


def words(printed: str) -> dict[str, str]:
    """The word of each claim."""
    return dict(
        re.findall(
            r"(?m)^(\S+/\S+)  (certified|consistent|violated|vacuous|inconclusive|ill-posed)  ", printed
        )
    )


@pytest.mark.parametrize(
    ("names", "possible"),
    [
        pytest.param(
            ("memo", "leaked_facts", "thin_branch"),
            {
                "memo/product": {
                    "consistent",
                    "violated",
                },  # 36 > 6 at n = k = 6, if it is the first k with n = 6
                "seven/vacuous": {"consistent", "inconclusive"},  # one instance of 2^31 meets the hypothesis
                "seven/honest": {"consistent", "inconclusive"},
                "mine/rare-line": {"consistent", "inconclusive", "violated"},
                "mine/rare-line-x": {"consistent", "inconclusive", "violated"},
            },
            marks=pytest.mark.slow(reason="three files, each in a process"),
        ),
        (("patched",), {"patched/false": {"consistent", "inconclusive", "violated"}}),
    ],
    ids=["files", "patched"],
)
def test_no_word_of_a_check_is_false(
    names: tuple[str, ...], possible: dict[str, set[str]], tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / f"{name}.py").write_text((CASES / f"{name}.txt").read_text())
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = command("check", *(f"{name}.py" for name in names), cwd=tmp_path, env=home, timeout=600)
    found = words(done.stdout)
    assert {*found} <= {*possible}, done.stderr
    assert found, done.stderr
    for claim, word in found.items():
        assert word in possible[claim], done.stdout


CHANNELS = ["channel_of_a_verdict", "channel_of_bytes", "channel_of_brackets", "channel_that_is_closed"]


@pytest.mark.parametrize(
    "name",
    slow_after(1, "starts processes", CHANNELS),
)
def test_what_a_file_writes_into_the_channel_is_told_in_a_sentence(name: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text((CASES / f"{name}.txt").read_text())
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = command("check", "mine.py", cwd=tmp_path, env=home, timeout=600)
    assert done.returncode == 2
    assert not words(done.stdout)
    (said,) = done.stderr.splitlines()
    assert said.startswith("error: file is ")


THREAD = """
import threading
import time

from clusterproof.theorem import Z, at_most, claim

threading.Thread(target=time.sleep, args=(1000,)).start()


@claim("threads/one")
def one(n: int = Z[1:3]):
    return at_most(n, 3)
"""


@pytest.mark.slow(reason="waits")
def test_a_thread_of_the_file_does_not_keep_the_command(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(THREAD)
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = command("check", "mine.py", cwd=tmp_path, env=home, timeout=600)
    assert words(done.stdout) == {"threads/one": "certified"}


@pytest.mark.slow(reason="starts processes")
def test_lines_that_are_printed_alike_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text((CASES / "lines_alike.txt").read_text())
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = command("check", "mine.py", cwd=tmp_path, env=home, timeout=600)
    assert done.returncode
    assert not words(done.stdout)
    assert "eight/line-and-step" in done.stderr
    assert "eight/two-steps" in done.stderr


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a check of the file writes."""
    folder = tmp_path_factory.mktemp("mine")
    (folder / "mine.py").write_text(FILE)
    with patch.dict(REGISTRY, clear=True), patch("os.cpu_count", lambda: 1):
        assert main(["check", str(folder / "mine.py"), "--evidence", str(folder / "evidence")]) == 0
    return (folder / "evidence" / "mine.json").read_text()


@pytest.fixture
def folder(stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("mine.py").write_text(FILE)
    with patch.dict(REGISTRY, clear=True), patch("os.cpu_count", lambda: 1):
        yield tmp_path


def verdict(content: Stored, claim: str) -> Stored:
    (found,) = (each for each in content["verdicts"] if each["claim"] == claim)
    return found


def line(content: Stored, name: str) -> Stored:
    (found,) = (each for each in verdict(content, "mine/two")["lines"] if each["name"] == name)
    return found


def leave_out_a_line(content: Stored) -> None:
    verdict(content, "mine/two")["lines"].remove(line(content, "bad"))
    content["evidence"] = [each for each in content["evidence"] if each["line"] != "bad"]


def repeat_a_line(content: Stored) -> None:
    verdict(content, "mine/two")["lines"] = [line(content, "good")] * 2


def give_a_line_a_role(content: Stored) -> None:
    forged = {"name": "bad", "verdict": "consistent", "reason": "x", "role": "x"}
    lines = verdict(content, "mine/two")["lines"]
    lines[lines.index(line(content, "bad"))] = forged


def leave_out_its_evidence(content: Stored) -> None:
    forged = {"name": "bad", "verdict": "consistent", "reason": "x"}
    lines = verdict(content, "mine/two")["lines"]
    lines[lines.index(line(content, "bad"))] = forged
    content["evidence"] = [each for each in content["evidence"] if each["line"] != "bad"]


def call_it_outside(content: Stored) -> None:
    leave_out_its_evidence(content)
    line(content, "bad")["outside"] = "random numbers"


def refute_the_true_one(content: Stored) -> None:
    forged = {
        "name": "",
        "verdict": "violated",
        "reason": "x",
        "basis": "numerical",
        "counterexample": {"x": 2},
    }
    verdict(content, "mine/true")["lines"] = [forged]


def hide_the_false_one(content: Stored) -> None:
    verdict(content, "mine/float")["lines"] = [{"name": "", "verdict": "ill-posed", "reason": "x"}]


def negative_states(content: Stored) -> None:
    (record,) = (each for each in content["evidence"] if each["claim"] == "mine/alone")
    del record["instance"]
    record |= {"rule": "induction", "states": -1, "blocks": [], "witness": {"x": 0}}
    forged = {"name": "", "verdict": "certified", "reason": "x", "proof": "induction"}
    verdict(content, "mine/alone")["lines"] = [forged]


FORGED = [
    leave_out_a_line,
    repeat_a_line,
    give_a_line_a_role,
    leave_out_its_evidence,
    call_it_outside,
    refute_the_true_one,
    hide_the_false_one,
    negative_states,
]


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
def test_no_forged_record_is_believed(
    folder: Path, stored: str, forge: Callable[[Stored], None], capsys: pytest.CaptureFixture[str]
) -> None:
    content = json.loads(stored)
    forge(content)
    assert content != json.loads(stored)
    Path("evidence").mkdir()
    Path("evidence/mine.json").write_text(json.dumps(content))
    for more in ((), ("--replay",)):
        main(["check", "mine.py", *more, "--evidence", "evidence"])
        said = words(capsys.readouterr().out)
        assert said.items() <= RECORDED.items() if more else said == WORDS


@pytest.mark.parametrize("lines", [5, ["a", 3, None], [{}], [{"name": 1, "verdict": [], "reason": ""}]])
def test_lines_of_a_verdict_that_are_none_are_told_in_a_sentence(
    folder: Path, stored: str, lines: object, capsys: pytest.CaptureFixture[str]
) -> None:
    content = json.loads(stored)
    verdict(content, "mine/two")["lines"] = lines
    Path("evidence").mkdir()
    Path("evidence/mine.json").write_text(json.dumps(content))
    assert main(["check", "mine.py", "--replay", "--evidence", "evidence"]) == 2
    assert capsys.readouterr().err.startswith("error: --evidence is ")


PAINTED = """
from rich.text import Text
from clusterproof.checker.kernel import verdicts
from clusterproof.checker.report import tables
from clusterproof.theorem import Z, at_most, claim

tables.sentence = lambda *values: Text("mine/one  certified  it holds")

@claim("mine/one")
def one(n: int = Z[0:9]):
    '''It is at most 3.'''
    return at_most(n, 3)
"""


@pytest.mark.slow(reason="starts processes")
def test_the_process_that_has_not_run_the_file_prints_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PAINTED)
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = command("show", "mine.py", cwd=tmp_path, env=home)
    assert words(done.stdout) == {"mine/one": "violated"}, done.stderr
    assert "It is at most 3." in done.stdout
    assert command("show", "mine.py", "--no-check", cwd=tmp_path, env=home).stdout.startswith("mine/one: one")


@pytest.mark.parametrize(
    ("name", "said"),
    [("another_library", "is not set again"), ("deep_recursion", "recursion depth exceeded")],
)
def test_what_a_file_breaks_is_told_in_a_sentence(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text((CASES / f"{name}.txt").read_text())
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = command("check", "mine.py", cwd=tmp_path, env=home)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert words(done.stdout) == {}
