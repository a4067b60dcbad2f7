"""Purity, and the numbers of the data sets."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np

from algorithms import purity
from algorithms.metrics import contingency
from theory.claim import Context, register
from theory.counterexample import Instance, Number, replay_with, seek
from theory.identities import judge_largest
from theory.verdict import Finding, Kind


def correct_devices(assignments: np.ndarray, labels: np.ndarray) -> int:
    """Most devices whose cluster is the true one, over all one-to-one namings of the clusters.

    Parameters
    ----------
    assignments, labels
        Integers (m,).
    """
    table = contingency(assignments, labels)
    size = max(table.shape)
    square = np.zeros((size, size), dtype=np.int64)
    square[: table.shape[0], : table.shape[1]] = table
    return max(int(sum(square[k, j] for k, j in enumerate(order))) for order in permutations(range(size)))


def clusterings(instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    """Found and true clusters of an instance."""
    count = int(instance["devices"])
    found = [int(instance[f"found_{i}"]) for i in range(count)]
    truth = [int(instance[f"true_{i}"]) for i in range(count)]
    return np.array(found), np.array(truth)


def counted(instance: Instance) -> tuple[Number, Number]:
    """Devices that purity counts, and devices that are classified correctly."""
    found, truth = clusterings(instance)
    if len(np.unique(truth)) < 2:
        return 0, 0
    return round(purity(found, truth) * len(truth)), correct_devices(found, truth)


def instances() -> Any:
    """Give two partitions of up to 6 devices into two clusters, as a hypothesis strategy."""
    from hypothesis import strategies as st

    def draw(count: int) -> Any:
        names = [f"{kind}_{i}" for kind in ("true", "found") for i in range(count)]
        bits: dict[str, Any] = {name: st.integers(0, 1) for name in names}
        return st.fixed_dictionaries({"devices": st.just(count)} | bits)

    return st.integers(2, 6).flatmap(draw)


@register("gradient-loss/purity", label="Section III-A3, purity", kind="identity", replay=replay_with(counted),
          repaired_by="gradient-loss/purity-bound")  # fmt: skip
def purity_as_accuracy(context: Context) -> Finding:
    """Purity is the percentage of devices that are classified correctly.

    Hypotheses
        As many clusters as true ones, K = 2; clusters are named as favourably as possible, one to one.

    Statement
        P = (1 / M) sum_k max_j |M*_j and M_k| is the share of devices in their true cluster.

    Symbols
        M_k the devices of cluster k, M*_j those of true cluster j.

    Source
        Lin et al. (2023), Section III-A3. Several clusters may have the same true cluster as their
        majority, and its devices then count in all of them.

    Checked
        All pairs of partitions of up to 6 devices that the search tries: M P against the best one-to-one
        naming by trying all.
    """
    return seek(
        context,
        instances(),
        counted,
        violated=lambda one, measured, allowed: (
            f"true clusters {clusterings(one)[1].tolist()}, found {clusterings(one)[0].tolist()}: purity counts "
            f"{measured} of {one['devices']} devices, and no naming of the clusters makes more than {allowed} right"
        ),
        consistent="purity counts the devices in their true clusters",
    )


def purity_shortfall(stream: np.random.Generator) -> float:
    """By how much purity is below the share of correct devices, or falls when a cluster is split."""
    count, clusters = int(stream.integers(2, 15)), int(stream.integers(1, 5))
    truth, found = stream.integers(0, clusters, (2, count))
    split = found * 2 + stream.integers(0, 2, count)
    value = purity(found, truth)
    return max(correct_devices(found, truth) / count - value, value - purity(split, truth))


@register("gradient-loss/purity-bound", label="Section III-A3, purity (ours)", kind="lower")
def purity_bound(context: Context) -> Finding:
    """Purity is at least the share of correct devices, and never falls when clusters are split.

    Hypotheses
        None.

    Statement
        P >= max over one-to-one namings of the share of correct devices; P of a refinement is at least
        P, and 1 for singletons. Only with the number of clusters beside it does P say something.

    Symbols
        As ``gradient-loss/purity``.

    Source
        Ours.

    Checked
        Random partitions of up to 14 devices into up to 4 clusters, all namings, random splits.
    """
    return judge_largest(context, purity_shortfall, "shortfall of purity", trials=200, tolerance=1e-12)


def least_overlap(classes: int, kept: int, clusters: int) -> tuple[int, int]:
    """Least number of common classes of two clusters that keep so many, and least of any in common.

    The second is the least for the best-spread choice: how many classes are dropped more than once.
    """
    dropped = classes - kept
    return classes - 2 * dropped, max(0, clusters * dropped - classes)


@register("gradient-loss/class-overlap", label="Section III-A1", kind="lower")
def class_overlap(context: Context) -> Finding:
    """Devices in different clusters have at least 6 common classes.

    Hypotheses
        10 classes, each cluster with 8 of them. EMNIST: 62 classes, of which 15 pairs are merged, each of
        8 clusters with 40.

    Statement
        Any two clusters share at least 6 classes; for EMNIST 47 classes remain, and any two clusters share
        at least 33. 8 clusters drop 7 of 47 each, so that some class is dropped twice.

    Symbols
        None.

    Source
        Lin et al. (2023), Section III-A1 (MNIST, Fashion-MNIST, CIFAR10; 33 is ours).

    Checked
        All 45 x 45 pairs of clusters of 8 of 10 classes; the count 62 - 15; the pigeonhole numbers.
    """
    keeps = [frozenset(each) for each in combinations(range(10), 8)]
    least = min(len(one & other) for one in keeps for other in keeps)
    merged = 62 - len(set("CIJKLMOPSUVWXYZ"))
    shared, twice = least_overlap(merged, 40, 8)
    right = (least, least_overlap(10, 8, 4)[0], merged, shared) == (6, 6, 47, 33)
    return Finding(
        verdict=Kind.CERTIFIED if right else Kind.VIOLATED,
        reason=f"over all {len(keeps) ** 2} pairs two clusters share at least {least} of 10 classes; EMNIST keeps "
        f"{merged} classes, two clusters share at least {shared}, and {twice} of the 56 drops repeat a class",
        measured=float(least),
        bound=6.0,
        trials=len(keeps) ** 2,
        failures=sum(len(one & other) < 6 for one in keeps for other in keeps),
    )
