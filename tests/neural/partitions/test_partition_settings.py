"""A partition is a function of its settings: made again from them, and of its seed, to the bit."""

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from clusterproof.neural.data.loading import load
from clusterproof.neural.partitions import PARTITIONS, partition
from clusterproof.neural.partitions.base import Partition

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in PARTITIONS if name != "given"),  # which draws nothing
    ("rotations", {"clusters": 2, "clients": np.int64(30)}),
    ("rotated-groups", {"share": "full", "clusters": 2}),
    ("label-shift", {"shifts": (1, 5, 9, 3), "images": 800}),
    ("quantity", {"concentration": np.float64(2.0), "clients_per_cluster": 7}),
    ("label-swap", {"test": "independent", "clients": 8}),
    ("dirichlet", {"concentration": np.float64(2.0), "clients": 7, "least_samples": 3}),
    ("iid", {"clients": 7}),
]


def same(one: Partition, other: Partition) -> bool:
    return all(
        np.array_equal(getattr(getattr(one, half), field.name), getattr(getattr(other, half), field.name))
        for half in ("train", "test")
        for field in fields(getattr(one, half))
    )


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_settings_make_the_same_partition_again(name: str, options: dict[str, Any]) -> None:
    made = partition(name, load("digits"), seed=5, **options)
    settings = json.loads(json.dumps(dict(made.settings)))
    options = {
        key: value for key, value in settings.items() if key not in ("data", "partition", "seed", "note")
    }
    assert (settings["data"], settings["partition"]) == ("digits", name)
    again = partition(name, load("digits"), seed=settings["seed"], **options)
    assert same(made, again)
    assert again.settings == settings == made.settings
    assert (again.name, again.clusters, again.classes) == (name, made.clusters, 10)
    assert not same(made, partition(name, load("digits"), seed=6, **options))
