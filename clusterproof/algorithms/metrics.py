"""Measures of agreement between an assignment of clients and the true clusters."""

from __future__ import annotations

import numpy as np


def contingency(assignments: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Count clients by (assigned cluster, true cluster), of integers (m,); absent clients (-1) are left out."""
    present = assignments >= 0
    assigned, rows = np.unique(assignments[present], return_inverse=True)
    truth, columns = np.unique(labels[present], return_inverse=True)
    table = np.zeros((len(assigned), len(truth)), dtype=np.int64)
    np.add.at(table, (rows, columns), 1)
    return table


def cluster_count(assignments: np.ndarray) -> int:
    """Count the clusters that have clients, of integers (m,); absent clients (-1) are left out.

    Purity never decreases when clusters are split, and is 1 for singletons: report it together with
    this number or the adjusted Rand index.
    """
    return len(np.unique(assignments[assignments >= 0]))


def purity(assignments: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of clients whose true cluster is the majority in their assigned cluster, in (0, 1].

    ``assignments`` and ``labels`` are integers (m,); absent clients (-1) are left out. NaN if all are absent.
    """
    table = contingency(assignments, labels)
    return float(table.max(axis=1).sum() / table.sum()) if table.size else float("nan")


def adjusted_rand_index(assignments: np.ndarray, labels: np.ndarray) -> float:
    """Return the agreement of two partitions, corrected for chance (Hubert and Arabie, 1985).

    1 for equal partitions and 0 on average for random ones, of integers (m,); absent clients (-1) are left out.
    NaN if all are absent.
    """
    table = contingency(assignments, labels).astype(float)
    if not table.size:
        return float("nan")

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    total = pairs(table.sum(keepdims=True))
    assigned, truth = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = assigned * truth / total if total else 0.0
    largest = (assigned + truth) / 2
    return 1.0 if largest == expected else (pairs(table) - expected) / (largest - expected)
