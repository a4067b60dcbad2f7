"""The commands ``certify`` and ``verify``: what they print, write and return."""

import json
import re
import shlex
from fractions import Fraction
from pathlib import Path

import clarabel
import pytest

from clusterproof.commands.application import main

GRADIENT_DESCENT = ["certify", "--momentum", "0", "--condition", "4", "--proportion", "1/3"]


@pytest.mark.parametrize(
    ("function_class", "slack"), [("quadratic", Fraction(0)), ("smooth", Fraction(1, 10**6))]
)
def test_a_certificate_is_written_and_verified(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, function_class: str, slack: Fraction
) -> None:
    path = tmp_path / "c.json"
    assert main([*GRADIENT_DESCENT, "--class", function_class, "--out", str(path)]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert f"class {function_class}\nrate 0.91666" in output
    assert f"stored in {path}" in output
    source = json.loads(path.read_text())["source"]
    rate = Fraction(*map(int, re.findall(r"^RATE = Fraction\((\d+), (\d+)\)", source, re.MULTILINE)[0]))
    assert 0 <= rate - Fraction(11, 12) <= max(slack, Fraction(1, 10**11))
    statement = source.split('"""')[1]
    assert "proportion 1/3" in statement
    assert statement in output
    assert main(["verify", str(path)]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert output.startswith("valid: every condition holds in exact arithmetic\nproved by the kernel: ")
    assert statement in output


def test_options_reach_the_certificate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    options = ["--momentum=0.3", "--condition-number", "10", "--proportion", "0.5", "--step-size", "3/2"]
    assert main(["certify", *options, "--class", "smooth", "--disturbance", "--out", str(path)]) == 0
    source = json.loads(path.read_text())["source"]
    for text in ("MOMENTUM = Fraction(3, 10)", "STEP = Fraction(3, 4)", "strong_convexity=Fraction(1, 10)"):
        assert text in source
    assert "DISTURBANCE = " in source
    assert "disturbance" in capsys.readouterr().out


def test_no_certificate_is_status_one_and_no_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.json"
    fast = ["certify", "--momentum", "0.9", "--condition", "4", "--proportion", "1", "--class", "smooth"]
    assert main([*fast, "--out", str(path)]) == 1
    assert capsys.readouterr().out.startswith("no certificate found: ")
    far = [*GRADIENT_DESCENT, "--step-size", "7", "--class", "quadratic", "--out", str(path)]
    assert main(far) == 1
    assert "does not converge" in capsys.readouterr().out

    class Panic(BaseException):
        pass

    def solve(*arguments: object, **options: object) -> None:
        raise Panic

    monkeypatch.setattr(clarabel, "DefaultSolver", solve)
    assert main([*GRADIENT_DESCENT, "--class", "smooth", "--out", str(path)]) == 1
    output, errors = capsys.readouterr()
    assert output.startswith("no certificate found: ")
    assert errors == ""
    assert list(tmp_path.iterdir()) == []


def test_a_given_rate_is_proved(capsys: pytest.CaptureFixture[str]) -> None:
    tuned = shlex.split("certify --momentum 0.81 --condition 100 --proportion 1 --class quadratic")
    rounds = []
    for more in ([], ["--rate", "0.92"]):
        assert main([*tuned, *more]) == 0
        words = re.findall(r"below the initial distance from round (\d+) on", capsys.readouterr().out)
        rounds += map(int, words)
    assert rounds[0] > 100 > 20 > rounds[1]
    assert main([*tuned, "--rate", "0.5"]) == 1
    assert "no certificate found: the rate is not above" in capsys.readouterr().out


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "open('taken', 'w')",
        "claim.__globals__",
        "STEP = choice(*map(print, [1]))",
        "def f(x=exec('1')): pass",
        "LOW = lambda: eval('1')",
    ],
)
def test_a_source_that_does_more_than_state_claims_is_not_executed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*GRADIENT_DESCENT, "--class", "smooth", "--out", "c.json"]) == 0
    document = json.loads(Path("c.json").read_text())
    Path("c.json").write_text(json.dumps(document | {"source": f"{document['source']}\n{line}\n"}))
    assert main(["verify", "c.json"]) == 1
    assert "must only state claims" in capsys.readouterr().out
    assert not Path("taken").exists()
