"""Run checks of claims as pytest tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clusterproof.checker.claims.claim import matching
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.freeze.load import load_claims
from clusterproof.checker.report.decide import check
from clusterproof.checker.report.verdict import FLOATS, HOLDS
from clusterproof.common import InvalidArgument


def parametrize_with_claims(
    *sources: str | Path, seed: int = 0, expected_failures: Mapping[str, str] | None = None
) -> Any:
    """Return a pytest mark that runs a test once for each claim; the test must have an argument named ``claim``.

    ``claim()`` checks the claim. If the claim is violated, vacuous or ill-posed, the test fails. If the claim is
    inconclusive, the test is skipped, and pytest shows the reason.

    Parameters
    ----------
    sources
        Python files that state claims, ids of claims, or patterns of ids. The files are executed.
    seed
        Seed of the checks.
    expected_failures
        Dictionary from ids to reasons, for all claims that are expected to fail (strict xfail).

    Raises
    ------
    InvalidArgument
        If a file cannot be imported or states no claim, or an id is unknown.

    Examples
    --------
    In a test file beside ``my_paper.py``::

        @parametrize_with_claims("my_paper.py")
        def test_claim(claim):
            claim()
    """
    import pytest

    ids = []
    for source in sources:
        is_file = isinstance(source, Path) or source.endswith(".py")
        ids += load_claims(source) if is_file else [each.id for each in matching(str(source))]
    expected = expected_failures or {}
    for name in expected:
        if name not in ids:
            rule = f"must be one of the claims {', '.join(ids)}"
            raise InvalidArgument("expected_failures", name, rule, "copy the id from `clusterproof claims`")
    parameters = []
    for name in dict.fromkeys(ids):
        marks = [pytest.mark.xfail(reason=expected[name], strict=True)] if name in expected else []
        parameters.append(pytest.param(_test_of(name, seed), id=name, marks=marks))
    return pytest.mark.parametrize("claim", parameters)


def _test_of(name: str, seed: int) -> Any:
    """Return a function that checks a claim, and fails or skips the test."""

    def evaluate() -> None:
        import pytest

        verdict = check(name, seed=seed)
        if verdict.verdict is Kind.INCONCLUSIVE or verdict.word == FLOATS:
            pytest.skip(f"{name} is {verdict.word}, which proves nothing: {verdict.reason}")
        if verdict.verdict not in HOLDS:
            pytest.fail(f"{name} is {verdict.verdict}: {verdict.reason}", pytrace=False)

    return evaluate
