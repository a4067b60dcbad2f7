"""The page of CFL: its cuts, the groups that they leave, and what is stated of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import CFL, Trace
from clusterproof.algorithms.bipartition import cosine_similarities, cross_similarity
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.bounds.numbers import many, short
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.papers.fpfc.fusion import weakest_link
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.affine_rounds import exact_quadratics
from clusterproof.theory.runs.group_rounds import GroupRun, group_run, rest_entry, rest_on_run, usual_needs
from clusterproof.theory.runs.groups import groups_entry, merged_words
from clusterproof.theory.runs.hypotheses import Need, refusal
from clusterproof.theory.runs.page import Entry, Page, TheoremOnRun, entry

MOST_CUTS = 2
"""Cuts of the first run that are named."""

STATIONARY = 1e-6
"""The pooled model is at rest where the mean update is below this share of every client's."""


@dataclass(frozen=True, eq=False)
class Cut:
    """A cluster cut in two in a round, counted from 0, of a run; ``side`` (k,) is where the new cluster is."""

    number: int
    run: int
    members: np.ndarray
    side: np.ndarray


def recursive_page(task: Mixture, trace: Trace) -> Page:
    """Return the page of a run of CFL."""
    algorithm = dynamics_of(trace)
    assert isinstance(algorithm, CFL)
    run = group_run(algorithm, task, trace)
    cuts = list(cuts_of(run.labels))
    facts = [sections.task_entry(task), _run_entry(algorithm, task, trace)]
    facts.append(groups_entry(trace, *merged_words(trace, f"--rounds {2 * max(trace.rounds, 50)}")))
    facts.append(_cuts_entry(run, cuts))
    if trace.errors is not None:
        facts.append(sections.error_entry(trace, "largest distance from a cluster's optimum"))
    facts += rest_entry(run)
    named = [
        ("Complete", linkage_on_run(run, cuts, "complete")),
        ("Single", linkage_on_run(run, cuts, "single")),
        ("Ids", _ids_on_run(run)),
        ("Anywhere", cosine_on_run(run, "anywhere")),
        ("Simplex", cosine_on_run(run, "simplex")),
        ("Two", cosine_on_run(run, "two")),
        ("In groups", rest_on_run(run)),
    ]
    cosine = {2: "Two", 3: "Anywhere"}.get(len(np.unique(trace.labels)), "Simplex")
    hidden = {"Two", "Anywhere", "Simplex", "Complete", "Single"} - {cosine, algorithm.linkage.capitalize()}
    shown = [entry(label, one.words) for label, one in named if label not in hidden]
    theorems = tuple(one for _, one in named)
    return Page(sections.title(trace), (("", tuple(facts)), ("Theorems", (*shown, _next(run)))), theorems)


def _run_entry(algorithm: CFL, task: Mixture, trace: Trace) -> Entry:
    parts = [sections.descent_words(algorithm, task.smoothness)]
    parts.append(f"{algorithm.linkage} linkage, no cut before round {algorithm.warm_up + 1}")
    if algorithm.participation < 1:
        parts.append(f"{100 * algorithm.participation:.3g} % of the clients a round")
    if algorithm.mean_threshold is not None and algorithm.client_threshold is not None:
        thresholds = (short(algorithm.mean_threshold), short(algorithm.client_threshold))
        parts.append(f"eps_1 {thresholds[0]}, eps_2 {thresholds[1]}")
    if algorithm.noise_ratio is not None:
        parts.append(f"gamma_max {short(algorithm.noise_ratio)}")
    rounds = f"{sections.rounds_words(trace)}, {sections.runs_words(trace)}"
    return entry("Run", f"{', '.join(parts)}; {rounds}")


def cuts_of(labels: np.ndarray) -> Iterator[Cut]:
    """Yield the cuts of groups (T, R, m), each of which splits one cluster; others are left out."""
    start = np.zeros_like(labels[:1])
    for number, (before, after) in enumerate(zip(np.concatenate([start, labels]), labels, strict=False)):
        for run in range(labels.shape[1]):
            for new in np.setdiff1d(after[run], before[run]):
                moved = after[run] == new
                old = np.unique(before[run][moved])
                if len(old) == 1:
                    members = np.flatnonzero((before[run] == old[0]) & ((after[run] == old[0]) | moved))
                    if 0 < moved.sum() < len(members):
                        yield Cut(number, run, members, moved[members])


