"""FPFC's partition: classes spread unevenly over clients, and a pair of labels swapped in each cluster."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms.randomness import generator
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_count, check_number
from clusterproof.neural.data.images import Images, ImageSet
from clusterproof.neural.partitions.base import (
    ClientImages,
    Division,
    divide_classes,
    gather_images,
    recipe,
)

CLUSTERS = 4
LAST = 8
"""Cluster p swaps the labels p and LAST - p."""


@recipe
def label_swap(
    data: ImageSet,
    *,
    seed: int,
    clients: int = 20,
    concentration: float = 1.0,
    test: str = "same",
) -> Division:
    """Divide each class in Dirichlet proportions; in cluster p, labels p and 8 - p change places.

    Source: FPFC's abstract says of MNIST and Fashion-MNIST only "we follow the procedures in CFL"; the
    rest is in the authors' code (their folder for label swaps): 20 clients in 4 clusters of 5; for each
    class the proportions over all clients are drawn from a Dirichlet law with concentration 1; every
    image of both published halves is held by exactly one client; p = 0, ..., 3. The code draws the
    test half's proportions again, so that a client is tested on other frequencies of labels than it is
    trained on: ``test="independent"``. Here the test half has the same proportions by default.

    Parameters
    ----------
    data
        A set with at least 9 classes.
    seed
        Of every draw.
    clients
        m, a multiple of 4.
    concentration
        Of the Dirichlet law; the larger, the more even the classes.
    test
        "same" or "independent".

    Raises
    ------
    InvalidArgument
        If an argument breaks its rule, or a client is left without training or test images.
    """
    if data.train.classes <= LAST:
        rule = f"must have at least {LAST + 1} classes, not {data.train.classes}"
        raise InvalidArgument("data", data.name, rule, "choose another data set or partition")
    check_count("clients", clients, at_least=CLUSTERS, remedy="give a multiple of 4")
    if clients % CLUSTERS:
        raise InvalidArgument("clients", clients, f"must be a multiple of {CLUSTERS}", "change it")
    remedy = "1 is that of the authors' code"
    check_number("concentration", concentration, at_least=1e-3, at_most=1e6, remedy=remedy)
    check_choice("test", test, ("same", "independent"), remedy="choose one of these")
    draw = generator(seed, "partition", "label-swap")
    law = np.full(clients, concentration)
    proportions = draw.dirichlet(law, size=data.train.classes)
    for_test = proportions if test == "same" else draw.dirichlet(law, size=data.train.classes)
    return (
        {"clients": clients, "concentration": concentration, "test": test},
        [_divide(data.train, proportions, draw, "training"), _divide(data.test, for_test, draw, "test")],
    )


def _divide(images: Images, proportions: np.ndarray, draw: np.random.Generator, half: str) -> ClientImages:
    """Divide each class in its proportions, (classes, m)."""
    clients = proportions.shape[1]
    rows = divide_classes(images, proportions, draw)
    if not all(map(len, rows)):
        rule = f"must leave every client a {half} image: client {[*map(len, rows)].index(0)} has none"
        raise InvalidArgument("clients", clients, rule, "give fewer, a larger concentration or another seed")
    relabel = np.tile(np.arange(images.classes), (CLUSTERS, 1))
    for cluster in range(CLUSTERS):
        relabel[cluster, [cluster, LAST - cluster]] = LAST - cluster, cluster
    labels = np.repeat(np.arange(CLUSTERS), clients // CLUSTERS)
    return gather_images(images, rows, labels, relabel=relabel)
