"""Partitions with label skew: clients have only some classes, more of some classes, or other labels.

One partition has no skew.
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
"""Largest number of draws of the proportions; an error follows if all fail."""

SWAPS, LAST = 4, 8
"""Clusters of ``label_swap``; cluster p swaps the labels p and LAST - p."""

_DROPPED_OF_10: tuple[tuple[int, ...], ...] = ((7, 9), (5, 8), (8, 9), (1, 8))


@recipe
def iid(data: ImageSet, *, seed: int, clients: Count = 20) -> Division:
    """Divide the shuffled training and test halves into equal parts, so that all clients have one distribution.

    Sizes differ by at most one sample. There is one true cluster, so the purity has no meaning.

    Parameters
    ----------
    clients
        Number of clients (m).

    Raises
    ------
    InvalidArgument
        If there are more clients than samples of a half.
    """
    draw = generator(seed, "partition", "iid")
    halves = []
    for half in (data.train, data.test):
        if clients > len(half):
            raise InvalidArgument("clients", clients, f"must be at most {len(half)} samples", "give fewer")
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
    """Divide each class among all clients in proportions from a Dirichlet law: label skew.

    Source: Yurochkin et al. 2019, Bayesian nonparametric federated learning (restated), and public code based on it.
    For each class the proportions over the m clients are Dirichlet(alpha, ..., alpha). All are drawn again until every
    client has ``least_samples``. The law of Hsu et al. 2019 (restated) differs: each client draws its class
    frequencies, and all clients have equally many samples.

    A client has the same share of each class in the test half, so it is tested with its own frequencies. There is one
    true cluster, so the purity has no meaning.

    Parameters
    ----------
    clients
        Number of clients (m).
    concentration
        Concentration of the Dirichlet law (alpha); the smaller, the fewer classes a client has. 0.1 and 0.5 are common.
    least_samples
        Least number of training samples of a client; each client also has a test sample.

    Raises
    ------
    InvalidArgument
        If an argument breaks its rule, or none of 200 draws gives every client enough samples.
    """
    draw = generator(seed, "partition", "dirichlet")
    for _ in range(TRIES):
        proportions = draw.dirichlet(np.full(clients, concentration), size=data.train.classes)
        halves = [divide_classes(half, proportions, draw) for half in (data.train, data.test)]
        if min(map(len, halves[0])) >= least_samples and min(map(len, halves[1])) >= 1:
            return _in_one_cluster(data, halves), {}
    rule = f"must leave every client {least_samples} training samples and a test sample, which no draw does"
    remedy = "give fewer clients or least_samples, or a larger concentration"
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
    """Divide each class in Dirichlet proportions; in cluster p, exchange the labels p and 8 - p.

    Source: FPFC's abstract states for MNIST and Fashion-MNIST only "we follow the procedures in CFL". The rest is in
    the authors' code (their folder for label swaps). There are 20 clients in 4 clusters of 5, and p = 0, ..., 3. For
    each class the proportions over all clients are drawn from a Dirichlet law with concentration 1. Exactly one client
    holds each image of both published halves. The code draws new proportions for the test half, as with
    ``test="independent"``, so training and test frequencies of labels differ. Here the test half has the same
    proportions by default.

    Parameters
    ----------
    data
        A set with at least 9 classes.
    seed
        Seed of every draw.
    clients
        Number of clients (m), a multiple of 4.
    concentration
        Concentration of the Dirichlet law; the larger, the more even the classes.
    test
        Whether the test half has the "same" proportions or "independent" ones.

    Raises
    ------
    InvalidArgument
        If an argument breaks its rule, or a client gets no training or test images.
    """
    if data.train.classes <= LAST:
        rule = f"must have at least {LAST + 1} classes, not {data.train.classes}"
        raise InvalidArgument("data", data.name, rule, "choose another data set or partition")
    if clients % SWAPS:
        raise InvalidArgument("clients", clients, f"must be a multiple of {SWAPS}", "change it")
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
            rule = f"must leave every client a {half} image: client {[*map(len, rows)].index(0)} has none"
            remedy = "give fewer, a larger concentration or another seed"
            raise InvalidArgument("clients", clients, rule, remedy)
        halves.append(gather_images(images, rows, labels, relabel=relabel))
    return halves, {}


@recipe
def classes(data: ImageSet, *, seed: int, clients_per_cluster: Count | None = None) -> Division:
    """Give each class in equal parts to the clusters that have it, and each cluster's images to its clients.

    Source: GL-CFL, section III-A1. Sets with 10 classes have 4 clusters of 20 clients, with 8 classes each. EMNIST
    (ByMerge), with 47 classes, has 8 clusters of 25 clients, with 40 classes each. "The data samples of each cluster
    will be further distributed to its devices equally and randomly."

    For MNIST the paper prints A = {0, 1, 2, 3, 4, 5, 6, 8} with 17500 images and B = {0, 1, 2, 3, 4, 6, 7, 9}
    with 14500. C and D are only in a figure, and the paper does not state how a class is divided. The totals answer
    both questions. Suppose that each class, of 6000 images, is divided equally among the clusters that have it. Then 48
    of the 2025 choices of C's and D's two missing classes give the totals, and all are alike. C and D both lack one of
    {5, 8}. One of the two clusters lacks one of {7, 9}, and the other lacks a class that A and B share. Here C lacks 8
    and 9, D lacks 1 and 8. Fashion-MNIST has exactly 6000 images a class and gives 17500, 14500, 13500 and 14500.
    MNIST, whose classes have 5421 to 6742 images, gives these totals within 2 %. The splits of Fashion-MNIST and
    CIFAR-10, which are also only in the figure, are assumed to be the same.

    EMNIST's missing classes are not printed. Here each cluster lacks the next 7 in a fixed random order of the 47; when
    the order ends, another one follows. The published test half is divided by the same rule, so a client is tested on
    images of its own classes.

    Parameters
    ----------
    data
        A set with 10 or 47 classes.
    seed
        Seed of the division; the missing classes do not depend on it.
    clients_per_cluster
        Number of clients of a cluster; by default the paper's number.

    Raises
    ------
    InvalidArgument
        If the set has another number of classes, or too few images.
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
    """Return for each of 8 clusters the 7 classes of 47 that it lacks; each class is missing in one or two clusters."""
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
        # the remaining images after an equal division go to random holders
        for cluster, part in zip(draw.permutation(holders), cut(found, parts), strict=True):
            shares[cluster].append(part)
    rows: list[np.ndarray] = []
    for share in shares:
        joined = draw.permutation(np.concatenate(share))
        if len(joined) < clients:
            rule = f"must be at most {len(joined)}, the images of a cluster"
            raise InvalidArgument("clients_per_cluster", clients, rule, "give fewer")
        rows += cut(joined, whole_parts(np.full(clients, 1 / clients), len(joined)))
    return gather_images(images, rows, np.repeat(np.arange(clusters), clients))
