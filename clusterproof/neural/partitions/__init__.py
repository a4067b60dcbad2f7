"""Recipes of the papers for dividing a data set among clients: one function per recipe, and access by name."""

from __future__ import annotations

from typing import Any

from clusterproof.common.discovery import modules_below
from clusterproof.common.validation import check_choice
from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.partitions.base import PARTITIONS, Partition

modules_below("clusterproof.neural.partitions")  # these modules add their recipes to PARTITIONS
PARTITIONS.update({name: PARTITIONS.pop(name) for name in sorted(PARTITIONS)})


def partition(name: str, data: ImageSet, /, *, seed: int, **options: Any) -> Partition:
    """Divide a data set among clients.

    Parameters
    ----------
    name
        Key of ``PARTITIONS``.
    data
        The data set.
    seed
        Nonnegative integer; partitions with equal seeds are identical.
    options
        Options of the recipe.

    Raises
    ------
    InvalidArgument
        If there is no such partition or option, or an option's value is not allowed.
    """
    check_choice("partition", name, list(PARTITIONS), remedy="choose one of these")
    return PARTITIONS[name](data, seed=seed, **options)


__all__ = ["PARTITIONS", "partition"]
