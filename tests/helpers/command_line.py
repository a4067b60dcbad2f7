"""Helpers for tests of commands: processes, refusals and claims made for a test."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest

from clusterproof.checker import Kind
from clusterproof.checker.claims import Sides, at_most, claim, integers, suppose
from clusterproof.checker.report.verdict import FALSE
from clusterproof.commands.application import main
from clusterproof.files import ARRAYS

ROOT = Path(__file__).parents[2]
Digit = Annotated[int, integers(0, 9)]


def command(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "clusterproof", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        **{"cwd": ROOT, **options},
    )


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run in this process, require exit status 2 and one line on standard error; return the line."""
    capsys.readouterr()
    status = main(arguments)
    output, errors = capsys.readouterr()
    assert status == 2, (arguments, output, errors)
    assert output == ""
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert "Traceback" not in errors
    assert len(errors) < 1000
    return errors


def contents(folder: Path) -> dict[str, bytes | str | None]:
    """Every path below a folder: where a link leads, the bytes of a file; without what Python caches of modules."""
    return {
        str(path): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file() and path.stat().st_size < ARRAYS
        else None
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts
    }


def make_claim(
    name: str, verdict: Kind = Kind.CERTIFIED, outcome: Exception | None = None, **options: Any
) -> None:
    """State a claim on digits that gets a verdict, certified, violated, vacuous or ill-posed, or raises ``outcome``."""

    largest, possible = 6 if verdict in FALSE else 9, verdict is not Kind.VACUOUS

    def stated(digit: Digit) -> Sides:
        """A digit is at most nine, or less in claims that are to be false."""
        if outcome is not None:
            raise outcome
        suppose("it is no digit", possible)
        return at_most(digit, most=largest)

    stated.__qualname__ = name
    claim(name, **{"label": "Lemma 7", "ill_posed": verdict is Kind.ILL_POSED} | options)(stated)
