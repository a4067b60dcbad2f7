"""CFL-MGD's partition: every image in every rotation, many clients of equal size."""

from __future__ import annotations

from functools import partial

import numpy as np

from clusterproof.algorithms.randomness import generator
from clusterproof.algorithms.validation import InvalidArgument, check_count
from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.partitions.base import Division, gather_images, recipe

_PUBLISHED = {"cifar10": (2, 500), "digits": (4, 40)}
"""Clusters and images a client; (4, 100) for other sets. The paper says so for MNIST and CIFAR-10; that
of the digits is ours."""


@partial(recipe, paired=False)
def rotations(
    data: ImageSet,
    *,
    seed: int,
    clusters: int | None = None,
    clients: int | None = None,
    samples: int | None = None,
) -> Division:
    """Rotate the whole set by each of P angles, then divide each copy among m / P clients.

    For each of the rotations by k 360/P degrees, a fresh permutation of all training images is cut
    into clients of n, so that m n = P N and each image is held exactly once in each rotation. The
    test clients are others: for each rotation the unshuffled test images in chunks of n,
    m_test = P N_test / n.

    Source: CFL-MGD, section 6.1: MNIST with P = 4, m = 2400, n = 100; CIFAR-10 with P = 2 (0 and
    180 degrees), m = 200, n = 500; m_test = 10000 P / n. The paper leaves out how the images of a
    rotation are divided (here: at random, by a permutation for each rotation) and the order of the
    test images (here: as published). Its mn = 60000 P does not fit CIFAR-10, whose 50000 images
    give m n = 100000 = 50000 P. Where n does not divide the number of images, the rest is not held.

    Parameters
    ----------
    data
        The data set.
    seed
        Of the permutations.
    clusters
        P: 1, 2 or 4; the paper's by default.
    clients
        m, a multiple of P; by default as many as there are images for.
    samples
        n; by default what ``clients`` leaves, or the paper's.

    Raises
    ------
    InvalidArgument
        If the images do not suffice.
    """
    published_clusters, published_samples = _PUBLISHED.get(data.name, (4, 100))
    clusters = published_clusters if clusters is None else clusters
    turns = quarter_turns(clusters)
    if clients is not None:
        check_count("clients", clients, at_least=clusters, remedy="give at least one client a cluster")
        if clients % clusters:
            remedy = "change one of the two"
            raise InvalidArgument("clients", clients, f"must be a multiple of clusters = {clusters}", remedy)
    if samples is not None:
        check_count("samples", samples, at_least=1, remedy="give the number of images a client")
    elif clients is None:
        samples = published_samples
    else:
        samples = min(max(1, clusters * len(data.train) // clients), len(data.test))
    if clients is None:
        clients = clusters * max(1, len(data.train) // samples)
    if samples * (clients // clusters) > len(data.train):
        rule = f"must leave {samples} images to each client of a cluster: {data.name} has {len(data.train)}"
        raise InvalidArgument("clients", clients, rule, "lower clients or samples")
    if samples > len(data.test):
        rule = f"must be at most the {len(data.test)} test images of {data.name}"
        raise InvalidArgument("samples", samples, rule, "lower it, or raise clients")
    draw = generator(seed, "partition", "rotations")
    held, tested = samples * (clients // clusters), samples * (len(data.test) // samples)
    train = [draw.permutation(len(data.train))[:held].reshape(-1, samples) for _ in range(clusters)]
    test = [np.arange(tested).reshape(-1, samples)] * clusters
    return {"clusters": clusters, "clients": clients, "samples": samples}, [
        gather_images(
            half, [*np.concatenate(rows)], np.repeat(np.arange(clusters), len(rows[0])), turns=turns
        )
        for half, rows in ((data.train, train), (data.test, test))
    ]


def quarter_turns(clusters: int) -> list[int]:
    """The quarter turns of each cluster's images, evenly spread over the full turn.

    Raises
    ------
    InvalidArgument
        If ``clusters`` is not 1, 2 or 4.
    """
    check_count("clusters", clusters, at_least=1, remedy="choose 1, 2 or 4")
    if clusters not in (1, 2, 4):
        rule = "must be 1, 2 or 4: as many rotations lie evenly on a grid of pixels"
        raise InvalidArgument("clusters", clusters, rule, "choose one of these")
    return [cluster * (4 // clusters) for cluster in range(clusters)]
