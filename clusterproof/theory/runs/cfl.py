"""The page of CFL: its cuts, the groups that they leave, and what is stated of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from clusterproof.algorithms.bipartition import cosine_similarities, cross_similarity
from clusterproof.theory.bounds.hypotheses import Need
from clusterproof.theory.bounds.numbers import many, short
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.papers.fpfc.fusion import weakest_link
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.grouped import IN_GROUPS, GroupRun, rest_entries
from clusterproof.theory.runs.page import Entry, Page, entry, following
from clusterproof.theory.runs.theorem import Row, Said, page_of, says

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


class CutRun(GroupRun):
    """A run of CFL."""

    @cached_property
    def cuts(self) -> list[Cut]:
        """Its cuts, each of which splits one cluster; others are left out."""
        return list(cuts_of(self.labels))

    def across(self, cut: Cut) -> tuple[float, float, float, float]:
        """Return the largest cosine across a cut, the least of any, rounding, and the least gap of two cosines."""
        updates = self.updates(cut.number, cut.run)[cut.members]
        cosines = cosine_similarities(updates)
        pairs = np.sort(cosines[np.triu_indices(len(cosines), 1)])
        shortest = float(np.linalg.norm(updates, axis=-1).min())
        tolerance = ROUNDING * (1 + self.size / shortest) if shortest > 0 else np.inf
        gap = float(np.diff(pairs).min(initial=1.0))
        return cross_similarity(cosines, cut.side), weakest_link(cosines)[0], tolerance, gap


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


def _linkage_needs(run: CutRun, linkage: str) -> Iterator[Need]:
    yield run.option("linkage", linkage)
    yield from run.exact_needs()
    yield Need(bool(run.cuts), "a cut", "none")
    yield from run.needs_its_rounds()
    found = [run.across(cut) for cut in run.cuts]
    yield Need(all(np.isfinite(tolerance) for _, _, tolerance, _ in found), "updates", "one is 0")
    alike = [gap for _, _, tolerance, gap in found if gap <= 10 * tolerance]
    if linkage == "complete" and alike:
        yield Need(False, "no two equal cosines", f"{short(alike[0])} apart")


def _linkage(run: CutRun, linkage: str) -> Said:
    """Compare each cut of a run with the best one, found by a spanning tree."""
    found = [run.across(cut) for cut in run.cuts]
    worst = int(np.argmax([across - best for across, best, _, _ in found]))
    across, best, tolerance, _ = found[worst]
    tag = " (public code, as read)" if linkage == "complete" else ""
    if across - best > tolerance:
        place = f"the cut of round {run.cuts[worst].number + 1}"
        words = f"largest cosine {across:.4f} across {place}, where {best:.4f} can be"
        return says("broken", words, across, best, tag)
    cuts = f"{many(len(found), 'cut')}, each with the least largest cosine"
    return says("holds", cuts, across, best, tag)


def _ids(run: CutRun) -> Said:
    """Compare with ``cfl/client-ids``: the clusters of a round refine those of the round before."""
    torn = 0
    for before, after in zip(run.labels[:-1], run.labels[1:], strict=True):
        for old, new in zip(before, after, strict=True):
            torn += len(np.unique(np.stack([old, new]), axis=1).T) != len(np.unique(new))
    if torn:
        return says("broken", f"{many(torn, 'round')} join clients that were apart", float(torn), 0.0)
    words = f"in {many(run.rounds, 'round')} clusters were split, and nothing else"
    return says("holds", words, 0.0, 0.0)


def _before_the_first_cut(run: CutRun) -> Iterator[np.ndarray]:
    """Yield the clients' updates of each run in the round of its first cut, else in the last one."""
    for one in range(run.runs):
        apart = [len(np.unique(groups)) > 1 for groups in run.labels[:, one]]
        yield run.updates(apart.index(True) if True in apart else len(apart) - 1, one)


def _mean_and_least(updates: np.ndarray) -> tuple[float, float]:
    """Return the length of the mean of updates (m, d), and the least of their lengths."""
    return float(np.linalg.norm(updates.mean(axis=0))), float(np.linalg.norm(updates, axis=-1).min())


def _cosine_needs(run: CutRun, kind: str) -> Iterator[Need]:
    yield from run.exact_needs()
    yield from _shape_needs(run, kind)
    yield from run.needs_its_rounds()
    for updates in _before_the_first_cut(run) if run.rounds else ():
        mean, least = _mean_and_least(updates)
        share = mean / least if least > 0 else np.inf
        needed = f"a mean update below {STATIONARY:.0e} of the least (--warm-up)"
        yield Need(mean <= STATIONARY * least, needed, short(share))


def _cosine(run: CutRun) -> Said:
    """Compare the cosines across clusters before the first cut with those of a stationary point."""
    labels, value = run.task.labels, -1 / (run.task.clusters - 1)
    same = labels[:, None] == labels
    furthest, limit, seen = 0.0, 0.0, (0.0, 0.0)
    for updates in _before_the_first_cut(run):
        mean, least = _mean_and_least(updates)
        cosines = cosine_similarities(updates)
        away = float(np.abs(cosines - np.where(same, 1.0, value)).max())
        # a mean that is not 0 moves every update by as much
        tolerance = 4 * mean / least + ROUNDING * (1 + run.size / least)
        if away - tolerance >= furthest - limit:
            furthest, limit = away, tolerance
            seen = float(cosines[~same].min()), float(cosines[~same].max())
    if furthest > limit:
        words = f"before the first cut cosines are {seen[0]:.3f} to {seen[1]:.3f}, not {value:.3g}"
        return says("broken", words, furthest, limit)
    words = f"before the first cut every cosine across clusters is {value:.3g}"
    return says("holds", words, furthest, limit)


