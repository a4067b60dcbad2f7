"""The commands ``certify`` and ``verify``: what they print, write and return."""

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import clarabel
import pytest
from command_line import refused

from clusterproof.checker import REGISTRY
from clusterproof.commands.application import main

Capture = pytest.CaptureFixture[str]
DESCENT = ["certify", "--momentum", "0", "--condition", "4", "--proportion", "1/3"]
SOURCE = '''
from typing import Annotated
from clusterproof.theorem import Function, at_most, choice, claim, functions

@claim("of-functions/descent-CONSTANT")
def descent(f: Annotated[Function, functions(smoothness=1)], rounds: Annotated[int, choice(1, 2)]):
    """Gradient descent ends at a share of the squared distance."""
    x = f.start
    for _ in range(rounds):
        x = x - f.gradient(x)
    return at_most(f(x) - f.minimum, bound=f.distance**2 / (CONSTANT * rounds + 2))
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    for constant in (4, 5, 8):
        Path(f"descent_{constant}.py").write_text(SOURCE.replace("CONSTANT", str(constant)))
    with patch.dict(REGISTRY):
        yield


@pytest.mark.parametrize(("kind", "slack"), [("quadratic", Fraction(0)), ("smooth", Fraction(1, 10**6))])
def test_a_certificate_is_written_and_verified(capsys: Capture, kind: str, slack: Fraction) -> None:
    assert main([*DESCENT, "--class", kind, "--out", "c.json"]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert f"class {kind}\nrate 0.91666" in output
    assert "stored in c.json" in output
    source = json.loads(Path("c.json").read_text())["source"]
    rate = Fraction(*map(int, re.findall(r"^RATE = Fraction\((\d+), (\d+)\)", source, re.MULTILINE)[0]))
    assert 0 <= rate - Fraction(11, 12) <= max(slack, Fraction(1, 10**11))
    statement = source.split('"""')[1]
    assert "proportion 1/3" in statement
    assert statement in output
    assert main(["verify", "c.json"]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert output.startswith("valid: every condition holds in exact arithmetic\nproved by the kernel: ")
    assert statement in output


def test_options_reach_the_certificate(capsys: Capture) -> None:
    words = "certify --momentum=0.3 --condition-number 10 --proportion 0.5 --step-size 3/2 --class smooth --out c.json"
    assert main(words.split()) == 0
    source = json.loads(Path("c.json").read_text())["source"]
    for text in ("MOMENTUM = Fraction(3, 10)", "STEP = Fraction(3, 4)", "strong_convexity=Fraction(1, 10)"):
        assert text in source
    capsys.readouterr()
    assert main([*DESCENT, "--class", "smooth", "--rate", "0.95"]) == 0
    assert "\nrate 0.95 of the distance per round\n" in capsys.readouterr().out
    words = "certify --algorithm fedavg --smoothness 2 --strong-convexity 0.5 --local-steps 2 --step-size 1/4"
    assert main([*words.split(), "--server-step-size", "1/2", "--sampling", "1/9"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("class strong\n")  # as the leaderboard's
    for text in ("L = 2, mu = 1/2", "2 local steps of size 1/4, server step size 1/2", "= 1/9) gives"):
        assert text in output


def test_no_certificate_is_status_one_and_no_file(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = "certify --momentum 0.9 --condition 4 --proportion 1 --class smooth --out c.json"
    assert main(fast.split()) == 1
    assert capsys.readouterr().out.startswith("no certificate found: ")
    assert main([*DESCENT, "--step-size", "7", "--class", "quadratic", "--out", "c.json"]) == 1
    assert "does not converge" in capsys.readouterr().out
    assert main(["certify", "descent_5.py", "--out", "c.json"]) == 1
    assert "no certificate found: violated: at f = a function on R^" in capsys.readouterr().out

    class Panic(BaseException):
        pass

    def solver(*_: object) -> None:
        raise Panic

    monkeypatch.setattr(clarabel, "DefaultSolver", solver)
    assert main([*DESCENT, "--class", "smooth", "--out", "c.json"]) == 1
    output, errors = capsys.readouterr()
    assert output.startswith("no certificate found: ")
    assert errors == ""
    assert not Path("c.json").exists()


def test_a_certificate_of_a_claim_is_verified_and_an_altered_one_is_not(capsys: Capture) -> None:
    assert main(["certify", "descent_4.py", "--out", "c.json"]) == 0
    assert "proved by the kernel: of-functions/descent-4" in capsys.readouterr().out
    Path("descent_4.py").unlink()  # the certificate holds the file
    assert main(["verify", "c.json"]) == 0
    assert "proved by the kernel: of-functions/descent-4" in capsys.readouterr().out
    stored = Path("c.json").read_text()
    changed = [stored.replace("4 * rounds", "5 * rounds")]
    for change in ({"multipliers": {"no condition": "1"}}, {"weights": []}, {"multipliers": {"1": "one"}}):
        content = json.loads(stored)
        content["evidence"][0]["settings"][0]["paths"][0][0] |= change
        changed.append(json.dumps(content))
    for text in changed:
        Path("c.json").write_text(text)
        assert main(["verify", "c.json"]) == 1
        assert capsys.readouterr().out.startswith("invalid: ")
    Path("c.json").write_text("{}")
    refused(capsys, "verify", "c.json")


def test_show_prints_the_points_that_a_reader_checks(capsys: Capture) -> None:
    assert main(["check", "descent_8.py", "--json", "report.json"]) == 0
    (record,) = json.loads(Path("report.json").read_text())["claims"]
    capsys.readouterr()
    words = "check of-functions/descent-8 descent_8.py"
    assert main(["show", *words.split()[1:]]) == 0
    page = capsys.readouterr().out
    function, rounds = record["counterexample"]["f"], record["counterexample"]["rounds"]
    for x, g, _ in function["triplets"][0]:
        assert f"at ({', '.join(map(str, x))}): gradient ({', '.join(map(str, g))})" in page
    allowed = sum(Fraction(each) ** 2 for each in function["start"]) / (8 * rounds + 2)
    assert f"> {allowed} (bound)" in page
    for more in ("--evidence FOLDER", "--replay --evidence FOLDER"):
        assert f"    clusterproof {words} {more}\n" in page
        assert main([*words.split(), *more.split()]) == 0
    assert "of-functions/descent-8  violated  instance" in capsys.readouterr().out