def _cuts_entry(run: GroupRun, cuts: list[Cut]) -> Entry:
    """Name the cuts of the first run."""
    own = [cut for cut in cuts if cut.run == 0]
    if not own:
        return entry("Cuts", "none")
    lines = []
    for cut in own[:MOST_CUTS]:
        sizes = f"{int((~cut.side).sum())} and {int(cut.side.sum())}"
        words = f"round {cut.number + 1}: {len(cut.members)} clients into {sizes}"
        if run.moves is not None:
            words += f", largest cosine across {_across(run, cut)[0]:.3f}"
        lines.append(words)
    if len(own) > MOST_CUTS:
        lines[-1] += f"; and {len(own) - MOST_CUTS} more"
    return entry("Cuts", *lines)


def _across(run: GroupRun, cut: Cut) -> tuple[float, float, float, float]:
    """Return the largest cosine across a cut, the least that a cut has, rounding, and the least gap of two cosines."""
    updates = run.updates(cut.number, cut.run)[cut.members]
    cosines = cosine_similarities(updates)
    pairs = np.sort(cosines[np.triu_indices(len(cosines), 1)])
    shortest = float(np.linalg.norm(updates, axis=-1).min())
    tolerance = ROUNDING * (1 + run.size / shortest) if shortest > 0 else np.inf
    gap = float(np.diff(pairs).min(initial=1.0))
    return cross_similarity(cosines, cut.side), weakest_link(cosines)[0], tolerance, gap


def linkage_on_run(run: GroupRun, cuts: list[Cut], linkage: str) -> TheoremOnRun:
    """Compare each cut of a run with the best one, found by a spanning tree."""
    claim, given = f"cfl/{linkage}-linkage", run.algorithm.linkage
    needs = [
        (given == linkage, f"--linkage {linkage}", given),
        *usual_needs(run),
        (bool(cuts), "a cut", "none"),
    ]
    refused = refusal(claim, needs, run)
    if refused is not None:
        return refused
    found = [_across(run, cut) for cut in cuts]
    if not all(np.isfinite(tolerance) for _, _, tolerance, _ in found):
        return TheoremOnRun(
            claim, "does not apply", None, None, "does not apply: needs updates, here one is 0"
        )
    alike = [gap for _, _, tolerance, gap in found if gap <= 10 * tolerance]
    if linkage == "complete" and alike:
        words = f"does not apply: needs no two equal cosines, here {short(alike[0])} apart"
        return TheoremOnRun(claim, "does not apply", None, None, words)
    excess = [across - best for across, best, _, _ in found]
    worst = int(np.argmax(excess))
    across, best, tolerance, _ = found[worst]
    as_read = " (public code, as read)" if linkage == "complete" else ""
    if excess[worst] > tolerance:
        place = f"the cut of round {cuts[worst].number + 1}"
        words = f"broken{as_read}: largest cosine {across:.4f} across {place}, where {best:.4f} can be"
        return TheoremOnRun(claim, "broken", across, best, words)
    words = f"holds{as_read}: {many(len(cuts), 'cut')}, each with the least largest cosine"
    return TheoremOnRun(claim, "holds", across, best, words)


def _ids_on_run(run: GroupRun) -> TheoremOnRun:
    """Compare with ``cfl/client-ids``: the clusters of a round refine those of the round before."""
    claim = "cfl/client-ids"
    if not len(run.labels):
        return TheoremOnRun(claim, "inconclusive", None, None, "inconclusive: no round was run")
    torn = 0
    for before, after in zip(run.labels[:-1], run.labels[1:], strict=True):
        for old, new in zip(before, after, strict=True):
            torn += len(np.unique(np.stack([old, new]), axis=1).T) != len(np.unique(new))
    if torn:
        words = f"broken: {many(torn, 'round')} join clients that were apart"
        return TheoremOnRun(claim, "broken", float(torn), 0.0, words)
    words = f"holds: in {many(len(run.labels), 'round')} clusters were split, and nothing else"
    return TheoremOnRun(claim, "holds", 0.0, 0.0, words)


