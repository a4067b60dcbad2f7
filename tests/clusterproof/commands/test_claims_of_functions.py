"""The commands about claims on every function of a class: ``certify``, ``verify``, ``show`` and ``check``."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from clusterproof.commands import child_process
from clusterproof.commands.application import main
from clusterproof.theory import REGISTRY


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Forget the claims of a test's file."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


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


def write(folder: Path, constant: int) -> Path:
    path = folder / f"descent_{constant}.py"
    path.write_text(SOURCE.replace("CONSTANT", str(constant)))
    return path


def test_a_certificate_of_a_claim_is_written_and_verified_and_a_forged_one_is_not(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, out = write(tmp_path, 4), tmp_path / "descent.json"
    assert main(["certify", str(path), "--out", str(out)]) == 0
    assert "proved by the kernel: of-functions/descent-4" in capsys.readouterr().out
    path.unlink()  # the certificate holds the file
    assert main(["verify", str(out)]) == 0
    assert capsys.readouterr().out.startswith(
        "valid: every condition holds in exact arithmetic\nproved by the kernel: of-functions/descent-4"
    )
    content = json.loads(out.read_text())
    content["source"] = content["source"].replace("4 * rounds", "5 * rounds")
    out.write_text(json.dumps(content))
    assert main(["verify", str(out)]) == 1
    assert capsys.readouterr().out.startswith("invalid: of-functions/descent-4: the evidence is of another")


def test_a_bound_that_is_exceeded_has_no_certificate(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "descent.json"
    assert main(["certify", str(write(tmp_path, 5)), "--out", str(out)]) == 1
    assert "no certificate found: violated: at f = a function on R^" in capsys.readouterr().out
    assert not out.exists()


def test_a_claim_that_is_not_about_functions_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "cfl-mgd/lemma-2"]) == 2
    assert "must be about every function of a class" in capsys.readouterr().err


def test_show_prints_the_points_that_a_reader_checks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, report = write(tmp_path, 8), tmp_path / "report.json"
    assert main(["check", str(path), "--json", str(report)]) == 0
    (record,) = json.loads(report.read_text())["claims"]
    capsys.readouterr()
    assert main(["show", "of-functions/descent-8", str(path)]) == 0
    page = capsys.readouterr().out
    function = record["counterexample"]["f"]
    for x, g, _ in function["triplets"][0]:
        assert f"at ({', '.join(map(str, x))}): gradient ({', '.join(map(str, g))})" in page
    start, rounds = [Fraction(each) for each in function["start"]], record["counterexample"]["rounds"]
    allowed = sum(each**2 for each in start) / (8 * rounds + 2)
    assert f"> {allowed} (bound)" in page
    folder = str(tmp_path / "evidence")
    words = f"check of-functions/descent-8 {path}"
    assert (
        f"    clusterproof {words} --evidence FOLDER\n    clusterproof {words} --replay --evidence FOLDER"
        in page
    )
    assert main([*words.split(), "--evidence", folder]) == 0
    capsys.readouterr()
    assert main([*words.split(), "--replay", "--evidence", folder]) == 0
    assert "of-functions/descent-8  violated  instance" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        *["--momentum 1/2", "--condition 4", "--proportion 1", "--step-size 1", "--rate 0.9"],
        *["--class smooth", "--disturbance", "--algorithm fedavg", "--smoothness 1", "--local-steps 2"],
    ],
)
def test_options_of_other_certificates_are_refused_beside_a_claim(
    capsys: pytest.CaptureFixture[str], words: str
) -> None:
    assert main(["certify", "proxskip/every-loss", *words.split()]) == 2
    message = capsys.readouterr().err
    assert f"{words.split()[0]} " in message
    assert "is not of a claim" in message


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("end", ["import os; os._exit(0)", "raise SystemExit(0)"])
def test_a_file_that_ends_the_process_proves_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(child_process, "is_child", False)
    path, out = write(tmp_path, 4), tmp_path / "descent.json"
    assert main(["certify", str(path), "--out", str(out)]) == 0
    content = json.loads(out.read_text())
    content["source"] += f"\n{end}\n"
    out.write_text(json.dumps(content))
    capsys.readouterr()
    assert main(["verify", str(out)]) not in (0, None)
    assert "valid: every" not in capsys.readouterr().out
    path.write_text(path.read_text() + f"\n{end}\n")
    assert main(["certify", str(path)]) not in (0, None)


@pytest.mark.parametrize(
    "change", [{"multipliers": {"no condition": "1"}}, {"weights": []}, {"multipliers": {"1": "one"}}]
)
def test_numbers_that_do_not_fit_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, change: dict[str, object]
) -> None:
    out = tmp_path / "descent.json"
    assert main(["certify", str(write(tmp_path, 4)), "--out", str(out)]) == 0
    content = json.loads(out.read_text())
    content["evidence"][0]["settings"][0]["paths"][0][0] |= change
    out.write_text(json.dumps(content))
    capsys.readouterr()
    assert main(["verify", str(out)]) == 1
    assert capsys.readouterr().out.startswith("invalid: ")
