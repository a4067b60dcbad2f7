"""Purity, and the numbers of the data sets."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from clusterproof.algorithms import purity
from clusterproof.algorithms.metrics import contingency
from clusterproof.theory.claims import Sides, Stream, Z, among, at_least, at_most, claim, equal, suppose
from clusterproof.theory.exact.algebra import NotNegative, Positive

FOUND = ["".join(each) for size, names in ((6, "012"), (4, "01")) for each in product(names, repeat=size)]


@claim(
    "gradient-loss/purity",
    label="Section III-A3, purity, one to one",
    judges="reading",
    failure="wording",
    repaired_by="gradient-loss/purity-bound",
    evaluations=2235,
)
def purity_as_accuracy(true: str = among("001122", "000111", "0011"), found: str = among(*FOUND)) -> Sides:
    """Purity is the share of devices in their true cluster, where clusters are named one to one.

    Hypotheses
        ``true`` and ``found`` have a cluster for each device, such as "000012". True clusters are of equal size, as in
        Section III-A1, and there are no more clusters than true ones, which are named as favourably as possible.

    Statement
        P = (1 / M) sum_k max_j |M*_j and M_k|, with M_k the devices of cluster k and M*_j those of true cluster j, is
        at most the share of devices in the true cluster that names theirs, for the best one-to-one naming.

    Source
        Lin et al. (2023), Section III-A3: "purity which is defined as the percentage of devices that are classified
        correctly". By the formula there, "correctly" is by the majority of the cluster; one-to-one naming is the
        reading's. Several clusters may have the same true cluster as their majority, and its devices then count in
        all of them. With two true clusters of equal size the two agree.
    """
    suppose("both name a cluster for each device", len(true) == len(found))
    suppose("there are no more clusters than true ones", all(each in true for each in found))
    pairs, names = list(zip(found, true, strict=True)), [each for each in "012" if each in true]
    counted = sum(max(pairs.count((k, j)) for j in names) for k in names)
    namings = (zip(names, order, strict=True) for order in permutations(names))
    correct = max(sum(pairs.count(pair) for pair in naming) for naming in namings)
    return at_most(counted, correct=correct)


@claim("gradient-loss/purity-bound", label="Section III-A3, purity", judges="ours", evaluations=200)
def purity_bound(stream: Stream, devices: int = Z[2:14], clusters: int = Z[1:4]) -> dict[str, Sides]:
    """Purity is at least the share of correct devices, and never falls when clusters are split.

    Statement
        P >= max over one-to-one namings of the share of correct devices; P of a refinement is at least
        P, and 1 for singletons. P is informative only together with the number of clusters.

    Source
        Ours.
    """
    from scipy.optimize import linear_sum_assignment  # commands start without it

    truth, found, halves = (stream.integers(0, most, devices) for most in (clusters, clusters, 2))
    table, value = contingency(found, truth), purity(found, truth)
    correct = table[linear_sum_assignment(table, maximize=True)].sum()
    return {
        "correct": at_least(value, share=correct / devices),
        "refinement": at_least(purity(2 * found + halves, truth), whole=value),
        "singletons": equal((purity(np.arange(devices), truth), 1.0), rounding=1e-12),
    }


@purity_bound.step("algebra", needed=False)
def purity_bound_on_symbols(
    named: NotNegative,
    named_more: NotNegative,
    first: NotNegative,
    second: NotNegative,
    more: NotNegative,
    still_more: NotNegative,
    devices: Positive,
) -> dict[str, Sides]:
    """The largest counts add up to what a naming chooses at least, and splits have their own.

    ``named`` devices have the true cluster that the naming gives theirs, and the largest counts are ``named_more``
    above that. The largest counts before a split are first + second, by halves; each half's own are that much, or
    more. Each of ``devices`` singletons adds 1 / devices.
    """
    whole, split = (first + second) / devices, ((first + more) + (second + still_more)) / devices
    return {
        "correct": at_least((named + named_more) / devices, share=named / devices),
        "refinement": at_least(split, whole=whole),
        "singletons": equal((devices * (1 / devices), 1)),
    }


MERGED = "CIJKLMOPSUVWXYZ"
"""Letters of EMNIST whose small and capital forms are one class."""

OVERLAPS = {"10 classes": (10, 8, 6), "EMNIST": (62 - len(MERGED), 40, 33)}
"""Classes, how many of them each cluster has, and how many any two are said to share."""


@claim("gradient-loss/class-overlap", label="Section III-A1")
def class_overlap(data: str = among(*OVERLAPS), unused: int = Z[0:]) -> Sides:
    """Devices in different clusters have at least 6 common classes.

    Hypotheses
        10 classes, each cluster with 8 of them. EMNIST: 62 classes, of which 15 pairs are merged, each of
        8 clusters with 40.

    Statement
        Any two clusters share at least 6 classes; for EMNIST 47 classes remain, and any two clusters share
        at least 33. 8 clusters drop 7 of 47 each, so that some class is dropped twice.

    Source
        Lin et al. (2023), Section III-A1 (MNIST, Fashion-MNIST, CIFAR10; 33 is ours).
    """
    classes, kept, shared = OVERLAPS[data]
    return at_least(2 * kept - (classes - unused), shared=shared)


@class_overlap.step("dropped twice")
def dropped_twice() -> Sides:
    """8 clusters of EMNIST drop more classes together than there are."""
    classes, kept, _ = OVERLAPS["EMNIST"]
    return at_least(8 * (classes - kept), classes=classes, one=1)
