"""SoFL's groups of clients: rotated images, shifted labels, and clients of unequal sizes.

Arguments that the recipes share are documented in ``_make_groups``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clusterproof.algorithms.randomness import generator
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_count, check_number
from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.partitions.base import Division, cut, gather_images, recipe, whole_parts
from clusterproof.neural.partitions.rotations import quarter_turns

CLIENTS = 20
"""Clients in all, wherever the number of clusters divides it."""
FLOOR = 0.1
"""The least part of an equal share that a client gets under Dirichlet sizes."""
_PUBLISHED = {"cifar10": 20_000}
"""Images in all; 10000 of other sets."""


@recipe
def rotated_groups(
    data: ImageSet,
    *,
    seed: int,
    clusters: int = 4,
    clients_per_cluster: int | None = None,
    images: int | None = None,
    share: str = "split",
) -> Division:
    """Rotate the images of each of K groups of clients by k 360/K degrees.

    Source: SoFL, section 5.1.1, "feature distribution skew": K = 4 with 0, 90, 180 and 270 degrees.
    For K = 2 the angles are not printed; here 0 and 180, as its Fig. 6 shows. What else the paper
    leaves out stands with ``_make_groups``, which has the other arguments too.

    Parameters
    ----------
    clusters
        K: 1, 2 or 4.

    Raises
    ------
    InvalidArgument
        If an argument breaks its rule or the images do not suffice.
    """
    turns = quarter_turns(clusters)
    shared = (clusters, clients_per_cluster, images, share)
    return _make_groups("rotated-groups", data, seed, *shared, turns=turns)


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
) -> Division:
    """Replace the labels y of group k by (y + s_k) mod C.

    Source: SoFL, section 5.1.1, "label distribution skew": s = 0, 2, 4, 6 for K = 4. It prints
    "label = label + i % 10", read here as (label + i) mod 10, or labels beyond 9 would arise. Its
    Table 4 has K = 2 and K = 8 too, without their shifts: of 10 labels only five even shifts are
    distinct. Here s_k = 2 k while that is below C, else s_k = k. What else the paper leaves out stands
    with ``_make_groups``, which has the other arguments too.

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
    shared = (clusters, clients_per_cluster, images, share)
    return _make_groups("label-shift", data, seed, *shared, shifts=_choose_shifts(shifts, clusters, data))


@recipe
def quantity(
    data: ImageSet,
    *,
    seed: int,
    concentration: float = 0.5,
    clusters: int = 4,
    clients_per_cluster: int | None = None,
    images: int | None = None,
    share: str = "split",
    shifts: Sequence[int] | None = None,
) -> Division:
    """Shift labels as ``label_shift`` does, and draw the clients' sizes from a Dirichlet law.

    Source: SoFL, section 5.1.1 and Table 5, with phi = 0.5, 1 and 10 (also printed as alpha) at K = 4.
    The paper leaves out whether the law is over all 20 clients or inside each group, and what
    happens to a client without data. Here: inside each group, so that groups stay of equal size, and
    nobody gets less than a tenth of an equal share (2 % of the images of a group of five): who would
    is raised to it at the others' expense, in proportion. Whether the skewed features are meant too is
    open; Table 5's FedAvg, near 25 %, is that of shifted labels.

    Parameters
    ----------
    concentration
        phi; the larger, the more equal the sizes.

    Raises
    ------
    InvalidArgument
        If an argument breaks its rule or the images do not suffice.
    """
    remedy = "0.5, 1 and 10 are the paper's"
    check_number("concentration", concentration, at_least=1e-3, at_most=1e6, remedy=remedy)
    shifts = _choose_shifts(shifts, clusters, data)
    shared = (clusters, clients_per_cluster, images, share)
    return _make_groups("quantity", data, seed, *shared, shifts=shifts, concentration=concentration)


