"""The groups of clients that a run finds: their members, their first round, and whether they are the true clusters."""

from __future__ import annotations

import numpy as np


def partition(labels: np.ndarray) -> np.ndarray:
    """Return the first client of every client's group, (m,): independent of the groups' numbers."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse])


def settled(labels: np.ndarray) -> int:
    """Return the first round after which no run's groups (rounds, R, m) change."""
    parts = np.apply_along_axis(partition, -1, labels)
    changed = np.flatnonzero((parts[1:] != parts[:-1]).any(axis=(1, 2)))
    return int(changed[-1]) + 2 if len(changed) else 1


def is_true(labels: np.ndarray, truth: np.ndarray) -> bool:
    """Whether groups (m,) are the true clusters, and every client has a group."""
    return bool((labels >= 0).all() and (partition(labels) == partition(truth)).all())


def merged(ends: np.ndarray, truth: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Return pairs of true clusters, from 1, that share a group, for the first run of ends (R, m) with such a pair."""
    for end in ends:
        if (end < 0).any():
            continue
        members = [end[truth == cluster] for cluster in np.unique(truth)]
        usual = [int(np.bincount(groups).argmax()) for groups in members]  # the group of most of its clients
        pairs = [
            (usual.index(group) + 1, other + 1) for other, group in enumerate(usual) if group in usual[:other]
        ]
        if pairs:
            return tuple(pairs)
    return ()
