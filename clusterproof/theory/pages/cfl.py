"""The page of CFL: splits of clusters, the resulting groups, and theorems about both."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from clusterproof.algorithms.bipartition import cosine_similarities
from clusterproof.theory.bounds.hypotheses import Hypothesis, all_met
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.pages.facts import CutFacts, Cuts, Facts, Next, Result
from clusterproof.theory.pages.grouped import IN_GROUPS, rest_facts
from clusterproof.theory.pages.judging import Theorem, judge_all
from clusterproof.theory.pages.measured import error_facts, group_facts, run_facts, task_facts
from clusterproof.theory.pages.records import Outcome
from clusterproof.theory.runs.groups import CutRun

STATIONARY = 1e-6
"""The pooled model counts as stationary if this number times the smallest client update exceeds the mean update."""


def _linkage_needs(run: CutRun, linkage: str) -> Iterator[Hypothesis]:
    known = (run.option("linkage", linkage), *run.exact_needs(), Hypothesis("cuts", ">", 0, len(run.cuts)))
    needs = tuple(run.right_rounds(known))
    yield from needs
    if not all_met(needs):
        return
    found = [run.across(cut) for cut in run.cuts]
    moved = all(np.isfinite(tolerance) for _, _, tolerance, _ in found)
    yield Hypothesis("every update moves", "=", True, moved)
    if linkage == "complete":
        gap, room = min(
            ((gap, 10 * tolerance) for _, _, tolerance, gap in found), key=lambda one: one[0] - one[1]
        )
        yield Hypothesis("gap of two cosines", ">", float(room), float(gap))


def _linkage(run: CutRun) -> Outcome:
    """Compare each split in a run with the best split, which a spanning tree determines."""
    found = [run.across(cut) for cut in run.cuts]
    worst = int(np.argmax([across - best for across, best, _, _ in found]))
    across, best, tolerance, _ = found[worst]
    broken = across - best > tolerance
    return Outcome(
        "is broken" if broken else "holds",
        quantity="largest cosine across a cut",
        measured=across,
        allowed=best,
        constants={"round": run.cuts[worst].number + 1, "cuts": len(found)},
        reason="another cut is better" if broken else "every cut is the best",
    )


def _ids(run: CutRun) -> Outcome:
    """Compare with ``cfl/client-ids``: the clusters of a round refine the clusters of the previous round."""
    torn = 0
    for before, after in zip(run.labels[:-1], run.labels[1:], strict=True):
        for old, new in zip(before, after, strict=True):
            torn += len(np.unique(np.stack([old, new]), axis=1).T) != len(np.unique(new))
    return Outcome(
        "is broken" if torn else "holds",
        quantity="rounds that join clients",
        measured=float(torn),
        allowed=0.0,
        reason="clients are joined" if torn else "clusters are only split",
    )


def _before_the_first_cut(run: CutRun) -> Iterator[np.ndarray]:
    """Yield for each run the clients' updates in the round of the first split, or in the last round without a split."""
    for one in range(run.runs):
        apart = [len(np.unique(groups)) > 1 for groups in run.labels[:, one]]
        yield run.updates(apart.index(True) if True in apart else len(apart) - 1, one)


def _mean_and_least(updates: np.ndarray) -> tuple[float, float]:
    """Return the norm of the mean of updates (m, d), and the smallest norm of an update."""
    return float(np.linalg.norm(updates.mean(axis=0))), float(np.linalg.norm(updates, axis=-1).min())


def _cosine_needs(run: CutRun, kind: str) -> Iterator[Hypothesis]:
    exact = tuple(run.exact_needs())
    shape = tuple(_shape_needs(run, kind)) if all_met(exact) else ()
    needs = tuple(run.right_rounds((*exact, *shape)))
    yield from needs
    if not all_met(needs):
        return
    for updates in _before_the_first_cut(run) if run.rounds else ():
        mean, least = _mean_and_least(updates)
        share = mean / least if least > 0 else np.inf
        yield Hypothesis("mean update", "<=", STATIONARY, float(share))


