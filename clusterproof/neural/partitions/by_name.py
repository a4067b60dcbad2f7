"""The partitions by name."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from clusterproof.algorithms.discovery import modules_below
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_seed
from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.partitions.base import PARTITIONS, Partition

modules_below("clusterproof.neural.partitions")  # a module with a recipe adds it to PARTITIONS
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
        Non-negative; the same gives the same bits.
    options
        Of the recipe.

    Raises
    ------
    InvalidArgument
        If there is no such partition or option, or an option breaks its rule.
    """
    check_choice("partition", name, list(PARTITIONS), remedy="choose one of these")
    check_seed(seed)
    known = [
        option for option in inspect.signature(PARTITIONS[name]).parameters if option not in ("data", "seed")
    ]
    for option, value in options.items():
        if option not in known:
            rule = f"is no option of the partition {name}, which has {', '.join(known)}"
            raise InvalidArgument(option, value, rule, "leave it out")
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in options.items()}
    return PARTITIONS[name](data, seed=int(seed), **plain)


__all__ = ["PARTITIONS", "partition"]
