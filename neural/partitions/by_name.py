"""The partitions by name, and the way back from a partition's settings."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from clusterproof.algorithms.discovery import modules_below
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_seed
from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.data.loading import load
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
    made = PARTITIONS[name](data, seed=int(seed), **plain)
    settings = {"data": data.name, "partition": name, **made.settings}
    if data.note:
        settings["note"] = data.note
    return replace(made, settings=settings)


def from_settings(settings: Mapping[str, Any], data_dir: str | os.PathLike[str] | None = None) -> Partition:
    """Make a partition again from its ``settings``.

    Parameters
    ----------
    settings
        As a ``Partition`` has them.
    data_dir
        As for ``clusterproof.neural.data.loading.load``.

    Raises
    ------
    InvalidArgument
        If they are not those of a partition, or the data set here is not the one they speak of.
    """
    options = dict(settings)
    note = options.pop("note", "")
    try:
        data, name, seed = (options.pop(key) for key in ("data", "partition", "seed"))
    except KeyError as error:
        raise InvalidArgument("settings", dict(settings), f"must have {error}", "write them again") from error
    images = load(data, data_dir)
    if images.note != note:
        rule = f"was {note or 'whole'} when the partition was made, and is now {images.note or 'whole'}"
        raise InvalidArgument("data", data, rule, "use the same files")
    return partition(name, images, seed=seed, **options)


__all__ = ["PARTITIONS", "from_settings", "partition"]
