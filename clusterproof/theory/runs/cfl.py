"""Runs of CFL and their cuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clusterproof.algorithms.bipartition import cosine_similarities, cross_similarity
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.papers.fpfc.fusion import weakest_link
from clusterproof.theory.runs.group_run import GroupRun


@dataclass(frozen=True, eq=False)
class Cut:
    """A cluster that is cut in two in a round of a run, counted from 0; ``side`` (k,) marks the new cluster."""

    number: int
    run: int
    members: np.ndarray
    side: np.ndarray


class CutRun(GroupRun):
    """A run of CFL."""

    @cached_property
    def cuts(self) -> list[Cut]:
        """Its cuts that split one cluster; all other cuts are left out."""
        return list(cuts_of(self.labels))

    def across(self, cut: Cut) -> tuple[float, float, float, float]:
        """Return the largest cosine across a cut, the least over all cuts, rounding, and the least gap of cosines."""
        updates = self.updates(cut.number, cut.run)[cut.members]
        cosines = cosine_similarities(updates)
        pairs = np.sort(cosines[np.triu_indices(len(cosines), 1)])
        shortest = float(np.linalg.norm(updates, axis=-1).min())
        tolerance = ROUNDING * (1 + self.size / shortest) if shortest > 0 else np.inf
        gap = float(np.diff(pairs).min(initial=1.0))
        return cross_similarity(cosines, cut.side), weakest_link(cosines)[0], tolerance, gap


def cuts_of(labels: np.ndarray) -> Iterator[Cut]:
    """Yield the cuts of groups (T, R, m) that split one cluster; all other cuts are left out."""
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
