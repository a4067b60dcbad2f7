"""A run beside the theorems about its algorithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.checker.claim import REGISTRY
from clusterproof.theory.checker.same_task import check_same_task
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.bounded import theorem_on_run
from clusterproof.theory.runs.clustered import clustered_page
from clusterproof.theory.runs.fusion import fusion_page
from clusterproof.theory.runs.page import Entry, Page, TheoremOnRun, entry


def compare(task: Mixture, trace: Trace, claims: Sequence[str] | None = None) -> Page:
    """Compare a run with the theorems about its algorithm.

    Parameters
    ----------
    task
        The task of the run.
    trace
        The run.
    claims
        Ids of further claims that bound runs, such as your own.

    Returns
    -------
    Page
        To print; ``.frame()`` is a table of the theorems.

    Raises
    ------
    InvalidArgument
        If the run is not of the task or has no errors, or ``claims`` names a claim that bounds no runs.
    """
    if trace.errors is None:
        raise InvalidArgument("trace", trace, "must have errors", "run on a task that knows its optima")
    if isinstance(claims, str):
        raise InvalidArgument("claims", claims, "must be a list of ids", f"write [{claims!r}]")
    check_same_task(task, trace)
    for name in claims or ():
        if name not in REGISTRY or REGISTRY[name].bound_trace is None:
            raise InvalidArgument(
                "claims", name, "must be the id of a claim that bounds runs", "leave it out"
            )
    try:
        dynamics = dynamics_of(trace).name
    except InvalidArgument:
        dynamics = ""
    with np.errstate(all="ignore"):  # a diverged run overflows
        page = PAGES.get(dynamics, short_page)(task, trace)
    if page.picture is None:
        page = replace(page, picture=sections.error_picture(trace, page))
    if not claims:
        return page
    named = tuple(theorem_on_run(name, task, trace)[0] for name in claims)
    entries = tuple(_shown(one) for one in named)
    sections_ = (*page.sections, ("Named claims", entries))
    return replace(page, sections=sections_, theorems=(*page.theorems, *named))


def short_page(task: Mixture, trace: Trace) -> Page:
    """Return task, run and errors, and every bound of the catalogue that applies."""
    judged = [
        theorem_on_run(name, task, trace)[0]
        for name, claim in REGISTRY.items()
        if claim.bound_trace is not None
    ]
    theorems = tuple(one for one in judged if one.outcome != "does not apply")
    run = entry("Run", f"{sections.rounds_words(trace)}, {sections.runs_words(trace)}")
    head = (sections.task_entry(task), run, sections.error_entry(trace))
    shown = tuple(_shown(one) for one in theorems)
    if not shown:
        shown = (entry("None", "no theorem of this algorithm is compared with this run yet"),)
    return Page(sections.title(trace), (("", head), ("Theorems", shown)), theorems)


def _shown(theorem: TheoremOnRun) -> Entry:
    """Return the entry of a claim by its id."""
    return entry("Claim", f"{theorem.claim} {theorem.words}")


def _clustered(task: Mixture, trace: Trace) -> Page:
    """Return the page of CFL-MGD and IFCA, whose theorems are about as many models as clusters."""
    several = trace.models.shape[-2] == task.clusters
    return (clustered_page if several else short_page)(task, trace)


PAGES: dict[str, Callable[[Mixture, Trace], Page]] = {"cfl-mgd": _clustered, "fpfc": fusion_page}
"""By the dynamics of the run."""
