"""Claims on purity, and on the number of classes that clusters share."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any

from clusterproof.checker.claims import (
    Sides,
    Z,
    among,
    at_least,
    at_most,
    claim,
    equal,
    integers,
    iterate,
    known,
    sequences,
    suppose,
)

FOUND = ["".join(each) for size, names in ((6, "012"), (4, "01")) for each in product(names, repeat=size)]


@claim(
    "gradient-loss/purity",
    label="Section III-A3, purity, one to one",
    source="reading",
    error_kind="wording",
    repaired_by="gradient-loss/purity-bound",
    evaluations=2235,
    expected="violated",
    places="section 3-A3",
)
def purity_as_accuracy(true: str = among("001122", "000111", "0011"), found: str = among(*FOUND)) -> Sides:
    """Purity is the share of correct clients under the best one-to-one assignment of clusters to true clusters.

    Hypotheses
        ``true`` and ``found`` have a cluster for each client, such as "000012". True clusters are of equal size, as
        in Section III-A1. There are at most as many clusters as true clusters, and the assignment maximises the
        share.

    Statement
        P = (1 / M) sum_k max_j |M*_j and M_k| is at most the share of correct clients for the best one-to-one
        assignment. M_k contains the clients of cluster k, and M*_j contains the clients of true cluster j. A client
        is correct if its cluster is assigned to its true cluster.

    Source
        Lin et al. (2023), Section III-A3: "purity which is defined as the percentage of devices that are classified
        correctly". By the paper's formula, a client is correct if most clients of its cluster have the same true
        cluster as the client. The reading adds a one-to-one assignment. The two definitions differ because one true
        cluster may be the majority in several clusters. With two true clusters of equal size they agree.
    """
    suppose("both name a cluster for each device", len(true) == len(found))
    suppose("there are no more clusters than true ones", all(each in true for each in found))
    pairs, names = list(zip(found, true, strict=True)), [each for each in "012" if each in true]
    counted = sum(max(pairs.count((k, j)) for j in names) for k in names)
    namings = (zip(names, order, strict=True) for order in permutations(names))
    correct = max(sum(pairs.count(pair) for pair in naming) for naming in namings)
    return at_most(counted, correct=correct)


CLUSTERS = 4
COUNT: Any = integers(0, 4, upwards=True)
OF_CLUSTER: Any = sequences(COUNT, CLUSTERS)
TABLE: Any = sequences(COUNT, CLUSTERS**2)


@claim(
    "gradient-loss/purity-bound",
    label="Section III-A3, purity",
    source="ours",
    expected="certified",
    places="section 3-A3",
)
def purity_bound(counts: tuple[int, ...] = TABLE) -> dict[str, Sides]:
    """Purity is at least the share of correct clients, and never decreases when clusters are split.

    Statement
        P is at least the largest share of correct clients over one-to-one assignments. Splitting clusters does not
        decrease P, and P = 1 if every client is a cluster. So P is informative only together with the number of
        clusters. The check uses four clusters and four true clusters, which may be empty. ``counts`` are arbitrary
        numbers of clients in each pair of a cluster and a true cluster. Both sides are multiplied by the number of
        clients.

    Source
        Ours.
    """
    rows = [counts[CLUSTERS * k : CLUSTERS * (k + 1)] for k in range(CLUSTERS)]
    namings = permutations(range(CLUSTERS))
    correct = [sum(row[j] for row, j in zip(rows, naming, strict=True)) for naming in namings]
    return {"correct": at_least([sum(map(most, rows))] * len(correct), share=correct)}


def most(row: Sequence[Any], bound: Any = None) -> Any:
    """Return the largest count. A proof replaces it by an upper bound."""

    def says(largest: Any) -> tuple[Any, ...]:
        return tuple(largest >= each for each in row) + (() if bound is None else (largest <= bound,))

    return known(lambda: max(row), says)


@purity_bound.line("refinement")
def of_a_refinement(
    first: tuple[int, ...] = OF_CLUSTER, second: tuple[int, ...] = OF_CLUSTER, others: int = COUNT
) -> Sides:
    """Check the split of one cluster in two. The sum of the largest counts of all other clusters is ``others``."""
    split = most(first) + most(second)
    whole = most([one + other for one, other in zip(first, second, strict=True)], split)
    return at_least(others + split, whole=others + whole)


@purity_bound.line("singletons")
def of_singletons(devices: int = Z[1:]) -> Sides:
    """Check the purity if each client is a cluster."""
    correct = iterate(
        lambda sum_: sum_ + max(1, 0), Fraction(0), devices, invariant=lambda sum_, n: sum_ == n
    )
    return equal((correct / devices, 1))


MERGED = "CIJKLMOPSUVWXYZ"
"""Letters of EMNIST whose small and capital forms are one class."""

OVERLAPS = {"10 classes": (10, 8, 6), "EMNIST": (62 - len(MERGED), 40, 33)}
"""Number of classes, number of classes per cluster, and least number of classes that two clusters share."""


@claim("gradient-loss/class-overlap", label="Section III-A1", expected="certified", places="section 3-A1")
def class_overlap(data: str = among(*OVERLAPS), unused: int = Z[0:]) -> Sides:
    """Clients in different clusters have at least 6 common classes.

    Hypotheses
        There are 10 classes, and each cluster has 8 of them. EMNIST has 62 classes, 15 pairs of them are merged, and
        each of 8 clusters has 40 classes.

    Statement
        Any two clusters share at least 6 classes. For EMNIST 47 classes remain, and any two clusters share at least
        33. In EMNIST each of 8 clusters lacks 7 of 47 classes, so at least two clusters lack a common class.

    Source
        Lin et al. (2023), Section III-A1 (MNIST, Fashion-MNIST, CIFAR10; 33 is ours).
    """
    classes, kept, shared = OVERLAPS[data]
    return at_least(2 * kept - (classes - unused), shared=shared)


@class_overlap.step("dropped twice")
def dropped_twice() -> Sides:
    """Check that 8 clusters of EMNIST together lack more than 47 classes."""
    classes, kept, _ = OVERLAPS["EMNIST"]
    return at_least(8 * (classes - kept), classes=classes, one=1)
