"""Runs of GL-CFL, CFL and SoFL: groups of clients, rounds within groups, splits of CFL, and clusterings of SoFL.

On exact quadratics, the update of client i from its group's model w is -Q_i (w - b_i). The group's model changes by
the mean update of the group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clusterproof.algorithms import GradientLoss, SoFL
from clusterproof.algorithms.bipartition import cosine_similarities, cross_similarity
from clusterproof.theory.bounds.hypotheses import Hypothesis, all_met
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.papers.fpfc.fusion import weakest_link
from clusterproof.theory.runs.run import Run


def partition(labels: np.ndarray) -> np.ndarray:
    """Return for each client the first client in its group, (m,). The result does not depend on the groups' numbers."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse])


def settled(labels: np.ndarray) -> int:
    """Return the first round after which the groups (rounds, R, m) stay unchanged in all runs."""
    parts = np.apply_along_axis(partition, -1, labels)
    changed = np.flatnonzero((parts[1:] != parts[:-1]).any(axis=(1, 2)))
    return int(changed[-1]) + 2 if len(changed) else 1


def is_true(labels: np.ndarray, truth: np.ndarray) -> bool:
    """Return whether every client has a group, and the groups (m,) equal the true clusters."""
    return bool((labels >= 0).all() and (partition(labels) == partition(truth)).all())


