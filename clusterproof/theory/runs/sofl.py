"""The page of SoFL: its one clustering, the groups that it leaves, and what is stated of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from clusterproof.algorithms.bipartition import cosine_similarities
from clusterproof.algorithms.cfl import STATIONARY, mean_and_largest
from clusterproof.algorithms.self_organising_map import decayed
from clusterproof.theory.bounds.hypotheses import Need
from clusterproof.theory.bounds.numbers import short
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.papers.sofl.elbow import ALLOWED, COUNTS
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.grouped import GroupRun, rest_entries
from clusterproof.theory.runs.outcomes import judged_events
from clusterproof.theory.runs.page import Entry, Page, entry, following
from clusterproof.theory.runs.theorem import Row, Said, does_not_apply, page_of, says

ABOUT = 0.1
"""Mean cosines that differ by so much are about the same."""

FEWEST_DIVERGING = 60
"""Updates over which the rate of the schedule robbins-monro halves."""


class ClusteredRun(GroupRun):
    """A run of SoFL."""

    @cached_property
    def when(self) -> list[int | None]:
        """The round of each run, counted from 0, in which the clients were clustered; None before it."""
        found: list[int | None] = []
        for one in range(self.runs):
            apart = [len(np.unique(groups)) > 1 for groups in self.labels[:, one]]
            start = self.algorithm.pretraining
            late = start if self.algorithm.trigger == "round" and len(apart) > start else None
            found.append(apart.index(True) if True in apart else late)
        return found

    @property
    def first(self) -> int | None:
        """That round of the first run."""
        return self.when[0]

    @cached_property
    def cosines(self) -> tuple[float, float]:
        """The mean cosine of two clients of a cluster, and of two clusters, at the clusterings; 0 of none."""
        if self.moves is None:
            return 0.0, 0.0
        same = self.task.labels[:, None] == self.task.labels
        pairs = ~np.eye(len(same), dtype=bool)
        each = [(one, number) for one, number in enumerate(self.when) if number is not None]
        found = [cosine_similarities(self.updates(number, one)) for one, number in each]
        inside, across = (
            [float(each[chosen].mean()) for each in found if chosen.any()] for chosen in (same & pairs, ~same)
        )
        return float(np.mean(inside or [0.0])), float(np.mean(across or [0.0]))


def _off(run: ClusteredRun, *, printed: bool) -> tuple[float, float]:
    """Return how far a model is from what line 30 gives its group, as printed or as meant, and the group's share."""
    furthest, share = 0.0, 1.0
    for one, start in enumerate(run.when):
        for number in range(run.rounds if start is None else start, run.rounds):
            groups, sent = run.labels[number, one], run.received[number, one] + run.updates(number, one)
            for group in np.unique(groups):
                members = groups == group
                stated = sent[members].sum(axis=0) / (len(groups) if printed else int(members.sum()))
                away = float(np.abs(run.after[number, one][members] - stated).max())
                if away > furthest:
                    furthest, share = away, float(members.mean())
    return furthest, share


def _clustered(run: ClusteredRun) -> Iterator[Need]:
    yield from run.exact_needs()
    yield Need(any(number is not None for number in run.when), "a clustering", "none yet")


def _clustered_by_its_rounds(run: ClusteredRun) -> Iterator[Need]:
    yield from _clustered(run)
    yield from run.needs_its_rounds()


def _line_30(run: ClusteredRun) -> Said:
    """Compare the models with line 30 as printed, whose weights n_m / n are of the data of all clients."""
    furthest, share = _off(run, printed=True)
    if furthest <= 10 * ROUNDING * run.size:
        words = "all clients are in one group, whose weights n_m/n sum to 1"
        return says("holds", words, furthest, 0.0)
    words = f"its weights sum to {short(share)}, and its sum is {short(furthest)} from the model"
    return says("broken", words, furthest, 0.0)


def _as_meant(run: ClusteredRun) -> Said:
    """Compare the models with the mean of the clients' models in each group: other rounds are not the algorithm's."""
    furthest, _ = _off(run, printed=False)
    if furthest <= 10 * ROUNDING * run.size:
        return says("holds", f"a model is the mean of its group's, to {short(furthest)}", furthest, 0.0)
    return does_not_apply(f"the rounds of {run.algorithm.name}, here a model is {short(furthest)} off")


def _stationary(run: ClusteredRun) -> Iterator[Need]:
    yield run.option("trigger", "stationary")
    yield from run.exact_needs()
    yield Need(run.first is not None, "a clustering", "none yet")
    yield from run.needs_its_rounds()
    assert run.first is not None
    mean, largest = mean_and_largest(run.updates(run.first, 0))
    below = f"a mean update below {STATIONARY:g} of the largest in round {run.first + 1}"
    yield Need(mean < STATIONARY * largest, below, f"{short(mean)} of {short(largest)}")


def _condition(run: ClusteredRun) -> Said:
    """Say what conditions (a) and (b) are worth in the round of the clustering."""
    assert run.first is not None
    mean, largest = mean_and_largest(run.updates(run.first, 0))
    share = mean / largest
    words = (
        f"says nothing by (b): delta_2 < 10 delta_1 = max |Delta w_i| always; (a), as a mean: {short(share)} < "
        f"{STATIONARY:g} in round {run.first + 1}"
    )
    return Said("says nothing", words, share, STATIONARY)


