"""Partitions with label skew: clients lack some classes, have more samples of some classes, or have changed labels.

For comparison, one partition has no skew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from clusterproof.common.randomness import generator
from clusterproof.common.validation import LARGEST_COUNT, InvalidArgument
from clusterproof.neural.data.images import Images, ImageSet
from clusterproof.neural.partitions.base import (
    ClientImages,
    Division,
    cut,
    divide_classes,
    gather_images,
    recipe,
    whole_parts,
)

Count = Annotated[int, Meta(ge=1, le=LARGEST_COUNT)]
Concentration = Annotated[float, Meta(ge=1e-3, le=1e6)]

TRIES = 200
"""Largest number of draws of the proportions; if none of them is valid, an error is raised."""

SWAPS, LAST = 4, 8
"""Number of clusters of ``label_swap``, and a constant: cluster p swaps the labels p and LAST - p."""

_DROPPED_OF_10: tuple[tuple[int, ...], ...] = ((7, 9), (5, 8), (8, 9), (1, 8))


@recipe
def iid(data: ImageSet, *, seed: int, clients: Count = 20) -> Division:
    """Divide the shuffled training and test halves into equal parts; all clients then have the same distribution.

    Sizes differ by at most one sample. There is only one true cluster, so the purity is meaningless.

    Parameters
    ----------
    clients
        Number of clients (m).

    Raises
    ------
    InvalidArgument
        If there are more clients than samples in a half.
    """
    draw = generator(seed, "partition", "iid")
    halves = []
    for name, half in (("training", data.train), ("test", data.test)):
        if clients > len(half):
            rule = f"must be at most {len(half)}, the number of {name} samples"
            raise InvalidArgument("clients", clients, rule, f"give at most {len(half)} clients")
        sizes = whole_parts(np.full(clients, 1 / clients), len(half))
        halves.append(cut(draw.permutation(len(half)), sizes))
    return _in_one_cluster(data, halves), {}


@recipe
def dirichlet(
    data: ImageSet,
    *,
    seed: int,
    clients: Count = 20,
    concentration: Concentration = 0.5,
    least_samples: Count = 10,
) -> Division:
    """Divide each class among all clients in proportions from a Dirichlet distribution.

    Source: Yurochkin et al. 2019, Bayesian nonparametric federated learning (restated), and public code for this paper.
    For each class the proportions over the m clients are Dirichlet(alpha, ..., alpha). All proportions are drawn again
    until every client has ``least_samples``. The distribution of Hsu et al. 2019 (restated) is different: each client
    draws its class frequencies, and all clients have the same number of samples.

    In the test half, each client has the same share of each class as in the training half, so its training and test
    data have the same class frequencies. There is only one true cluster, so the purity is meaningless.

    Parameters
    ----------
    clients
        Number of clients (m).
    concentration
        Concentration of the Dirichlet distribution (alpha), often 0.1 or 0.5. If the value is small, a client has few
        classes.
    least_samples
        Smallest number of training samples of a client; each client also has at least one test sample.

    Raises
    ------
    InvalidArgument
        If an argument is not allowed, or if in each of 200 draws some client has too few samples.
    """
    draw = generator(seed, "partition", "dirichlet")
    for _ in range(TRIES):
        proportions = draw.dirichlet(np.full(clients, concentration), size=data.train.classes)
        halves = [divide_classes(half, proportions, draw) for half in (data.train, data.test)]
        if min(map(len, halves[0])) >= least_samples and min(map(len, halves[1])) >= 1:
            return _in_one_cluster(data, halves), {}
    rule = f"must leave every client {least_samples} training samples and a test sample, but no draw did"
    remedy = "reduce clients or least_samples, or increase concentration"
    raise InvalidArgument("clients", clients, rule, remedy)


def _in_one_cluster(data: ImageSet, halves: Sequence[Sequence[np.ndarray]]) -> list[ClientImages]:
    """Gather the images of every client in both halves, with one true cluster."""
    labels = np.zeros(len(halves[0]), dtype=np.int64)
    images = (data.train, data.test)
    return [gather_images(half, rows, labels) for half, rows in zip(images, halves, strict=True)]


@recipe
def label_swap(
    data: ImageSet,
    *,
    seed: int,
    clients: Annotated[int, Meta(ge=SWAPS, le=LARGEST_COUNT)] = 20,
    concentration: Concentration = 1.0,
    test: Literal["same", "independent"] = "same",
) -> Division:
    """Divide each class in proportions from a Dirichlet distribution; in cluster p, exchange the labels p and 8 - p.

    Source: FPFC's abstract states for MNIST and Fashion-MNIST only "we follow the procedures in CFL". The details come
    from the authors' code (the folder for label swaps). There are 4 clusters p = 0, ..., 3 with 5 clients each. For
    each class, the proportions over all clients are drawn from a Dirichlet distribution with concentration 1. Each
    image of both published halves belongs to exactly one client. The authors' code draws new proportions for the test
    half, as with ``test="independent"``, so training and test data have different label frequencies. Here the test half
    has the same proportions by default.

    Parameters
    ----------
    data
        A set with at least 9 classes.
    seed
        Seed of every draw.
    clients
        Number of clients (m), a multiple of 4.
    concentration
        Concentration of the Dirichlet distribution; a larger value makes the classes more even.
    test
        "same" if the test half has the same proportions as the training half, "independent" if they are drawn
        independently.

    Raises
    ------
    InvalidArgument
        If an argument is not allowed, or a client gets no training or test images.
    """
    if data.train.classes <= LAST:
        rule = f"must have at least {LAST + 1} classes, not {data.train.classes}"
        raise InvalidArgument("data", data.name, rule, "choose another data set or partition")
    if clients % SWAPS:
        raise InvalidArgument(
            "clients", clients, f"must be a multiple of {SWAPS}", f"give a multiple of {SWAPS}"
        )
    draw = generator(seed, "partition", "label-swap")
    law = np.full(clients, concentration)
    proportions = draw.dirichlet(law, size=data.train.classes)
    for_test = proportions if test == "same" else draw.dirichlet(law, size=data.train.classes)
    relabel = np.tile(np.arange(data.train.classes), (SWAPS, 1))
    for cluster in range(SWAPS):
        relabel[cluster, [cluster, LAST - cluster]] = LAST - cluster, cluster
    labels, halves = np.repeat(np.arange(SWAPS), clients // SWAPS), []
    for half, images, shares in (("training", data.train, proportions), ("test", data.test, for_test)):
        rows = divide_classes(images, shares, draw)
        if not all(map(len, rows)):
            rule = f"must leave every client a {half} image; client {[*map(len, rows)].index(0)} has none"
            remedy = "give fewer clients, a larger concentration or another seed"
            raise InvalidArgument("clients", clients, rule, remedy)
        halves.append(gather_images(images, rows, labels, relabel=relabel))
    return halves, {}


@recipe
def classes(data: ImageSet, *, seed: int, clients_per_cluster: Count | None = None) -> Division:
    """Divide each class equally among the clusters that have it, and each cluster's images among its clients.

    Source: GL-CFL, section III-A1. Sets with 10 classes have 4 clusters of 20 clients, with 8 classes each. EMNIST
    (ByMerge), with 47 classes, has 8 clusters of 25 clients, with 40 classes each. "The data samples of each cluster
    will be further distributed to its devices equally and randomly."

    For MNIST the paper prints A = {0, 1, 2, 3, 4, 5, 6, 8} with 17500 images and B = {0, 1, 2, 3, 4, 6, 7, 9} with
    14500. C and D are only in a figure, and the paper does not state how a class is divided. We infer both from the
    totals. Suppose that each class, of 6000 images, is divided equally among the clusters that have the class. There
    are 2025 choices of two classes that C lacks and two classes that D lacks. Of these, 48 yield the printed totals,
    and all 48 have the same form: C and D both lack one of {5, 8}; one of C and D lacks one of {7, 9}, and the other
    lacks a class that A and B share. Here C lacks 8 and 9, and D lacks 1 and 8. Fashion-MNIST has exactly 6000 images
    per class and gives 17500, 14500, 13500 and 14500. MNIST has 5421 to 6742 images per class and gives these totals
    within 2 %. For Fashion-MNIST and CIFAR-10, whose splits are also only in the figure, we assume the same splits.

    The paper does not print the missing classes for EMNIST. Here each cluster lacks the next 7 classes in a fixed
    random order of the 47 classes. After the last class, a second random order follows. The published test half is
    divided in the same way, so a client is tested only on its own classes.

    Parameters
    ----------
    data
        A set with 10 or 47 classes.
    seed
        Seed of the division; the missing classes do not depend on the seed.
    clients_per_cluster
        Number of clients per cluster; by default the same as in the paper.

    Raises
    ------
    InvalidArgument
        If the data set has another number of classes, or too few images.
    """
    if data.train.classes not in (10, 47):
        rule = f"must have 10 or 47 classes, not {data.train.classes}"
        raise InvalidArgument("data", data.name, rule, "choose another data set or partition")
    dropped = _DROPPED_OF_10 if data.train.classes == 10 else _dropped_of_47()
    clients = clients_per_cluster or (20 if data.train.classes == 10 else 25)
    halves = (("train", data.train), ("test", data.test))
    return [
        _divide_among_clusters(half, dropped, clients, generator(seed, "partition", "classes", name))
        for name, half in halves
    ], {"clients_per_cluster": clients}


def _dropped_of_47() -> tuple[tuple[int, ...], ...]:
    """Return the 7 of 47 classes that each of 8 clusters lacks; each class is missing in one or two clusters."""
    draw = generator(0, "partition", "classes", "emnist")
    order = list(draw.permutation(47))
    later = list(draw.permutation(47))
    order += [label for label in later if label not in order[42:47]] + order[42:47]
    return tuple(tuple(int(label) for label in order[7 * k : 7 * k + 7]) for k in range(8))


def _divide_among_clusters(
    images: Images, dropped: tuple[tuple[int, ...], ...], clients: int, draw: np.random.Generator
) -> ClientImages:
    clusters = len(dropped)
    shares: list[list[np.ndarray]] = [[] for _ in range(clusters)]
    for label in range(images.classes):
        holders = [cluster for cluster in range(clusters) if label not in dropped[cluster]]
        found = draw.permutation(np.flatnonzero(images.labels == label))
        parts = whole_parts(np.full(len(holders), 1 / len(holders)), len(found))
        # images that remain after an equal division go to random clusters
        for cluster, part in zip(draw.permutation(holders), cut(found, parts), strict=True):
            shares[cluster].append(part)
    rows: list[np.ndarray] = []
    for share in shares:
        joined = draw.permutation(np.concatenate(share))
        if len(joined) < clients:
            rule = f"must be at most {len(joined)}, the number of images of a cluster"
            remedy = f"give at most {len(joined)} clients per cluster"
            raise InvalidArgument("clients_per_cluster", clients, rule, remedy)
        rows += cut(joined, whole_parts(np.full(clients, 1 / clients), len(joined)))
    return gather_images(images, rows, np.repeat(np.arange(clusters), clients))
