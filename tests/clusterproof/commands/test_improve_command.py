"""``improve``: what is printed and written, by verdicts of processes of their own."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

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
