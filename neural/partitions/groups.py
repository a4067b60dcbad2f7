"""SoFL's groups of clients: what its three partitions have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clusterproof.algorithms.randomness import generator
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_count
from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.partitions.partition import Partition, holdings
from clusterproof.neural.partitions.turns_and_shares import cut, whole_parts

CLIENTS = 20
"""Clients in all, wherever the number of clusters divides it."""
FLOOR = 0.1
"""The least part of an equal share that a client gets under Dirichlet sizes."""
_PUBLISHED = {"cifar10": 20_000}
"""Images in all; 10000 of other sets."""


def make_groups(
    name: str,
    data: ImageSet,
    *,
    seed: int,
    clusters: int,
    clients_per_cluster: int | None,
    images: int | None,
    share: str,
    concentration: float | None = None,
    turns: list[int] | None = None,
    relabel: np.ndarray | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Partition:
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
    concentration
        Of a Dirichlet law of the clients' sizes inside each group; None: equal sizes.
    turns, relabel
        As for ``holdings``.
    extra
        Further settings to record.

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
    options = {"clusters": clusters, "clients_per_cluster": clients_per_cluster, "images": images}
    return Partition(
        name=name,
        settings={"seed": seed, **options, "share": share, **(extra or {})},
        clusters=clusters,
        classes=data.train.classes,
        train=holdings(data.train, train, labels, turns=turns, relabel=relabel),
        test=holdings(data.train, test, labels, turns=turns, relabel=relabel),
        paired=True,
    )


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
