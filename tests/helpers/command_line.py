"""Helpers for tests of commands: processes, refusals and claims made for a test."""

import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clusterproof import theory
from clusterproof.commands.application import main
from clusterproof.theory import Finding, Kind
from clusterproof.theory.checker.claim import register

ROOT = Path(__file__).parents[2]


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
    assert errors.startswith("clusterproof: ")
    assert errors.count("\n") == 1
    assert "Traceback" not in errors
    assert len(errors) < 1000
    return errors


def without_progress(errors: str) -> list[str]:
    """Return the lines of standard error but the progress of tables, which depends on the clock."""
    return [line for line in errors.splitlines() if not re.match(r"clusterproof: \d+ of \d+ done, ", line)]


def compare_sides(
    replay: Callable[[dict[str, Any]], tuple[float, float]], example: dict[str, Any]
) -> Finding:
    """Judge a counterexample by its two sides."""
    measured, bound = replay(example)
    verdict, word = (Kind.VIOLATED, "exceeds") if measured > bound else (Kind.CONSISTENT, "is within")
    reason = f"replayed: {measured:.6g} {word} {bound:.6g}"
    return Finding(verdict=verdict, reason=reason, measured=measured, bound=bound, counterexample=example)


def make_claim(name: str, verdict: Kind = Kind.CONSISTENT, **options: Any) -> None:
    """Register a claim with a given verdict, or whose check raises ``outcome``; ``replay`` computes the two sides."""
    outcome = options.pop("outcome", None)
    if "replay" in options:
        options["reexamine"] = functools.partial(compare_sides, options.pop("replay"))
    finding = {"measured": 0.5, "bound": 1.0, "slack": 2.0, "trials": 7, "failures": 0} | options.pop(
        "finding", {}
    )

    def check(context: theory.Context) -> Finding:
        if outcome is not None:
            raise outcome
        return Finding(verdict=verdict, reason=f"x is {context.generator().random()}", **finding)

    card = "Claim of a test.\n\nStatement: x is below one."
    register(name, check, card, module=__name__, label="Lemma 7", kind="upper", **options)
