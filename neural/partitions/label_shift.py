"""SoFL's label skew: each group of clients has its labels shifted by another number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clusterproof.algorithms.validation import InvalidArgument, check_count
from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.partitions.groups import make_groups
from clusterproof.neural.partitions.partition import Partition, recipe


@recipe
def label_shift(
    data: ImageSet,
    *,
    seed: int,
    clusters: int = 4,
    clients_per_cluster: int | None = None,
    images: int | None = None,
    share: str = "split",
    shifts: Sequence[int] | None = None,
) -> Partition:
    """Replace the labels y of group k by (y + s_k) mod C.

    Source: SoFL, section 5.1.1, "label distribution skew": s = 0, 2, 4, 6 for K = 4. It prints
    "label = label + i % 10", read here as (label + i) mod 10, or labels beyond 9 would arise. Its
    Table 4 has K = 2 and K = 8 too, without their shifts: of 10 labels only five even shifts are
    distinct. Here s_k = 2 k while that is below C, else s_k = k. What else the paper leaves out stands
    with ``clusterproof.neural.partitions.groups.make_groups``, which has the other arguments too.

    Parameters
    ----------
    clusters
        K, at most the number of classes.
    shifts
        One for each group, distinct modulo C.

    Raises
    ------
    InvalidArgument
        If an argument breaks its rule or the images do not suffice.
    """
    shifts = choose_shifts(shifts, clusters, data.train.classes)
    return make_groups(
        "label-shift",
        data,
        seed=seed,
        clusters=clusters,
        clients_per_cluster=clients_per_cluster,
        images=images,
        share=share,
        relabel=shifted_labels(shifts, data.train.classes),
        extra={"shifts": shifts},
    )


def choose_shifts(shifts: Sequence[int] | None, clusters: int, classes: int) -> list[int]:
    """Fill in the shifts, or check those that are given.

    Raises
    ------
    InvalidArgument
        If there are more groups than distinct shifts, or the shifts are not one for each group,
        distinct modulo the number of classes.
    """
    check_count("clusters", clusters, at_least=1, remedy="give the number of groups")
    if clusters > classes:
        rule = f"must be at most {classes}, the number of distinct shifts of {classes} labels"
        raise InvalidArgument("clusters", clusters, rule, "give fewer")
    if shifts is None:
        step = 2 if 2 * (clusters - 1) < classes else 1
        return [step * cluster for cluster in range(clusters)]
    if not isinstance(shifts, list | tuple):
        raise InvalidArgument("shifts", shifts, "must be a list of integers", "give one for each cluster")
    for shift in shifts:
        check_count("shifts", shift, at_least=0, remedy="give non-negative integers")
    if len(shifts) != clusters or len({shift % classes for shift in shifts}) != clusters:
        rule = f"must be {clusters} integers, one for each cluster, distinct modulo {classes}"
        raise InvalidArgument("shifts", list(shifts), rule, "give others, or change clusters")
    return [int(shift) for shift in shifts]


def shifted_labels(shifts: Sequence[int], classes: int) -> np.ndarray:
    """The label in place of each, (clusters, classes)."""
    return np.asarray((np.arange(classes) + np.asarray(shifts)[:, None]) % classes)