def _make_groups(
    name: str,
    data: ImageSet,
    seed: int,
    clusters: int,
    clients_per_cluster: int | None,
    images: int | None,
    share: str,
    *,
    turns: list[int] | None = None,
    shifts: list[int] | None = None,
    concentration: float | None = None,
) -> Division:
    """Draw training images, give them to groups, and divide each group's among its clients.

    SoFL, section 5.1.1: 10000 images of MNIST, 20000 of CIFAR-10; with 4 groups 5 clients each,
    20 in all; inside each client 0.8 : 0.2 for training and testing. The paper leaves out

    - which images: here drawn at random from the published training half;
    - whether each group gets all of them or its share: ``share``;
    - the number of clients where the number of groups does not divide 20 (its Table 4 has 8): here
      as many a group as make at least 20.

    Parameters
    ----------
    name
        Of the recipe.
    data, seed
        The data set, and the seed of every draw.
    clusters
        Number of groups.
    clients_per_cluster
        By default as many as make 20 in all, rounded up.
    images
        Images in all, at most those of the training half; the paper's number by default.
    share
        "split": a group gets its equal part of the images; "full": each group gets all of them.
    turns
        Quarter turns of each group's images, see ``gather_images``.
    shifts
        Of each group's labels.
    concentration
        Of a Dirichlet law of the clients' sizes inside each group; None: equal sizes.

    Raises
    ------
    InvalidArgument
        If an argument breaks its rule or the images do not suffice.
    """
    if clients_per_cluster is None:
        clients_per_cluster = -(-CLIENTS // clusters)
    check_count("clients_per_cluster", clients_per_cluster, at_least=1, remedy="leave it out for 20 in all")
    check_choice("share", share, ("split", "full"), remedy="choose one of these")
    if images is None:
        images = min(_PUBLISHED.get(data.name, 10_000), len(data.train))
    check_count("images", images, at_least=1, remedy="leave it out for the paper's number")
    if images > len(data.train):
        rule = f"must be at most the {len(data.train)} training images of {data.name}"
        raise InvalidArgument("images", images, rule, "give fewer")
    draw = generator(seed, "partition", name)
    drawn = draw.permutation(len(data.train))[:images]
    equal = np.full(clusters, 1 / clusters)
    if share == "split":
        groups = cut(drawn, whole_parts(equal, images))
    else:
        groups = [draw.permutation(drawn) for _ in range(clusters)]
    rows: list[np.ndarray] = []
    for group in groups:
        rows += cut(group, whole_parts(draw_shares(draw, clients_per_cluster, concentration), len(group)))
    if min(map(len, rows)) < 2:
        rule = f"must leave at least 2 images to each of {len(rows)} clients, one to train on and one to test"
        raise InvalidArgument("images", images, rule, "give more, or fewer clients")
    labels = np.repeat(np.arange(clusters), clients_per_cluster)
    kept = [min(len(part) - 1, round(0.8 * len(part))) for part in rows]
    train = [part[:size] for part, size in zip(rows, kept, strict=True)]
    test = [part[size:] for part, size in zip(rows, kept, strict=True)]
    options = {
        "clusters": clusters,
        "clients_per_cluster": clients_per_cluster,
        "images": images,
        "share": share,
        "shifts": shifts,
        "concentration": concentration,
    }
    classes, relabel = data.train.classes, None
    if shifts is not None:
        relabel = np.asarray((np.arange(classes) + np.asarray(shifts)[:, None]) % classes)
    return {key: value for key, value in options.items() if value is not None}, [
        gather_images(data.train, half, labels, turns=turns, relabel=relabel) for half in (train, test)
    ]


def draw_shares(draw: np.random.Generator, clients: int, concentration: float | None) -> np.ndarray:
    """Proportions of a group's images, (clients,), none below ``FLOOR`` of the equal share."""
    if concentration is None:
        return np.full(clients, 1 / clients)
    proportions = draw.dirichlet(np.full(clients, concentration))
    least = FLOOR / clients
    raised = np.zeros(clients, dtype=bool)
    while (low := (proportions < least) & ~raised).any():
        raised |= low
        # what the raised ones take is taken from the others in proportion, who may fall below in turn
        proportions[~raised] *= (1 - least * raised.sum()) / proportions[~raised].sum()
        proportions[raised] = least
    return proportions


def _choose_shifts(shifts: Sequence[int] | None, clusters: int, data: ImageSet) -> list[int]:
    """Fill in the shifts, or check those that are given.

    Raises
    ------
    InvalidArgument
        If there are more groups than distinct shifts, or the shifts are not one for each group,
        distinct modulo the number of classes.
    """
    classes = data.train.classes
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