def cosine_on_run(run: GroupRun, kind: str) -> TheoremOnRun:
    """Compare the cosines across clusters before the first cut with those of a stationary point."""
    claim = {
        "two": "cfl/two-clusters",
        "simplex": "cfl/stationary-cosine",
        "anywhere": "cfl/stationary-cosine-anywhere",
    }[kind]
    refused = refusal(claim, [*usual_needs(run), *_shape_needs(run, kind)], run)
    if refused is not None:
        return refused
    labels, clusters = run.task.labels, run.task.clusters
    expected = np.where(labels[:, None] == labels, 1.0, -1 / (clusters - 1))
    furthest, limit, seen = 0.0, 0.0, []
    for one in range(run.labels.shape[1]):
        together = [len(np.unique(groups)) == 1 for groups in run.labels[:, one]]
        number = together.index(False) if False in together else len(together) - 1
        updates = run.updates(number, one)
        least = float(np.linalg.norm(updates, axis=-1).min())
        mean = float(np.linalg.norm(updates.mean(axis=0)))
        if not mean <= STATIONARY * least:
            share = mean / least if least > 0 else np.inf
            needed = f"a mean update below {STATIONARY:.0e} of the least (--warm-up)"
            words = f"does not apply: needs {needed}, here {short(share)}"
            return TheoremOnRun(claim, "does not apply", None, None, words)
        cosines = cosine_similarities(updates)
        away = float(np.abs(cosines - expected).max())
        # a mean that is not 0 moves every update by as much
        tolerance = 4 * mean / least + ROUNDING * (1 + run.size / least)
        if away - tolerance >= furthest - limit:
            furthest, limit = away, tolerance
            across = cosines[labels[:, None] != labels]
            seen = [float(across.min()), float(across.max())]
    value = -1 / (clusters - 1)
    if furthest > limit:
        words = f"broken: before the first cut cosines are {seen[0]:.3f} to {seen[1]:.3f}, not {value:.3g}"
        return TheoremOnRun(claim, "broken", furthest, limit, words)
    words = f"holds: before the first cut every cosine across clusters is {value:.3g}"
    return TheoremOnRun(claim, "holds", furthest, limit, words)


def _shape_needs(run: GroupRun, kind: str) -> list[Need]:
    """Return the hypotheses on the clusters' sizes, minimisers and Hessians."""
    quadratics = exact_quadratics(run.task)
    if quadratics is None:
        return []
    task, (hessians, centers) = run.task, quadratics
    alike = float(np.abs(hessians - hessians[0]).max()) <= ROUNDING * float(np.abs(hessians).max())
    around = float(np.linalg.norm(centers - task.client_optima, axis=-1).max())
    needs: list[Need] = [
        {
            "two": (task.clusters == 2, "2 clusters", str(task.clusters)),
            "simplex": (task.clusters > 1, "2 clusters or more", str(task.clusters)),
            "anywhere": (task.clusters == 3, "3 clusters", str(task.clusters)),
        }[kind],
        (
            around <= 1e3 * ROUNDING * run.size,
            "clients at their cluster's optimum (--spread 0)",
            f"{short(around)} away",
        ),
        (alike, "one Hessian for all (--condition-number 1)", "several"),
    ]
    if kind != "two":
        curvatures = np.linalg.eigvalsh(hessians[0])
        ratio = float(curvatures[-1] / curvatures[0])
        sizes = np.bincount(task.labels)
        needs.append(
            (ratio <= 1 + 1e3 * ROUNDING, "a Hessian a I (--condition-number 1)", f"L/mu = {ratio:.4g}")
        )
        equal_sizes = int(np.ptp(sizes)) == 0
        needs.append((equal_sizes, "clusters of equal size", f"{sizes.min()} to {sizes.max()} clients"))
    if kind == "simplex" and task.clusters > 1:
        sides = np.linalg.norm(task.optima[:, None] - task.optima, axis=-1)[np.triu_indices(task.clusters, 1)]
        regular = float(np.ptp(sides)) <= 1e3 * ROUNDING * run.size
        needs.append(
            (
                regular,
                "optima equally far apart",
                f"{short(float(sides.min()))} to {short(float(sides.max()))}",
            )
        )
    return needs


def _next(run: GroupRun) -> Entry:
    if exact_quadratics(run.task) is None:
        return entry("Next", "clusterproof run cfl   on quadratics: its cuts, exactly")
    if run.algorithm.linkage == "complete":
        return entry("Next", "clusterproof check cfl/complete-linkage   where another cut is better")
    other = (
        ("--clusters 2", "cosines of -1")
        if len(np.unique(run.trace.labels)) != 2
        else ("--clusters 3", "other cosines")
    )
    return entry(
        "Next",
        "clusterproof run cfl --linkage complete --spread 0.5   the public code",
        f"clusterproof run cfl {other[0]:<34}{other[1]}",
    )
