"""Partitions without true clusters: independent samples, and label skew by a Dirichlet law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clusterproof.algorithms.randomness import generator
from clusterproof.algorithms.validation import InvalidArgument, check_count, check_number
from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.partitions.base import (
    Division,
    cut,
    divide_classes,
    gather_images,
    recipe,
    whole_parts,
)

CLIENTS = 20
TRIES = 200
"""Draws of the proportions before the partition is refused."""


@recipe
def iid(data: ImageSet, *, seed: int, clients: int = CLIENTS) -> Division:
    """Divide the shuffled training and test halves into equal parts: all clients have one distribution.

    Sizes differ by one sample at most. There is one true cluster, so that the purity has no meaning.

    Parameters
    ----------
    clients
        m.

    Raises
    ------
    InvalidArgument
        If there are more clients than samples of a half.
    """
    check_count("clients", clients, at_least=1, remedy="give the number of clients")
    draw = generator(seed, "partition", "iid")
    halves = []
    for half in (data.train, data.test):
        if clients > len(half):
            raise InvalidArgument("clients", clients, f"must be at most {len(half)} samples", "give fewer")
        sizes = whole_parts(np.full(clients, 1 / clients), len(half))
        halves.append(cut(draw.permutation(len(half)), sizes))
    return _one_cluster(data, halves, {"clients": clients})


@recipe
def dirichlet(
    data: ImageSet,
    *,
    seed: int,
    clients: int = CLIENTS,
    concentration: float = 0.5,
    least_samples: int = 10,
) -> Division:
    """Divide each class among all clients in proportions drawn from a Dirichlet law: label skew.

    Source: Yurochkin et al. 2019, Bayesian nonparametric federated learning (restated), and public code after it:
    for each class the proportions over the m clients are Dirichlet(alpha, ..., alpha), and all of them are drawn
    again until every client has ``least_samples``. The law of Hsu et al. 2019 (restated) differs: there each client
    draws its frequencies of the classes, and all clients have equally many samples.

    A client's share of each class is the same in the test half, so that it is tested on its own frequencies. There
    is one true cluster, so that the purity has no meaning.

    Parameters
    ----------
    clients
        m.
    concentration
        alpha of the Dirichlet law; the smaller, the fewer classes a client has. 0.1 and 0.5 are common.
    least_samples
        Training samples that every client has at least; each has a test sample, too.

    Raises
    ------
    InvalidArgument
        If an argument breaks its rule, or none of 200 draws gives every client enough samples.
    """
    check_count("clients", clients, at_least=1, remedy="give the number of clients")
    check_number("concentration", concentration, at_least=1e-3, at_most=1e6, remedy="0.1 and 0.5 are common")
    check_count("least_samples", least_samples, at_least=1, remedy="10 is common")
    draw = generator(seed, "partition", "dirichlet")
    halves: list[list[np.ndarray]] = []
    for _ in range(TRIES):
        proportions = draw.dirichlet(np.full(clients, concentration), size=data.train.classes)
        halves = [divide_classes(half, proportions, draw) for half in (data.train, data.test)]
        if min(map(len, halves[0])) >= least_samples and min(map(len, halves[1])) >= 1:
            break
    else:
        rule = (
            f"must leave every client {least_samples} training samples and a test sample, which no draw does"
        )
        remedy = "give fewer clients or least_samples, or a larger concentration"
        raise InvalidArgument("clients", clients, rule, remedy)
    options = {"clients": clients, "concentration": concentration, "least_samples": least_samples}
    return _one_cluster(data, halves, options)


def _one_cluster(data: ImageSet, halves: Sequence[Sequence[np.ndarray]], options: dict[str, Any]) -> Division:
    """Gather the rows of every client in both halves, all in one true cluster."""
    labels = np.zeros(len(halves[0]), dtype=np.int64)
    images = (data.train, data.test)
    return options, [gather_images(half, rows, labels) for half, rows in zip(images, halves, strict=True)]