def _cosine(run: CutRun) -> Outcome:
    """Compare the cosines across clusters before the first split with the cosines at a stationary point."""
    labels, value = run.task.labels, -1 / (run.task.clusters - 1)
    same = labels[:, None] == labels
    furthest, limit, seen = 0.0, 0.0, (0.0, 0.0)
    for updates in _before_the_first_cut(run):
        mean, least = _mean_and_least(updates)
        cosines = cosine_similarities(updates)
        away = float(np.abs(cosines - np.where(same, 1.0, value)).max())
        # if the mean is not 0, it moves every update by its length
        tolerance = 4 * mean / least + ROUNDING * (1 + run.size / least)
        if away - tolerance >= furthest - limit:
            furthest, limit = away, tolerance
            seen = float(cosines[~same].min()), float(cosines[~same].max())
    broken = furthest > limit
    return Outcome(
        "is broken" if broken else "holds",
        quantity="distance of a cosine from what is stated",
        measured=furthest,
        allowed=limit,
        constants={"stated cosine": value, "least cosine": seen[0], "largest cosine": seen[1]},
        reason="other cosines" if broken else "the stated cosines",
    )


def _shape_needs(run: CutRun, kind: str) -> Iterator[Hypothesis]:
    """Yield the hypotheses on the clusters' sizes, minimisers and Hessians."""
    assert run.quadratics is not None
    task, (hessians, centers), rounding = run.task, run.quadratics, 1e3 * ROUNDING
    count, sizes = task.clusters, np.bincount(task.labels)
    if kind == "simplex":
        yield Hypothesis("clusters", ">=", 2, count)
    else:
        yield Hypothesis("clusters", "=", 2 if kind == "two" else 3, count)
    around = float(np.linalg.norm(centers - task.client_optima, axis=-1).max())
    yield Hypothesis("spread", "=", 0, around if around > rounding * run.size else 0.0)
    alike = float(np.abs(hessians - hessians[0]).max()) <= ROUNDING * float(np.abs(hessians).max())
    yield Hypothesis("one Hessian", "=", True, alike)
    if kind != "two":
        curvatures = np.linalg.eigvalsh(hessians[0])
        yield Hypothesis("L/mu", "=", 1, float(curvatures[-1] / curvatures[0]), room=rounding)
        yield Hypothesis("clusters of one size", "=", True, int(np.ptp(sizes)) == 0)
    if kind == "simplex" and count > 1:
        sides = np.linalg.norm(task.optima[:, None] - task.optima, axis=-1)[np.triu_indices(count, 1)]
        least, most = float(sides.min()), float(sides.max())
        name, room = "largest over least distance of two optima", rounding * run.size / least
        yield Hypothesis(name, "=", 1, most / least, room=room)


def _linked(linkage: str) -> Theorem:
    needs = partial(_linkage_needs, linkage=linkage)
    return Theorem(
        f"cfl/{linkage}-linkage", _linkage, needs, on_page=lambda run: run.algorithm.linkage == linkage
    )


def _kind(run: CutRun) -> str:
    return {2: "two", 3: "anywhere"}.get(len(np.unique(run.trace.labels)), "simplex")


def _angled(kind: str, claim: str) -> Theorem:
    needs = partial(_cosine_needs, kind=kind)
    return Theorem(f"cfl/{claim}", _cosine, needs, on_page=lambda run: _kind(run) == kind)


THEOREMS = (
    _linked("complete"),
    _linked("single"),
    Theorem("cfl/client-ids", _ids),
    _angled("anywhere", "stationary-cosine-anywhere"),
    _angled("simplex", "stationary-cosine"),
    _angled("two", "two-clusters"),
    IN_GROUPS,
)


def recursive_facts(run: CutRun) -> Facts:
    """Return the facts of a run of CFL."""
    results: list[Result] = [group_facts(run, f"--rounds {2 * max(run.rounds, 50)}"), _cuts(run)]
    error = error_facts(run, "distance of the worst client from its cluster's optimum")
    results += [] if error is None else [error]
    theorems, others = judge_all(THEOREMS, run)
    other = Next("run cfl --clusters 2", "cosines of -1")
    if len(np.unique(run.trace.labels)) == 2:
        other = Next("run cfl --clusters 3", "other cosines")
    commands = [Next("run cfl --linkage complete --spread 0.5", "the cuts of the public code"), other]
    if run.quadratics is None:
        commands = [Next("run cfl", "its cuts on quadratics")]
    elif run.algorithm.linkage == "complete":
        commands = [Next("check cfl/complete-linkage", "where another cut is better")]
    facts = (*results, *rest_facts(run))
    return Facts(task_facts(run), run_facts(run), facts, theorems, others, tuple(commands))


def _cuts(run: CutRun) -> Cuts:
    """Return the facts about the splits of the first run."""
    own = [cut for cut in run.cuts if cut.run == 0]
    return Cuts(
        tuple(
            CutFacts(
                cut.number + 1,
                (int((~cut.side).sum()), int(cut.side.sum())),
                None if run.moves is None else run.across(cut)[0],
            )
            for cut in own
        )
    )
