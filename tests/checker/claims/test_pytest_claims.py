"""Claims as tests: what fails, what is skipped, and what is expected to fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from clusterproof import InvalidArgument
from clusterproof.theorem import parametrize_with_claims

CLAIMS = """
from fractions import Fraction
from typing import Annotated

from clusterproof.theorem import at_most, claim, rationals, suppose

Step = Annotated[Fraction, rationals(0, 2, 8)]


@claim("pytested/true")
def true(step: Step):
    return at_most(abs(1 - step), one=1)


@claim("pytested/false")
def false(step: Step):
    return at_most(abs(1 - step), half=Fraction(1, 2))


@claim("pytested/empty")
def empty(step: Step):
    suppose("step > 2", step > 2)
    return at_most(step, one=1)


@claim("pytested/few", evaluations=5)
def few(step: Step):
    return at_most(abs(float(step) - 1) * float(step), allowed=3.0)
"""
TESTS = """
from clusterproof.theorem import parametrize_with_claims


@parametrize_with_claims("paper_of_claims.py", expected_failures={"pytested/empty": "known to be vacuous"})
def test_claim(claim):
    claim()
"""


@pytest.mark.slow(reason="several seconds")
def test_a_claim_fails_holds_or_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "paper_of_claims.py").write_text(CLAIMS)
    (tmp_path / "test_paper.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", "--color=no"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed" in result.stdout, result.stdout + result.stderr
    assert "pytested/false is violated: at step = 0: 1 > 0.5" in result.stdout
    assert "pytested/few is inconclusive, which proves nothing: 5 different instances" in result.stdout


def test_a_wrong_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no-paper/no-claim"):
        parametrize_with_claims("no-paper/no-claim")
    with pytest.raises(InvalidArgument, match=r"missing\.py"):
        parametrize_with_claims(tmp_path / "missing.py")
    with pytest.raises(InvalidArgument, match="expected_failures"):
        parametrize_with_claims("cfl-mgd/lemma-2", expected_failures={"cfl-mgd/lemma-1": "why"})
