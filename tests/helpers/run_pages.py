"""What tests read off a page of a run, and runs that are called those of other settings."""

from dataclasses import replace
from typing import Any, TypeVar

from clusterproof.running import Trace
from clusterproof.theory.pages.page import Page
from clusterproof.theory.pages.records import Outcome

Kind = TypeVar("Kind")


def outcomes(page: Page) -> dict[str, str]:
    """Return the outcome of each claim."""
    return {one.claim: one.outcome for one in page.theorems}


def row_of(page: Page, claim: str) -> Outcome:
    """Return what a claim says."""
    (found,) = (one for one in page.theorems if one.claim == claim)
    return found


def failing(page: Page, claim: str) -> tuple[str, Any, Any]:
    """Return the hypothesis of a claim that is not met: its name, what it asks for, and what is there."""
    row = row_of(page, claim)
    assert row.outcome == "does not apply"
    assert row.unmet is not None
    return row.unmet.name, row.unmet.required, row.unmet.actual


def result(page: Page, kind: type[Kind]) -> Kind:
    """Return the result of a kind."""
    (found,) = (one for one in page.facts.results if isinstance(one, kind))
    return found


def called(trace: Trace, task: Any = None, **settings: Any) -> Trace:
    """Return the trace as if it were a run on this task, with these settings of the algorithm."""
    given = trace.settings if task is None else {**trace.settings, "task": task.settings}
    named = {name: {**given[name], **settings} for name in ("algorithm", "dynamics") if name in given}
    return replace(trace, settings={**given, **named})