def _count_needs(run: ClusteredRun) -> Iterator[Need]:
    algorithm, sizes = run.algorithm, np.bincount(run.task.labels)
    yield run.option("cluster_count", "silhouette")
    yield from run.exact_needs()
    yield Need(None not in run.when, "a clustering", "none yet")
    yield Need(run.task.clients == 24, "24 clients", str(run.task.clients))
    equal = len(sizes) in COUNTS and int(np.ptp(sizes)) == 0
    yield Need(equal, "1, 2, 4 or 8 equal clusters", str(len(sizes)))
    usual = (algorithm.grid, algorithm.initialisation, algorithm.schedule) == (5, "sample", "as-printed")
    yield Need(usual, "a map of 5 x 5, from samples, as printed", "another")
    inside, across = run.cosines
    supposed = 0.8 if len(sizes) > 1 else 0.1
    alike = abs(inside - supposed) <= ABOUT and abs(across) <= ABOUT
    words = f"mean cosines {supposed:g} inside and 0 across"
    yield Need(alike, words, f"{inside:.2f}, {across:.2f}")
    yield from run.needs_its_rounds()


def _count(run: ClusteredRun) -> Said:
    """Compare the number of groups with ``sofl/guarded-count``, where the updates are such as it supposes."""
    wrong = sum(len(np.unique(groups)) != run.task.clusters for groups in run.labels[-1])
    event, runs = "another number of groups", len(run.labels[-1])
    return judged_events(event, (wrong, wrong), runs=runs, rate=ALLOWED)


def _theorem_1(run: ClusteredRun) -> Said:
    algorithm = run.algorithm
    end = decayed(algorithm.learning_rate, algorithm.updates, algorithm.updates, algorithm.schedule)
    here = f"{algorithm.updates}, {short(float(end))}"
    return does_not_apply(f"updates without end, eta -> 0, here {here}")


def _diverging(run: ClusteredRun) -> Iterator[Need]:
    least = FEWEST_DIVERGING * run.algorithm.learning_rate
    yield run.option("schedule", "robbins-monro")
    yield Need(least >= 1, "60 eta_0 P(X_c) >= 1", f"60 eta_0 = {short(least)}")


MEAN = "it bounds a mean over the orders of the updates, of which a run has one"
ROWS = (
    Row("Line 30", "sofl/algorithm-1-line-30", _line_30, _clustered_by_its_rounds),
    Row("As meant", "sofl/aggregation-in-cluster", _as_meant, _clustered),
    Row("(a), (b)", "sofl/clustering-condition", _condition, _stationary),
    Row("Theorem 1", "sofl/theorem-1", _theorem_1),
    Row("Repaired", "sofl/theorem-1-robbins-monro", says("inconclusive", MEAN), _diverging),
    Row("Count", "sofl/guarded-count", _count, _count_needs),
)


def self_organising_page(run: ClusteredRun) -> Page:
    """Return the page of a run of SoFL."""
    elbow = run.algorithm.cluster_count == "elbow"
    remedy = f"--pretraining {2 * max(run.algorithm.pretraining, 10)}"
    merged = facts.merged_words(run, "--cluster-count silhouette" if elbow else remedy)
    known = [facts.task_entry(run.task), _run_entry(run), facts.groups_entry(run, merged)]
    known += _clustering_entry(run)
    known += facts.error_entry(run, "largest distance from a cluster's optimum") + rest_entries(run)
    option = ("run sofl", "another count of groups")
    if not elbow:
        option = ("run sofl --cluster-count elbow", "the count as published")
    commands = [option, ("check sofl/elbow-exact-winners", "where that fails")]
    if run.quadratics is None:
        commands = [("run sofl", "on quadratics: its updates, exactly")]
    return page_of(facts.title(run), known, ROWS, run, following(*commands))


def _run_entry(run: ClusteredRun) -> Entry:
    algorithm = run.algorithm
    parts = [algorithm.method, facts.descent_words(algorithm, run.task.smoothness)]
    parts += [f"mu {short(algorithm.proximal)}"] * bool(algorithm.proximal)
    parts += [*facts.share_words(algorithm), facts.runs_words(run)]
    rates = f"eta_0 {short(algorithm.learning_rate)}, sigma_0 {short(algorithm.radius)}, {algorithm.schedule}"
    side = f"map {algorithm.grid} x {algorithm.grid}"
    map_words = f"{side}, {algorithm.updates} updates, {rates}; {algorithm.cluster_count}"
    return entry("Run", ", ".join(parts), map_words)


def _clustering_entry(run: ClusteredRun) -> list[Entry]:
    """Return the entry Updates: the cosines that the first run was clustered by."""
    if run.first is None or run.moves is None:
        return []
    cosines = cosine_similarities(run.updates(run.first, 0))
    same = run.task.labels[:, None] == run.task.labels
    words = f"round {run.first + 1}: cosine inside a cluster at least {cosines[same].min():.3f}"
    across = "" if same.all() else f", across at most {cosines[~same].max():.3f}"
    return [entry("Updates", f"{words}{across}")]