def merged(ends: np.ndarray, truth: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Return the pairs of true clusters that share a group, in the first run with such a pair, counted from 1."""
    for end in ends:
        if (end < 0).any():
            continue
        members = [end[truth == cluster] for cluster in np.unique(truth)]
        usual = [
            int(np.bincount(groups).argmax()) for groups in members
        ]  # the group with most of its clients
        pairs = [
            (usual.index(group) + 1, other + 1) for other, group in enumerate(usual) if group in usual[:other]
        ]
        if pairs:
            return tuple(pairs)
    return ()


class GroupRun(Run):
    """A run in which clients have groups."""

    @cached_property
    def _of_clients(self) -> tuple[np.ndarray, np.ndarray]:
        received, after = self.models[:-1], self.models[1:]
        if not isinstance(self.algorithm, GradientLoss):
            return received, after
        chosen = np.maximum(self.labels, 0)[..., None]  # one model per group; each client chooses a group
        first, last = (np.take_along_axis(part, chosen, axis=2) for part in (received, after))
        return first, last

    @property
    def received(self) -> np.ndarray:
        """The model of every client's group before each round, (T, R, m, d)."""
        return self._of_clients[0]

    @property
    def after(self) -> np.ndarray:
        """The model of every client's group after each round, (T, R, m, d)."""
        return self._of_clients[1]

    @property
    def centers(self) -> np.ndarray:
        """Minimisers b_i of the clients' losses, (m, d)."""
        assert self.quadratics is not None
        return self.quadratics[1]

    def exact_needs(self) -> Iterator[Hypothesis]:
        """Yield the hypotheses under which a client's update is known."""
        yield from super().exact_needs()
        if isinstance(self.algorithm, GradientLoss):
            yield self.option("empty_cluster", "never")

    @cached_property
    def moves(self) -> np.ndarray | None:
        """Matrices Q_i, (m, d, d), such that the update of client i is -Q_i (w - b_i), or None if they are unknown."""
        if not all_met(self.exact_needs()):
            return None
        assert self.quadratics is not None
        algorithm, (hessians, _) = self.algorithm, self.quadratics
        step, identity = algorithm.step_size, np.eye(hessians.shape[-1])
        if isinstance(algorithm, GradientLoss):
            return np.asarray(step * hessians)
        method = getattr(algorithm, "method", "")
        if isinstance(algorithm, SoFL) and method == "fedprox":
            return affine_rounds.pulled_cover(hessians, algorithm.proximal, step, algorithm.local_steps)
        curvature = hessians
        if isinstance(algorithm, SoFL) and method == "per-fedavg":
            curvature = hessians @ (identity - step / 2 * hessians)
        return affine_rounds.covered(curvature, step, algorithm.local_steps)

    def updates(self, number: int, run: int) -> np.ndarray:
        """Return the clients' updates, (m, d), in a round. Rounds are counted from 0."""
        assert self.moves is not None
        return np.asarray(-np.einsum("mij,mj->mi", self.moves, self.received[number, run] - self.centers))

    def means(self, number: int, run: int, values: np.ndarray) -> np.ndarray:
        """Return the mean of values (m, d) over each client's group in a round."""
        chosen = self.labels[number, run][:, None] == self.labels[number, run]
        return np.asarray(chosen @ values / chosen.sum(axis=1)[:, None])

    @cached_property
    def difference(self) -> tuple[int, float] | None:
        """The first round in which models differ from exactly computed models, and their distance.

        It is None if there is no such round.
        """
        if self.moves is None:
            return None
        for number in range(self.rounds):
            before = self.received[number]
            size = max(float(np.abs(before).max()), float(np.abs(self.centers).max()))
            for one in range(self.runs):
                means = self.means(number, one, self.updates(number, one))
                away = float(np.abs(self.after[number, one] - before[one] - means).max())
                if not away <= 10 * ROUNDING * size:
                    return number + 1, away
        return None

    @cached_property
    def rest(self) -> tuple[np.ndarray, float]:
        """Distances between clients' models and their groups' fixed points, (T, R, m), and the spectral radius."""
        assert self.moves is not None
        rests, radius = np.empty(self.after.shape[1:]), 0.0
        for one, labels in enumerate(self.labels[-1]):
            for group in np.unique(labels):
                members = labels == group
                rests[one, members] = affine_rounds.weighted_mean(self.moves[members], self.centers[members])
                radius = max(
                    radius,
                    affine_rounds.radius(np.eye(self.moves.shape[-1]) - self.moves[members].mean(axis=0)),
                )
        return np.linalg.norm(self.after - rests, axis=-1), radius


@dataclass(frozen=True, eq=False)
class Cut:
    """A split of a cluster in a round of a run, both counted from 0. ``side`` (k,) is True for the new cluster."""

    number: int
    run: int
    members: np.ndarray
    side: np.ndarray


class CutRun(GroupRun):
    """A run of CFL."""

    @cached_property
    def cuts(self) -> list[Cut]:
        """The changes of the groups that split one cluster in two. All other changes are ignored."""
        return list(cuts_of(self.labels))

    def across(self, cut: Cut) -> tuple[float, float, float, float]:
        """Return the largest cosine across a split, its minimum over splits, the tolerance, and the smallest gap."""
        updates = self.updates(cut.number, cut.run)[cut.members]
        cosines = cosine_similarities(updates)
        pairs = np.sort(cosines[np.triu_indices(len(cosines), 1)])
        shortest = float(np.linalg.norm(updates, axis=-1).min())
        tolerance = ROUNDING * (1 + self.size / shortest) if shortest > 0 else np.inf
        gap = float(np.diff(pairs).min(initial=1.0))
        return cross_similarity(cosines, cut.side), weakest_link(cosines)[0], tolerance, gap


def cuts_of(labels: np.ndarray) -> Iterator[Cut]:
    """Yield the changes of groups (T, R, m) that split one cluster in two, and ignore all other changes."""
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


class ClusteredRun(GroupRun):
    """A run of SoFL."""

    @cached_property
    def when(self) -> list[int | None]:
        """Round, counted from 0, in which the server of each run clustered the clients, or None if it never did."""
        found: list[int | None] = []
        for one in range(self.runs):
            apart = [len(np.unique(groups)) > 1 for groups in self.labels[:, one]]
            start = self.algorithm.pretraining
            late = start if self.algorithm.trigger == "round" and len(apart) > start else None
            found.append(apart.index(True) if True in apart else late)
        return found

    @property
    def first(self) -> int | None:
        """The round in which the server of the first run clustered the clients."""
        return self.when[0]

    @cached_property
    def cosines(self) -> tuple[float, float]:
        """Mean cosines when the server clusters: for clients of the same cluster, and of different clusters.

        A mean over no pairs is 0.
        """
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
