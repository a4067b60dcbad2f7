"""What tests read off a page of a run, and runs that are called those of other settings."""

from dataclasses import replace
from typing import Any

from clusterproof.running import Trace
from clusterproof.theory.runs.page import Page, TheoremOnRun


def entries(page: Page) -> dict[str, str]:
    """Return the words beside each label, unwrapped."""
    return {one.label: " ".join(one.lines) for _, shown in page.sections for one in shown}


def outcomes(page: Page) -> dict[str, str]:
    """Return the outcome of each claim."""
    return {one.claim: one.outcome for one in page.theorems}


def row_of(page: Page, claim: str) -> TheoremOnRun:
    """Return the row of a claim."""
    (found,) = (one for one in page.theorems if one.claim == claim)
    return found


def called(trace: Trace, task: Any = None, **settings: Any) -> Trace:
    """Return the trace as if it were a run on this task, with these settings of the algorithm."""
    given = trace.settings if task is None else {**trace.settings, "task": task.settings}
    named = {name: {**given[name], **settings} for name in ("algorithm", "dynamics") if name in given}
    return replace(trace, settings={**given, **named})
