"""A run beside the theorems about its algorithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.algorithms.calls import checked
from clusterproof.algorithms.validation import check_list
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.claims.claim import REGISTRY
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.averaging import averaging_page
from clusterproof.theory.runs.bounded import theorem_on_run
from clusterproof.theory.runs.clustered import clustered_page
from clusterproof.theory.runs.corrected import corrected_page
from clusterproof.theory.runs.fusion import fusion_page
from clusterproof.theory.runs.gradient_loss import gradient_loss_page
from clusterproof.theory.runs.groups import groups_entry
from clusterproof.theory.runs.page import Entry, Page, TheoremOnRun, entry
from clusterproof.theory.runs.personal import personal_page
from clusterproof.theory.runs.recursive import recursive_page
from clusterproof.theory.runs.same_task import check_same_task
from clusterproof.theory.runs.self_organising import self_organising_page
from clusterproof.theory.runs.skipping import skipping_page


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
    with np.errstate(all="ignore"):  # a diverged run overflows
        page = (PAGES.get(_dynamics(trace), short_page) if hasattr(task, "optima") else short_page)(
            task, trace
        )
    if page.picture is None and trace.errors is not None:
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
        theorem_on_run(name, task, trace)[0] for name, claim in REGISTRY.items() if claim.bound is not None
    ]
    theorems = tuple(one for one in judged if one.outcome != "does not apply")
    run = entry("Run", f"{sections.rounds_words(trace)}, {sections.runs_words(trace)}")
    head = [sections.task_entry(task), run]
    if _has_groups(trace):
        head.append(groups_entry(trace))
    if trace.errors is not None:
        head.append(sections.error_entry(trace))
    shown = tuple(_shown(one) for one in theorems) or (entry("None", _why_none(task, trace)),)
    return Page(sections.title(trace), (("", tuple(head)), ("Theorems", shown)), theorems)


def _has_groups(trace: Trace) -> bool:
    """Whether clients share models, and not all of them the same one."""
    known = np.unique(trace.assignments[trace.assignments >= 0])
    return trace.models.shape[-2] > 1 and 0 < len(known) < len(trace.labels)


def _why_none(task: Mixture, trace: Trace) -> str:
    """Say why no theorem is named."""
    dynamics, name = _dynamics(trace), str(trace.settings["algorithm"]["algorithm"])
    if dynamics not in PAGES:
        return "no theorem of this algorithm"
    if trace.errors is None:
        return f"no theorem of {name} applies: they need known optima"
    here = f"{trace.models.shape[-2]} for {task.clusters}"
    return f"no theorem of {name} applies: they need a model for each cluster, here {here}"


def _dynamics(trace: Trace) -> str:
    """Return the name of the algorithm whose recursion a run followed, empty where it is not known."""
    try:
        return dynamics_of(trace).name
    except InvalidArgument:
        return ""


def _shown(theorem: TheoremOnRun) -> Entry:
    """Return the entry of a claim by its id."""
    return entry("Claim", f"{theorem.claim} {theorem.words}")


def _clustered(task: Mixture, trace: Trace) -> Page:
    """Return the page of CFL-MGD and IFCA, whose theorems are about as many models as clusters."""
    known = trace.errors is not None and trace.models.shape[-2] == task.clusters
    return (clustered_page if known else short_page)(task, trace)


PAGES: dict[str, Callable[[Mixture, Trace], Page]] = {
    "cfl-mgd": _clustered,
    "fpfc": fusion_page,
    "per-fedavg": personal_page,
    "fedbcd": personal_page,
    "local": personal_page,
    "gradient-loss": gradient_loss_page,
    "cfl": recursive_page,
    "sofl": self_organising_page,
    "fedavg": averaging_page,
    "fedprox": averaging_page,
    "scaffold": corrected_page,
    "fedlin": corrected_page,
    "proxskip": skipping_page,
}
"""By the dynamics of the run."""
