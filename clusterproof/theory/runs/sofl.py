"""Runs of SoFL: the rounds of their clusterings, and the cosines at these."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from clusterproof.algorithms.bipartition import cosine_similarities
from clusterproof.theory.runs.group_run import GroupRun


class ClusteredRun(GroupRun):
    """A run of SoFL."""

    @cached_property
    def when(self) -> list[int | None]:
        """The round of each run, counted from 0, in which the clients were clustered; None before the clustering."""
        found: list[int | None] = []
        for one in range(self.runs):
            apart = [len(np.unique(groups)) > 1 for groups in self.labels[:, one]]
            start = self.algorithm.pretraining
            late = start if self.algorithm.trigger == "round" and len(apart) > start else None
            found.append(apart.index(True) if True in apart else late)
        return found

    @property
    def first(self) -> int | None:
        """The clustering round of the first run."""
        return self.when[0]

    @cached_property
    def cosines(self) -> tuple[float, float]:
        """The mean cosine of two clients of one cluster, and of two clusters, at the clusterings; 0 if none."""
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
