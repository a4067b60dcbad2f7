"""The division that the data come with: each client holds what the data set says."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.partitions.partition import Partition, holdings, recipe


@recipe
def given(data: ImageSet, *, seed: int) -> Partition:
    """Leave every sample to the client that the data set names, for training and for testing.

    Nothing is drawn. It is what data of one's own have where no partition is named.

    Raises
    ------
    InvalidArgument
        If the data set does not say who holds what.
    """
    owners = data.owners
    if owners is None:
        rule = f"needs data that come divided among clients, and {data.name} is one list"
        raise InvalidArgument("partition", "given", rule, "choose another partition, such as label-shift")
    clients = range(len(owners.clusters))
    train, test = (
        [np.flatnonzero(half == client) for client in clients] for half in (owners.train, owners.test)
    )
    return Partition(
        name="given",
        settings={"seed": seed},
        clusters=int(owners.clusters.max()) + 1,
        classes=data.train.classes,
        train=holdings(data.train, train, owners.clusters),
        test=holdings(data.test, test, owners.clusters),
        paired=True,
    )