def _shape_needs(run: CutRun, kind: str) -> Iterator[Need]:
    """Yield the hypotheses on the clusters' sizes, minimisers and Hessians."""
    assert run.quadratics is not None
    task, (hessians, centers), rounding = run.task, run.quadratics, 1e3 * ROUNDING
    count, sizes = task.clusters, np.bincount(task.labels)
    few = {"two": "2 clusters", "simplex": "2 clusters or more", "anywhere": "3 clusters"}
    met = {"two": count == 2, "simplex": count > 1, "anywhere": count == 3}
    yield Need(met[kind], few[kind], str(count))
    around = float(np.linalg.norm(centers - task.client_optima, axis=-1).max())
    inside = around <= rounding * run.size
    yield Need(inside, "clients at their cluster's optimum (--spread 0)", f"{short(around)} away")
    alike = float(np.abs(hessians - hessians[0]).max()) <= ROUNDING * float(np.abs(hessians).max())
    yield Need(alike, "one Hessian for all (--condition-number 1)", "several")
    if kind != "two":
        curvatures = np.linalg.eigvalsh(hessians[0])
        ratio = float(curvatures[-1] / curvatures[0])
        round_ = ratio <= 1 + rounding
        yield Need(round_, "a Hessian a I (--condition-number 1)", f"L/mu = {ratio:.4g}")
        equal = int(np.ptp(sizes)) == 0
        yield Need(equal, "clusters of equal size", f"{sizes.min()} to {sizes.max()} clients")
    if kind == "simplex":
        sides = np.linalg.norm(task.optima[:, None] - task.optima, axis=-1)[np.triu_indices(count, 1)]
        regular = float(np.ptp(sides)) <= rounding * run.size
        shown = f"{short(float(sides.min()))} to {short(float(sides.max()))}"
        yield Need(regular, "optima equally far apart", shown)


def _linked(linkage: str) -> Row:
    needs = partial(_linkage_needs, linkage=linkage)
    return Row(linkage.capitalize(), f"cfl/{linkage}-linkage", partial(_linkage, linkage=linkage), needs)


def _angled(label: str, claim: str) -> Row:
    return Row(label, f"cfl/{claim}", _cosine, partial(_cosine_needs, kind=label.lower()))


ROWS = (
    _linked("complete"),
    _linked("single"),
    Row("Ids", "cfl/client-ids", _ids),
    _angled("Anywhere", "stationary-cosine-anywhere"),
    _angled("Simplex", "stationary-cosine"),
    _angled("Two", "two-clusters"),
    IN_GROUPS,
)


def recursive_page(run: CutRun) -> Page:
    """Return the page of a run of CFL."""
    clusters, linkage = len(np.unique(run.trace.labels)), run.algorithm.linkage
    known = [facts.task_entry(run.task), _run_entry(run)]
    known.append(facts.groups_entry(run, facts.merged_words(run, f"--rounds {2 * max(run.rounds, 50)}")))
    known.append(_cuts_entry(run))
    known += facts.error_entry(run, "largest distance from a cluster's optimum") + rest_entries(run)
    cosine = {2: "Two", 3: "Anywhere"}.get(clusters, "Simplex")
    told = (linkage.capitalize(), cosine, "Ids", "In groups")
    other = ("run cfl --clusters 2", "cosines of -1")
    if clusters == 2:
        other = ("run cfl --clusters 3", "other cosines")
    commands = [("run cfl --linkage complete --spread 0.5", "the public code"), other]
    if run.quadratics is None:
        commands = [("run cfl", "on quadratics: its cuts, exactly")]
    elif linkage == "complete":
        commands = [("check cfl/complete-linkage", "where another cut is better")]
    return page_of(facts.title(run), known, ROWS, run, following(*commands), told=told)


def _run_entry(run: CutRun) -> Entry:
    algorithm = run.algorithm
    parts = [facts.descent_words(algorithm, run.task.smoothness)]
    parts.append(f"{algorithm.linkage} linkage, no cut before round {algorithm.warm_up + 1}")
    parts += facts.share_words(algorithm)
    thresholds = algorithm.mean_threshold, algorithm.client_threshold
    if None not in thresholds:
        parts.append(f"eps_1 {short(thresholds[0])}, eps_2 {short(thresholds[1])}")
    if algorithm.noise_ratio is not None:
        parts.append(f"gamma_max {short(algorithm.noise_ratio)}")
    return entry("Run", f"{', '.join(parts)}; {facts.runs_words(run)}")


def _cuts_entry(run: CutRun) -> Entry:
    """Name the cuts of the first run."""
    own = [cut for cut in run.cuts if cut.run == 0]
    lines = []
    for cut in own[:MOST_CUTS]:
        sizes = f"{int((~cut.side).sum())} and {int(cut.side.sum())}"
        words = f"round {cut.number + 1}: {len(cut.members)} clients into {sizes}"
        if run.moves is not None:
            words += f", largest cosine across {run.across(cut)[0]:.3f}"
        lines.append(words)
    if len(own) > MOST_CUTS:
        lines[-1] += f"; and {len(own) - MOST_CUTS} more"
    return entry("Cuts", *(lines or ["none"]))
