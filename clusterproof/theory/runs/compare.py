"""``compare``: from a task and a run to the page of its algorithm, and the theorems that are in the table only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.common import InvalidArgument
from clusterproof.common.calls import checked
from clusterproof.common.validation import check_list
from clusterproof.running import Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.averaging import AveragingRun, averaging_page
from clusterproof.theory.runs.bound import check_same_task
from clusterproof.theory.runs.cfl import CutRun, recursive_page
from clusterproof.theory.runs.cfl_mgd_and_ifca import ClusterRun, clustered_page
from clusterproof.theory.runs.fpfc import FusionRun, fusion_page
from clusterproof.theory.runs.gradient_loss import gradient_loss_page
from clusterproof.theory.runs.grouped import GroupRun
from clusterproof.theory.runs.outcomes import said_of
from clusterproof.theory.runs.page import Page, TheoremOnRun, entry
from clusterproof.theory.runs.personal import AffineRun, personal_page
from clusterproof.theory.runs.proxskip import RunOfCoins, skipping_page
from clusterproof.theory.runs.run import Run
from clusterproof.theory.runs.scaffold_and_fedlin import CorrectedRun, corrected_page
from clusterproof.theory.runs.sofl import ClusteredRun, self_organising_page

PAGES: dict[str, tuple[type[Run], Callable[[Any], Page]]] = {
    "cfl-mgd": (ClusterRun, clustered_page),
    "fpfc": (FusionRun, fusion_page),
    "per-fedavg": (AffineRun, personal_page),
    "fedbcd": (AffineRun, personal_page),
    "local": (AffineRun, personal_page),
    "gradient-loss": (GroupRun, gradient_loss_page),
    "cfl": (CutRun, recursive_page),
    "sofl": (ClusteredRun, self_organising_page),
    "fedavg": (AveragingRun, averaging_page),
    "fedprox": (AveragingRun, averaging_page),
    "scaffold": (CorrectedRun, corrected_page),
    "fedlin": (CorrectedRun, corrected_page),
    "proxskip": (RunOfCoins, skipping_page),
}
"""By the dynamics of the run: what its page knows of it, and the page."""


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
        Ids of further claims that bound runs, such as your own.

    Returns
    -------
    Page
        To print; ``.frame()`` is a table of the theorems.

    Raises
    ------
    InvalidArgument
        If the run is not of the task, or ``claims`` names a claim that bounds no runs.
    """
    if claims is not None:
        check_list("claims", claims, str, f"write [{claims!r}]")
    check_same_task(task, trace)
    for name in claims or ():
        if name not in REGISTRY or REGISTRY[name].bound is None:
            raise InvalidArgument(
                "claims", name, "must be the id of a claim that bounds runs", "leave it out"
            )
    run, page_of = Run(task, trace), PAGES.get(_dynamics(trace))
    # theorems of CFL-MGD and IFCA are about as many models as clusters
    fits = trace.errors is not None and trace.models.shape[-2] == task.clusters
    with np.errstate(all="ignore"):  # a diverged run overflows
        if page_of is None or not hasattr(task, "optima") or (page_of[0] is ClusterRun and not fits):
            page = short_page(run)
        else:
            page = page_of[1](page_of[0](task, trace))
    if page.picture is None and trace.errors is not None:
        page = replace(page, picture=facts.error_picture(run, page))
    if not claims:
        return page
    named = tuple(said_of(name, run)[0].of(name) for name in claims)
    sections = (*page.sections, ("Named claims", _shown(named)))
    return replace(page, sections=sections, theorems=(*page.theorems, *named))


def short_page(run: Run) -> Page:
    """Return task, run and errors, and every bound of the catalogue that applies."""
    judged = [said_of(name, run)[0].of(name) for name, claim in REGISTRY.items() if claim.bound is not None]
    theorems = tuple(one for one in judged if one.outcome != "does not apply")
    head = [facts.task_entry(run.task), entry("Run", facts.runs_words(run), facts.settings_words(run))]
    known = np.unique(run.votes[run.votes >= 0])
    if run.models.shape[2] > 1 and 0 < len(known) < len(run.trace.labels):  # clients share models
        head.append(facts.groups_entry(run))
    head += facts.error_entry(run)
    shown = _shown(theorems) or (entry("None", _why_none(run)),)
    return Page(facts.title(run), (("", tuple(head)), ("Theorems", shown)), theorems)


def _why_none(run: Run) -> str:
    """Say why no theorem is named."""
    if _dynamics(run.trace) not in PAGES:
        return "no theorem of this algorithm"
    if run.trace.errors is None:
        return f"no theorem of {run.name} applies: they need known optima"
    here = f"{run.models.shape[2]} for {run.task.clusters}"
    return f"no theorem of {run.name} applies: they need a model for each cluster, here {here}"


def _dynamics(trace: Trace) -> str:
    """Return the name of the algorithm whose recursion a run followed, empty where it is not known."""
    try:
        return dynamics_of(trace).name
    except InvalidArgument:
        return ""


def _shown(theorems: Sequence[TheoremOnRun]) -> tuple[Any, ...]:
    """Return the entries of claims by their ids."""
    return tuple(entry("Claim", f"{theorem.claim} {theorem.words}") for theorem in theorems)
