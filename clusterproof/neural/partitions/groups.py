"""Groups of clients: rotated images, shifted labels, and unequal sizes (CFL-MGD's and SoFL's partitions)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from clusterproof.common.randomness import generator
from clusterproof.common.validation import LARGEST_COUNT, InvalidArgument
from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.partitions.base import Division, cut, gather_images, recipe, whole_parts

Count = Annotated[int, Meta(ge=1, le=LARGEST_COUNT)]
Shifts = Sequence[Annotated[int, Meta(ge=0, le=LARGEST_COUNT)]]

CLIENTS = 20
"""Total number of clients in the SoFL paper, used if the number of clusters divides 20."""

FLOOR = 0.1
"""Smallest size of a client, relative to equal sizes, if the sizes have a Dirichlet distribution."""

IMAGES = {"cifar10": 20_000}
"""Total number of images in the SoFL paper, indexed by data set; for all other data sets, it is 10000."""

ROTATIONS = {"cifar10": (2, 500), "digits": (4, 40)}
"""Number of clusters and number of images per client, indexed by data set; (4, 100) for all other data sets.

The numbers for MNIST and CIFAR-10 come from the CFL-MGD paper; the numbers for the digits are our choice.
"""


@partial(recipe, paired=False)
def rotations(
    data: ImageSet,
    *,
    seed: int,
    clusters: Count | None = None,
    clients: Count | None = None,
    samples: Count | None = None,
) -> Division:
    """Rotate the whole data set by each of P angles, and divide each copy among m / P clients.

    For each rotation by k 360/P degrees, all N training images are permuted at random, and each client gets the next n
    images. So m n = P N, and each image occurs exactly once in each rotation. The test clients are not training
    clients. For each rotation, each test client gets the next n test images without shuffling, so m_test = P N_test /
    n.

    Source: CFL-MGD, section 6.1. MNIST has P = 4, m = 2400, n = 100. CIFAR-10 has P = 2 (0 and 180 degrees), m = 200, n
    = 500. In both, m_test = 10000 P / n. The paper does not state how the images of a rotation are divided, or the
    order of the test images. Here a random permutation divides the images of each rotation among the clients, and the
    test images keep the published order. The paper states m n = 60000 P, which does not fit CIFAR-10: its 50000 images
    give m n = 100000 = 50000 P. If n does not divide the number of images, the remainder is not used.

    Parameters
    ----------
    data
        The data set.
    seed
        Seed of the permutations.
    clusters
        Number of true clusters (P): 1, 2 or 4; by default the same as in the paper.
    clients
        Number of clients (m), a multiple of P; by default as many as the images allow.
    samples
        Number of samples of a client (n); by default as many as ``clients`` allows, or the same as in the paper.

    Raises
    ------
    InvalidArgument
        If there are not enough images.
    """
    published_clusters, published_samples = ROTATIONS.get(data.name, (4, 100))
    clusters = published_clusters if clusters is None else clusters
    turns = quarter_turns(clusters)
    if clients is not None and clients % clusters:
        rule = f"must be a multiple of clusters = {clusters}"
        raise InvalidArgument("clients", clients, rule, "change clients or clusters")
    if samples is None and clients is not None:
        samples = min(max(1, clusters * len(data.train) // clients), len(data.test))
    samples = samples or published_samples
    if clients is None:
        clients = clusters * max(1, len(data.train) // samples)
    if samples * (clients // clusters) > len(data.train):
        rule = f"must leave {samples} images for each client of a cluster; {data.name} has {len(data.train)}"
        raise InvalidArgument("clients", clients, rule, "reduce clients or samples")
    if samples > len(data.test):
        rule = f"must be at most the {len(data.test)} test images of {data.name}"
        raise InvalidArgument("samples", samples, rule, "reduce this number, or increase clients")
    draw = generator(seed, "partition", "rotations")
    held, tested = samples * (clients // clusters), samples * (len(data.test) // samples)
    train = [draw.permutation(len(data.train))[:held].reshape(-1, samples) for _ in range(clusters)]
    test = [np.arange(tested).reshape(-1, samples)] * clusters
    return [
        gather_images(
            half, [*np.concatenate(rows)], np.repeat(np.arange(clusters), len(rows[0])), turns=turns
        )
        for half, rows in ((data.train, train), (data.test, test))
    ], {"clusters": clusters, "clients": clients, "samples": samples}


def quarter_turns(clusters: int) -> list[int]:
    """Return the number of quarter turns for each cluster's images; the rotations are evenly spaced.

    Raises
    ------
    InvalidArgument
        If ``clusters`` is not 1, 2 or 4.
    """
    if clusters not in (1, 2, 4):
        rule = "must be 1, 2 or 4, because only these numbers of evenly spaced rotations map a grid of pixels to itself"
        raise InvalidArgument("clusters", clusters, rule, "choose one of these")
    return [cluster * (4 // clusters) for cluster in range(clusters)]


@recipe
def rotated_groups(
    data: ImageSet,
    *,
    seed: int,
    clusters: Count = 4,
    clients_per_cluster: Count | None = None,
    images: Count | None = None,
    share: Literal["split", "full"] = "split",
) -> Division:
    """Divide the clients into K groups, and rotate the images of group k by k 360/K degrees.

    Source: SoFL, section 5.1.1, "feature distribution skew": K = 4 with 0, 90, 180 and 270 degrees. For K = 2, the
    paper does not state the angles; here they are 0 and 180 degrees, as in its Fig. 6. The docstring of
    ``_make_groups`` lists other details that the paper omits.

    Parameters
    ----------
    clusters
        Number of true clusters (K), 1, 2 or 4.
    clients_per_cluster
        Number of clients per cluster; by default, 20 clients in total, rounded up.
    images
        Total number of images; by default as in SoFL.
    share
        "split": each group gets an equal part of the images; "full": each gets all of them.

    Raises
    ------
    InvalidArgument
        If an argument is not allowed, or there are not enough images.
    """
    shared = (clusters, clients_per_cluster, images, share)
    return _make_groups("rotated-groups", data, seed, *shared, turns=quarter_turns(clusters))


@recipe
def label_shift(
    data: ImageSet,
    *,
    seed: int,
    clusters: Count = 4,
    clients_per_cluster: Count | None = None,
    images: Count | None = None,
    share: Literal["split", "full"] = "split",
    shifts: Shifts | None = None,
) -> Division:
    """Replace the labels y of group k by (y + s_k) mod C.

    Source: SoFL, section 5.1.1, "label distribution skew": s = 0, 2, 4, 6 for K = 4. The paper prints "label = label +
    i % 10". We read this as (label + i) mod 10, because otherwise some labels are above 9. Table 4 of the paper also
    has K = 2 and K = 8, but does not state the shifts; for K = 8, even shifts of 10 labels cannot all be distinct. Here
    s_k = 2 k if all shifts are below C, otherwise s_k = k. The docstring of ``_make_groups`` lists other details that
    the paper omits.

    Parameters
    ----------
    clusters
        Number of true clusters (K), at most the number of classes.
    clients_per_cluster
        Number of clients per cluster; by default, 20 clients in total, rounded up.
    images
        Total number of images; by default as in SoFL.
    share
        "split": each group gets an equal part of the images; "full": each gets all of them.
    shifts
        Shift of the labels in each cluster; the shifts must be distinct modulo C.

    Raises
    ------
    InvalidArgument
        If an argument is not allowed, or there are not enough images.
    """
    shared = (clusters, clients_per_cluster, images, share)
    return _make_groups("label-shift", data, seed, *shared, shifts=_choose_shifts(shifts, clusters, data))


@recipe
def quantity(
    data: ImageSet,
    *,
    seed: int,
    concentration: Annotated[float, Meta(ge=1e-3, le=1e6)] = 0.5,
    clusters: Count = 4,
    clients_per_cluster: Count | None = None,
    images: Count | None = None,
    share: Literal["split", "full"] = "split",
    shifts: Shifts | None = None,
) -> Division:
    """Shift labels as ``label_shift`` does, and draw the clients' sizes from a Dirichlet distribution.

    Source: SoFL, section 5.1.1 and Table 5, with phi = 0.5, 1 and 10 (also printed as alpha) and K = 4. The paper does
    not state whether the distribution is over all 20 clients or over each group, or what happens to a client without
    data. Here the distribution is over each group, so all groups have equal sizes. No client gets less than a tenth of
    an equal share (2 % of the images of a group of five). Smaller shares are raised to this tenth, and all other shares
    are reduced in proportion. The paper does not state whether it also skews features; the accuracy of FedAvg in Table
    5, near 25 %, suggests that labels are shifted.

    Parameters
    ----------
    concentration
        Concentration of the Dirichlet distribution (phi); a larger value makes the sizes more equal.
    clusters
        Number of true clusters (K), at most the number of classes.
    clients_per_cluster
        Number of clients per cluster; by default, 20 clients in total, rounded up.
    images
        Total number of images; by default as in SoFL.
    share
        "split": each group gets an equal part of the images; "full": each gets all of them.
    shifts
        Shift of the labels in each cluster; the shifts must be distinct modulo C.

    Raises
    ------
    InvalidArgument
        If an argument is not allowed, or there are not enough images.
    """
    shared = (clusters, clients_per_cluster, images, share)
    shifts = _choose_shifts(shifts, clusters, data)
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
    shifts: Sequence[int] | None = None,
    concentration: float | None = None,
) -> Division:
    """Draw training images, assign them to groups, and divide each group's images among its clients.

    SoFL, section 5.1.1, uses 10000 images of MNIST and 20000 of CIFAR-10, and 4 groups of 5 clients. Each client
    divides its images 0.8 : 0.2 for training and testing. The paper does not state

    - which images are used: here they are drawn at random from the published training half;
    - whether each group gets all images or an equal part: here ``share`` decides;
    - the number of clients if the number of groups does not divide 20 (Table 4 has 8 groups): here every group has the
      smallest number of clients for which the total is at least 20.

    Parameters
    ----------
    name
        Name of the recipe.
    data, seed
        The data set, and the seed of every draw.
    clusters
        Number of groups.
    clients_per_cluster
        Number of clients of a group; by default 20 clients in total, rounded up.
    images
        Total number of images, at most the size of the training half; by default the paper's number.
    share
        With "split", each group gets an equal part of the images; with "full", each group gets all images.
    turns
        Quarter turns of each group's images, see ``gather_images``.
    shifts
        Shift of each group's labels.
    concentration
        Concentration of the Dirichlet distribution of the clients' sizes in each group; None stands for equal sizes.

    Raises
    ------
    InvalidArgument
        If an argument is not allowed, or there are not enough images.
    """
    clients_per_cluster = clients_per_cluster or -(-CLIENTS // clusters)
    images = images or min(IMAGES.get(data.name, 10_000), len(data.train))
    if images > len(data.train):
        rule = f"must be at most the {len(data.train)} training images of {data.name}"
        raise InvalidArgument("images", images, rule, f"give at most {len(data.train)} images")
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
        rule = f"must leave at least 2 images for each of {len(rows)} clients, one for training and one for testing"
        raise InvalidArgument("images", images, rule, "give more images, or fewer clients")
    labels = np.repeat(np.arange(clusters), clients_per_cluster)
    kept = [min(len(part) - 1, round(0.8 * len(part))) for part in rows]
    train = [part[:size] for part, size in zip(rows, kept, strict=True)]
    test = [part[size:] for part, size in zip(rows, kept, strict=True)]
    classes, relabel = data.train.classes, None
    if shifts is not None:
        relabel = np.asarray((np.arange(classes) + np.asarray(shifts)[:, None]) % classes)
    filled = {"clients_per_cluster": clients_per_cluster, "images": images, "shifts": shifts}
    return [
        gather_images(data.train, half, labels, turns=turns, relabel=relabel) for half in (train, test)
    ], filled


def draw_shares(draw: np.random.Generator, clients: int, concentration: float | None) -> np.ndarray:
    """Return each client's proportion of a group's images, (clients,), at least ``FLOOR`` times the equal share."""
    if concentration is None:
        return np.full(clients, 1 / clients)
    proportions = draw.dirichlet(np.full(clients, concentration))
    least = FLOOR / clients
    raised = np.zeros(clients, dtype=bool)
    while (low := (proportions < least) & ~raised).any():
        raised |= low
        # the other shares shrink in proportion, which may bring further shares below the floor
        proportions[~raised] *= (1 - least * raised.sum()) / proportions[~raised].sum()
        proportions[raised] = least
    return proportions


def _choose_shifts(shifts: Sequence[int] | None, clusters: int, data: ImageSet) -> list[int]:
    """Return the default shifts, or check and return the given shifts.

    Raises
    ------
    InvalidArgument
        If there are more groups than distinct shifts, or there is not one shift per group, or two shifts are equal
        modulo the number of classes.
    """
    classes = data.train.classes
    if clusters > classes:
        rule = f"must be at most {classes}, the number of distinct shifts of {classes} labels"
        raise InvalidArgument("clusters", clusters, rule, f"give at most {classes} clusters")
    if shifts is None:
        step = 2 if 2 * (clusters - 1) < classes else 1
        return [step * cluster for cluster in range(clusters)]
    if len(shifts) != clusters or len({shift % classes for shift in shifts}) != clusters:
        rule = f"must be {clusters} integers, one per cluster, distinct modulo {classes}"
        raise InvalidArgument("shifts", list(shifts), rule, "change the shifts, or the number of clusters")
    return list(shifts)
