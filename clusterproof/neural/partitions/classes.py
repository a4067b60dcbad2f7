"""GL-CFL's partition: each cluster has some of the classes only."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms.randomness import generator
from clusterproof.algorithms.validation import InvalidArgument, check_count
from clusterproof.neural.data.images import Images, ImageSet
from clusterproof.neural.partitions.base import (
    ClientImages,
    Division,
    cut,
    gather_images,
    recipe,
    whole_parts,
)

_DROPPED_OF_10: tuple[tuple[int, ...], ...] = ((7, 9), (5, 8), (8, 9), (1, 8))


@recipe
def classes(data: ImageSet, *, seed: int, clients_per_cluster: int | None = None) -> Division:
    """Give each class in equal parts to the clusters that have it, and these to their clients.

    Source: GL-CFL, section III-A1. With 10 classes, 4 clusters of 20 devices and 8 classes each; with
    EMNIST's 47 (ByMerge), 8 clusters of 25 devices and 40 classes each. "The data samples of each
    cluster will be further distributed to its devices equally and randomly."

    For MNIST the paper prints A = {0, 1, 2, 3, 4, 5, 6, 8} with 17500 images and
    B = {0, 1, 2, 3, 4, 6, 7, 9} with 14500; C and D are in a figure only, and how a class is shared is
    left out. The totals answer both: if each class, of 6000 images, is divided equally among the
    clusters that have it, they come out for 48 of the 2025 choices of C's and D's two missing classes, and
    these are alike: C and D both lack one of {5, 8}; one of them lacks one of {7, 9}, the other a
    class that A and B share. Here C lacks 8 and 9, D lacks 1
    and 8. Fashion-MNIST has exactly 6000 images a class and gives 17500, 14500, 13500 and 14500;
    MNIST, whose classes have 5421 to 6742, gives these within 2 %. The splits of Fashion-MNIST and
    CIFAR-10, in the figure only too, are taken to be the same.

    EMNIST's missing classes are not printed. Here each cluster lacks the next 7 of a fixed random
    order of the 47, and when it ends, of another one. The published test half is divided by the same
    rule, so that a device is tested on images of its own classes.

    Parameters
    ----------
    data
        A set with 10 or 47 classes.
    seed
        Of the division; who lacks which classes does not depend on it.
    clients_per_cluster
        The paper's by default.

    Raises
    ------
    InvalidArgument
        If the set has another number of classes or the images do not suffice.
    """
    if data.train.classes not in (10, 47):
        rule = f"must have 10 or 47 classes, not {data.train.classes}"
        raise InvalidArgument("data", data.name, rule, "choose another data set or partition")
    dropped = _DROPPED_OF_10 if data.train.classes == 10 else _dropped_of_47()
    if clients_per_cluster is None:
        clients_per_cluster = 20 if data.train.classes == 10 else 25
    check_count("clients_per_cluster", clients_per_cluster, at_least=1, remedy="leave it out for the paper's")
    return {"clients_per_cluster": clients_per_cluster}, [
        _divide(half, dropped, clients_per_cluster, generator(seed, "partition", "classes", name))
        for name, half in (("train", data.train), ("test", data.test))
    ]


def _dropped_of_47() -> tuple[tuple[int, ...], ...]:
    """For each of 8 clusters the 7 classes of 47 that it lacks: each class lacks one or two clusters."""
    draw = generator(0, "partition", "classes", "emnist")
    order = list(draw.permutation(47))
    later = list(draw.permutation(47))
    order += [label for label in later if label not in order[42:47]] + order[42:47]
    return tuple(tuple(int(label) for label in order[7 * k : 7 * k + 7]) for k in range(8))


def _divide(
    images: Images, dropped: tuple[tuple[int, ...], ...], clients: int, draw: np.random.Generator
) -> ClientImages:
    clusters = len(dropped)
    shares: list[list[np.ndarray]] = [[] for _ in range(clusters)]
    for label in range(images.classes):
        holders = [cluster for cluster in range(clusters) if label not in dropped[cluster]]
        found = draw.permutation(np.flatnonzero(images.labels == label))
        parts = whole_parts(np.full(len(holders), 1 / len(holders)), len(found))
        # the images that are left over by an equal division go to random holders
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
