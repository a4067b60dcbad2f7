"""The function ``compare``, which makes the page of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.common import InvalidArgument
from clusterproof.common.calls import checked
from clusterproof.common.validation import check_list
from clusterproof.running import Trace
from clusterproof.running.matching import in_order_of_clusters
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.pages.averaging import averaging_facts, method_facts
from clusterproof.theory.pages.cfl import recursive_facts
from clusterproof.theory.pages.cfl_mgd_and_ifca import clustered_page
from clusterproof.theory.pages.controls import corrected_facts, skipping_facts
from clusterproof.theory.pages.facts import Facts, Result
from clusterproof.theory.pages.fpfc import fusion_page
from clusterproof.theory.pages.gradient_loss import gradient_loss_facts
from clusterproof.theory.pages.judging import outcome_of_claim
from clusterproof.theory.pages.measured import (
    error_facts,
    error_picture,
    group_facts,
    run_facts,
    task_facts,
)
from clusterproof.theory.pages.page import Page
from clusterproof.theory.pages.personal import personal_facts
from clusterproof.theory.pages.sofl import self_organising_facts
from clusterproof.theory.runs.affine_run import AffineRun
from clusterproof.theory.runs.bound import check_same_task
from clusterproof.theory.runs.cfl_mgd_and_ifca import ClusterRun
from clusterproof.theory.runs.fpfc import FusionRun
from clusterproof.theory.runs.groups import ClusteredRun, CutRun, GroupRun
from clusterproof.theory.runs.methods import AveragingRun, CorrectedRun, MethodRun, RunOfCoins
from clusterproof.theory.runs.run import Run

PAGES: dict[str, tuple[type[Run], Callable[[Any], Facts | Page]]] = {
    "cfl-mgd": (ClusterRun, clustered_page),
    "fpfc": (FusionRun, fusion_page),
    "per-fedavg": (AffineRun, personal_facts),
    "fedbcd": (AffineRun, personal_facts),
    "local": (AffineRun, personal_facts),
    "gradient-loss": (GroupRun, gradient_loss_facts),
    "cfl": (CutRun, recursive_facts),
    "sofl": (ClusteredRun, self_organising_facts),
    "fedavg": (AveragingRun, averaging_facts),
    "fedprox": (AveragingRun, averaging_facts),
    "scaffold": (CorrectedRun, corrected_facts),
    "fedlin": (CorrectedRun, corrected_facts),
    "proxskip": (RunOfCoins, skipping_facts),
}
"""For each algorithm, the class for its runs, and the function that returns the page of a run or its facts."""


@checked
def compare(task: Mixture, trace: Trace, claims: Sequence[str] | None = None) -> Page:
    """Compare a run with the theorems about its algorithm.

    Parameters
    ----------
    task
        The task of the run.
    trace
        The run.
    claims
        Ids of other claims that bound runs, for example claims in your own file.

    Returns
    -------
    Page
        The page, which you can print. ``.facts`` has the numbers and names, and ``.frame()`` is a table of the
        theorems.

    Raises
    ------
    InvalidArgument
        If the run belongs to another task, or ``claims`` names a claim that does not bound runs.
    """
    if claims is not None:
        check_list("claims", claims, str, f"write [{claims!r}]")
    check_same_task(task, trace)
    for name in claims or ():
        if name not in REGISTRY or REGISTRY[name].bound is None:
            raise InvalidArgument(
                "claims", name, "must be the id of a claim that bounds runs", "leave it out"
            )
    run, page_of = Run(task, trace), _page_of(trace)
    # theorems on CFL-MGD and IFCA assume one model per cluster
    fits = trace.errors is not None and trace.models.shape[-2] == task.clusters
    with np.errstate(all="ignore"):  # a diverged run may overflow
        if page_of is None or not hasattr(task, "optima") or (page_of[0] is ClusterRun and not fits):
            found: Facts | Page = short_facts(run)
        else:
            of_clusters = page_of[0] is ClusterRun and bool(np.isfinite(trace.models[0]).all())
            ordered = in_order_of_clusters(trace, np.asarray(task.optima)) if of_clusters else trace
            found = page_of[1](page_of[0](task, ordered))
    page = found if isinstance(found, Page) else Page(found)
    if page.picture is None and trace.errors is not None:
        page = replace(page, picture=error_picture(run))
    if not claims:
        return page
    named = tuple(outcome_of_claim(name, run)[0] for name in claims)
    return replace(page, facts=replace(page.facts, theorems=(*page.facts.theorems, *named)))


def short_facts(run: Run) -> Facts:
    """Return the facts about task, run and errors, and the outcome of every applicable bound of the catalogue."""
    judged = [outcome_of_claim(name, run)[0] for name, claim in REGISTRY.items() if claim.bound is not None]
    theorems = tuple(one for one in judged if one.outcome != "does not apply")
    results: list[Result] = []
    known = np.unique(run.votes[run.votes >= 0])
    if run.models.shape[2] > 1 and 0 < len(known) < len(
        run.trace.labels
    ):  # here, several clients share a model
        results.append(group_facts(run))
    error = error_facts(run, "distance of the worst model from its optimum")
    results += [] if error is None else [error]
    why = "" if theorems else _why_none(run)
    return Facts(task_facts(run), run_facts(run), tuple(results), theorems, no_theorem=why)


def _page_of(trace: Trace) -> tuple[type[Run], Callable[[Any], Facts | Page]] | None:
    """Return the class and the function for the page of a run, or None if there is no page for its algorithm."""
    try:
        followed = dynamics_of(trace)
    except InvalidArgument:
        return None
    if followed.name in PAGES:
        return PAGES[followed.name]
    one_model = isinstance(followed, MethodAlgorithm) and trace.models.shape[-2] == 1
    return (MethodRun, method_facts) if one_model else None


def _why_none(run: Run) -> str:
    """Return the name of the reason why no theorem is listed."""
    if _dynamics(run.trace) not in PAGES:
        return "no theorem of this algorithm"
    if run.trace.errors is None:
        return "optima are not known"
    return "another number of models"


def _dynamics(trace: Trace) -> str:
    """Return the name of the library's algorithm with the recursion of the run, or "" if it is unknown."""
    try:
        return dynamics_of(trace).name
    except InvalidArgument:
        return ""
