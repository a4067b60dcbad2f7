"""The groups of clients that a run finds: how many, which, and since when."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from clusterproof.algorithms import Trace, purity
from clusterproof.theory.bounds.numbers import many, short
from clusterproof.theory.runs.bounded import FEWEST_RUNS
from clusterproof.theory.runs.page import Entry, entry
from clusterproof.theory.runs.sections import replicated

MOST_NAMED = 3
"""Merged clusters up to which each pair is named."""


def partition(labels: np.ndarray) -> np.ndarray:
    """Return the first client of every client's group, (m,): equal for equal groups, however they are numbered."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse])


def settled(labels: np.ndarray) -> int:
    """Return the first round after which the groups (rounds, m) never change."""
    last = partition(labels[-1])
    for number in range(len(labels) - 1, 0, -1):
        if not np.array_equal(partition(labels[number - 1]), last):
            return number + 1
    return 1


def last_known(trace: Trace) -> np.ndarray:
    """Return every client's cluster when it last took part, by round and run, (rounds, R, m); -1 before that."""
    known = np.array(replicated(trace.assignments, trace), dtype=np.int64)
    for before, now in pairwise(known):
        np.copyto(now, before, where=now < 0)
    return known


def is_true(labels: np.ndarray, truth: np.ndarray) -> bool:
    """Whether groups (m,) are the true ones, and every client has one."""
    return bool((labels >= 0).all() and (partition(labels) == partition(truth)).all())


def found_words(labels: np.ndarray, truth: np.ndarray) -> str:
    """Say how many groups (rounds, R, m) there are in the end, whether they are the true ones, and since when."""
    ends, runs = labels[-1], labels.shape[1]
    right = [is_true(end, truth) for end in ends]
    since = max(settled(labels[:, run]) for run in range(runs))
    counts = sorted({len(np.unique(end[end >= 0])) for end in ends})
    if runs == 1:
        verdict = "the true ones" if right[0] else f"not the true {len(np.unique(truth))}"
        return f"{counts[0]}, {verdict}, from round {since}"
    number = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{number}, the true ones in {sum(right)} of {runs} runs, all from round {since}"


def groups_entry(trace: Trace, *more: str) -> Entry:
    """Return the entry Groups: those found, their purity, and further sentences."""
    labels = last_known(trace)
    if not len(labels):
        return entry("Groups", "no round was run", *more)
    purities = np.array([purity(end, trace.labels) for end in labels[-1]])
    measured = f"purity {short(float(np.median(purities)))}"
    if len(purities) >= FEWEST_RUNS or np.ptp(purities) > 0:
        measured += f" (median; least {short(float(purities.min()))})"
    absent = int((labels[-1] < 0).any(axis=0).sum())
    never = f"; {many(absent, 'client')} never took part" if absent else ""
    return entry("Groups", f"{found_words(labels, trace.labels)}; {measured}{never}", *more)


def merged_words(trace: Trace, remedy: str) -> tuple[str, ...]:
    """Name true clusters that share a group after the last round of the first run in which some do, with a remedy."""
    labels = last_known(trace)
    if not len(labels):
        return ()
    runs = [end for end in labels[-1] if (end >= 0).all()]
    found = [pairs for end in runs if (pairs := _merged(end, trace.labels))]
    if not found:
        return ()
    where = f" in {len(found)} of {len(runs)} runs" if len(runs) > 1 else ""
    pairs = found[0]
    names = "; ".join(f"clusters {one + 1} and {other + 1} are in one group" for one, other in pairs)
    if len(pairs) > MOST_NAMED or len(found) > 1:
        names = "some clusters are in one group"
    return (f"{names}{where}; {remedy}",)


def _merged(labels: np.ndarray, truth: np.ndarray) -> list[tuple[int, int]]:
    """Return pairs of true clusters whose clients have the same group most often."""
    usual = [int(np.bincount(labels[truth == cluster]).argmax()) for cluster in range(int(truth.max()) + 1)]
    first = {group: usual.index(group) for group in usual}
    return [(first[group], cluster) for cluster, group in enumerate(usual) if first[group] != cluster]
