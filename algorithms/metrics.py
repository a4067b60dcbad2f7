"""How well an assignment of clients agrees with the true clusters."""

from __future__ import annotations

import numpy as np


def contingency(assignments: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Count clients by (assigned cluster, true cluster); absent clients (-1) are left out.

    Parameters
    ----------
    assignments, labels
        Integers (m,).
    """
    present = assignments >= 0
    found, rows = np.unique(assignments[present], return_inverse=True)
    truth, columns = np.unique(labels[present], return_inverse=True)
    table = np.zeros((len(found), len(truth)), dtype=np.int64)
    np.add.at(table, (rows, columns), 1)
    return table


def cluster_count(assignments: np.ndarray) -> int:
    """Count the clusters that have clients; absent clients (-1) are left out.

    Purity never falls when clusters are split, and is 1 for singletons: it says nothing without
    this number or the adjusted Rand index beside it.

    Parameters
    ----------
    assignments
        Integers (m,).
    """
    return len(np.unique(assignments[assignments >= 0]))


def purity(assignments: np.ndarray, labels: np.ndarray) -> float:
    """Share of clients that belong to the majority true cluster of their assigned cluster.

    Parameters
    ----------
    assignments, labels
        Integers (m,); absent clients are -1 and are left out.

    Returns
    -------
    float
        In (0, 1]; NaN where nobody is present.
    """
    table = contingency(assignments, labels)
    return float(table.max(axis=1).sum() / table.sum()) if table.size else float("nan")


def adjusted_rand_index(assignments: np.ndarray, labels: np.ndarray) -> float:
    """Agreement of two partitions, corrected for chance (Hubert and Arabie, 1985).

    Parameters
    ----------
    assignments, labels
        Integers (m,); absent clients are -1 and are left out.

    Returns
    -------
    float
        1 for equal partitions, 0 on average for random ones; NaN where nobody is present.
    """
    table = contingency(assignments, labels).astype(float)
    if not table.size:
        return float("nan")

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    total = pairs(table.sum(keepdims=True))
    found, truth = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = found * truth / total if total else 0.0
    largest = (found + truth) / 2
    return 1.0 if largest == expected else (pairs(table) - expected) / (largest - expected)
