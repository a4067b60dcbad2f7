"""Conformance tests for pytest: one comparison with a definition is divided into one test per probe and check."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clusterproof.common.validation import check_name
from clusterproof.conformance.judge import check_names, conform
from clusterproof.conformance.observation import Start
from clusterproof.conformance.page import cause
from clusterproof.conformance.report import Report
from clusterproof.conformance.settings import find_definition


@dataclass(frozen=True, eq=False)
class ConformanceCheck:
    """One probe or check as a callable test.

    Attributes
    ----------
    algorithm, name
        Names of the definition and of the probe or check; together they form the test's id.
    """

    algorithm: str
    name: str
    report: Callable[[], Report]

    def __str__(self) -> str:
        """Return the id."""
        return f"{self.algorithm}-{self.name}"

    def __call__(self) -> None:
        """Raise ``AssertionError`` with the result and the likely cause if the check failed.

        Skip the test if it was skipped.
        """
        report = self.report()
        if report.verdict in ("unusable", "inconclusive"):
            raise AssertionError(str(report))
        (check,) = (one for one in report.checks if one.name == self.name)
        if check.outcome == "skipped":
            import pytest

            pytest.skip(check.sentence)
        if check.outcome == "failed":
            raise AssertionError("\n  ".join([f"{check.name}: {check.sentence}", *cause(report)]))


def checks(start: Start, algorithm: str, **options: Any) -> list[ConformanceCheck]:
    """Return one callable test per probe and check; the options are the same as for ``conform``.

    The first test that is called runs the implementation and diagnoses differences; all tests use these results.
    """
    definition = find_definition(algorithm)
    report = functools.cache(lambda: conform(start, algorithm, **options))
    names = options.get("checks") or check_names(definition)
    return [ConformanceCheck(algorithm, name, report) for name in names]


def parametrize_with_checks(
    start: Start, algorithm: str, *, expected_failures: Mapping[str, str] | None = None, **options: Any
) -> Any:
    """Return a pytest mark that runs a test for each probe and check, which is the test's argument ``check``.

    Parameters
    ----------
    start, algorithm
        See ``conform``.
    expected_failures
        Checks that must fail (strict xfail): a mapping from the check's name to the reason.
    options
        The same options as for ``conform``.
    """
    import pytest

    parameters = []
    made = checks(start, algorithm, **options)
    for name in expected_failures or {}:
        check_name("expected_failures", name, [check.name for check in made])
    for check in made:
        reason = (expected_failures or {}).get(check.name)
        marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
        parameters.append(pytest.param(check, id=str(check), marks=marks))
    return pytest.mark.parametrize("check", parameters)
