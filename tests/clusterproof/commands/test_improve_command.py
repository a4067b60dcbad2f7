"""The command ``improve``: of a claim, and of the rate of a built-in method."""

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import clarabel
import pytest
from command_line import refused
from tiers import slow_after

from clusterproof.checker.export import coqc
from clusterproof.checker.report.improvement import Checked
from clusterproof.commands import improve
from clusterproof.commands.application import main

pytestmark = pytest.mark.usefixtures("registry")
FILE = '''"""A claim."""

from fractions import Fraction

from clusterproof.theorem import Q, Sides, at_most, claim

GAIN = Fraction(1, 4)


@claim("toy/one")
def one(x: Fraction = Q[0:1:4]) -> Sides:
    """A claim."""
    return at_most(x, start=2 * x, floor=GAIN * x)
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "toy.py"
    path.write_text(FILE, encoding="utf-8")
    return path


def by(best: Fraction) -> Callable[..., Checked]:
    def checked(*given: object) -> Checked:
        value = given[4]
        assert isinstance(value, Fraction)
        return Checked(value, "certified" if value >= best else "violated", "why")

    return checked


def test_the_best_number_is_printed_and_written(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(improve, "_checked", by(Fraction(3, 8)))
    out = file.with_name("out.json")
    assert main(["improve", str(file), "--of", "start", "--json", str(out)]) == 0
    facts = json.loads(out.read_text())
    assert Fraction(facts["violated"]["value"]) < Fraction(3, 8) <= Fraction(facts["certified"]["value"])
    assert (facts["claim"], facts["of"], facts["own"]) == ("toy/one", "start", "1")
    printed = capsys.readouterr().out
    assert f"{facts['certified']['value']} times what the claim states of start is certified" in printed
    assert main(["improve", str(file), "--of", "GAIN"]) == 0
    assert "for GAIN is certified" in capsys.readouterr().out


@pytest.mark.parametrize("verdict", ["certified", "consistent"])
def test_a_formula_is_printed_only_if_it_is_certified(
    verdict: str, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(improve, "_checked", by(Fraction(3, 8)))
    monkeypatch.setattr(improve, "best_factor", lambda *_, least: "x / 2" if least else "wrong")
    monkeypatch.setattr(improve, "_record", lambda *_: {"verdict": verdict, "basis": None})
    out = file.with_name("out.json")
    assert main(["improve", str(file), "--of", "start", "--json", str(out)]) == 0
    assert ("x / 2 times" in capsys.readouterr().out) == (verdict == "certified")
    assert json.loads(out.read_text())["formula"] == ("x / 2" if verdict == "certified" else None)


def test_nothing_certified_is_status_1(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(improve, "_checked", by(Fraction(1000)))
    assert main(["improve", str(file)]) == 1


def test_a_number_is_checked_in_a_process_of_its_own(file: Path) -> None:
    half = improve._checked(file, FILE, "toy/one", "start", Fraction(1, 2), None)
    assert (half.value, half.verdict) == (Fraction(1, 2), "certified")
    assert file.read_text(encoding="utf-8") != FILE  # the copy in the temporary folder


@pytest.mark.slow(reason="a process of its own")
def test_a_check_that_fails_is_said(file: Path) -> None:
    broken = FILE.replace("2 * x", "nothing * x")
    found = improve._checked(file, broken, "toy/one", "floor", Fraction(1, 2), None)
    assert found.verdict not in ("certified", "violated")
    assert found.reason


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "must be one claim"),
        (["toy/none"], "must be the id of a claim"),
        (["FILE", "--of", "drift"], "neither a term of a bound"),
        (["toy/two", "FILE"], "not stated in this file"),
        (["missing.py"], "must be a file that exists"),
    ],
)
def test_bad_input_is_refused(
    arguments: list[str], said: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["improve", *(str(file) if each == "FILE" else each for each in arguments)]) == 2
    assert said in capsys.readouterr().err


Capture = pytest.CaptureFixture[str]
DESCENT = [
    "improve",
    "--algorithm",
    "cfl-mgd",
    "--momentum",
    "0",
    "--condition",
    "4",
    "--proportion",
    "1/3",
    "--class",
]
ROUND = [
    "improve",
    "--algorithm",
    "fedavg",
    "--smoothness",
    "2",
    "--strong-convexity",
    "0.5",
    "--local-steps",
    "2",
    "--step-size",
    "1/4",
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "claims"),
    slow_after(
        1,
        "searches a rate",
        [
            (ROUND, ["rate/round"]),
            ([*DESCENT, "quadratic"], ["rate/contraction", "rate/distance", "rate/start"]),
            ([*DESCENT, "smooth"], ["rate/contraction", "rate/distance", "rate/start"]),
        ],
    ),
)
def test_what_is_written_is_replayed_checked_and_exported(
    words: list[str], claims: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coqc, "NEEDED", ("a-program-that-nobody-has",))  # Rocq takes its time
    assert main([*words, "--evidence", "kept"]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert f"Certified by the kernel: {', '.join(claims)}." in output
    source = Path("kept/rate.py").read_text()
    assert source.splitlines()[0].strip('"') in " ".join(output.split())  # the sentence that is proved
    assert main(["check", "kept/rate.py", "--evidence", "kept", "--replay"]) == 0
    replayed = capsys.readouterr().out
    assert all(f"{claim}" in replayed for claim in claims)
    assert "only searched" not in replayed
    assert "without evidence" not in replayed
    assert main(["check", "kept/rate.py", "--evidence", "kept", "--fail-on", "consistent,inconclusive"]) == 0
    assert "searched again" not in capsys.readouterr().out
    assert main(["export", "kept/rate.py", "--evidence", "kept", "--out", "exported"]) == 0
    assert "not in it" not in capsys.readouterr().out
    assert Path("exported/replay.py").exists()


@pytest.mark.parametrize(("kind", "slack"), [("quadratic", Fraction(0)), ("smooth", Fraction(1, 10**6))])
def test_the_rate_of_descent_is_the_known_one(kind: str, slack: Fraction, capsys: Capture) -> None:
    """1 - a mu / L = 11/12, which the quadratic of curvature mu attains."""
    assert main([*DESCENT, kind]) == 0
    output = " ".join(capsys.readouterr().out.split())
    rate = Fraction(re.findall(r"\((\d+/\d+)\)\^t", output)[0])
    assert 0 <= rate - Fraction(11, 12) <= max(slack, Fraction(1, 10**11))
    assert output.startswith("rate 0.91666")
    assert "proportion 1/3" in output


def test_options_reach_the_claims(capsys: Capture) -> None:
    words = (
        "improve --algorithm cfl-mgd --momentum=0.3 --condition-number 10 --proportion 0.5 --step-size 3/2"
    )
    assert main([*words.split(), "--class", "smooth", "--evidence", "kept"]) == 0
    source = Path("kept/rate.py").read_text()
    for text in ("momentum=Fraction(3, 10)", "step=Fraction(3, 4)", "strong_convexity=Fraction(1, 10)"):
        assert text in source
    capsys.readouterr()
    assert main([*DESCENT, "smooth", "--rate", "0.95"]) == 0
    assert capsys.readouterr().out.startswith("rate 0.95 of the distance per round\n")
    assert main([*ROUND, "--server-step-size", "1/2", "--sampling", "1/9"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    for text in ("L = 2, mu = 1/2", "2 local steps of size 1/4, server step size 1/2", "= 1/9) gives"):
        assert text in output


def test_no_rate_is_status_one_and_no_file(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = "improve --algorithm cfl-mgd --momentum 0.9 --condition 4 --proportion 1 --class smooth"
    assert main([*fast.split(), "--evidence", "kept"]) == 1
    assert capsys.readouterr().out.startswith("no rate found: ")
    assert main([*DESCENT, "quadratic", "--step-size", "7"]) == 1
    assert "does not converge" in capsys.readouterr().out

    class Panic(BaseException):
        pass

    def solver(*_: object) -> None:
        raise Panic

    monkeypatch.setattr(clarabel, "DefaultSolver", solver)
    assert main([*DESCENT, "smooth", "--evidence", "kept"]) == 1
    output, errors = capsys.readouterr()
    assert output.startswith("no rate found: ")
    assert errors == ""
    assert not list(Path("kept").iterdir())


def test_another_file_is_not_written_over_and_an_earlier_rate_is(capsys: Capture) -> None:
    Path("kept").mkdir()
    Path("kept/rate.py").write_text("precious = 1\n")
    assert "is a file that does not state a rate" in refused(capsys, *ROUND, "--evidence", "kept")
    assert Path("kept/rate.py").read_text() == "precious = 1\n"
    Path("kept/rate.py").unlink()
    for rate in ("0.9", "0.8"):
        assert main([*ROUND, "--rate", rate, "--evidence", "kept"]) == 0
        assert f"RATE = {Fraction(rate)!r}" in Path("kept/rate.py").read_text()
