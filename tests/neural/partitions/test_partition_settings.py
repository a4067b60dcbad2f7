"""A partition is a function of its settings: made again from them, and of its seed, to the bit."""

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from image_data import made_set

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.data.loading import load
from clusterproof.neural.partitions.base import Partition
from clusterproof.neural.partitions.by_name import PARTITIONS, partition

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


REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "rotations": [
        *(({"clusters": clusters}, "clusters") for clusters in (3, 2.0)),
        *(({"clients": clients}, "clients") for clients in (6, 404)),
        ({"samples": 41}, "samples"),
        ({"seed": -1}, "seed"),
    ],
    "rotation": [({}, "partition")],
    "rotated-groups": [({"clusters": 8}, "clusters")],
    "label-shift": [
        *(({"clusters": clusters}, "clusters") for clusters in (11,)),
        *(({"shifts": shifts}, "shifts") for shifts in ([0, 2, 4], [0, 2, 4, 10], [-1, 0, 1, 2])),
        *(({"images": images}, "images") for images in (101, 39)),
        ({"share": "half"}, "share"),
        ({"concentration": 1.0}, "concentration"),
    ],
    "quantity": [
        ({"concentration": 0.0}, "concentration"),
        ({"clients_per_cluster": 25}, "images"),
    ],
    "classes": [
        ({"classes": 12}, "data"),
        ({"clients_per_cluster": 60}, "clients_per_cluster"),
        ({"clusters": 4}, "clusters"),
    ],
    "label-swap": [
        ({"classes": 8}, "data"),
        *(({"clients": clients}, "clients") for clients in (6, 200)),
        ({"concentration": 0.001}, "clients"),
        ({"concentration": "1"}, "concentration"),
        ({"test": "other"}, "test"),
    ],
    "dirichlet": [
        ({"clients": 0}, "clients"),
        ({"clients": 4, "least_samples": 26}, "clients"),
        ({"least_samples": 0}, "least_samples"),
    ],
    "iid": [*(({"clients": clients}, "clients") for clients in (0, 41))],
    "given": [({}, "partition")],
}


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, cases in REFUSED.items() for case in cases]
)
def test_what_breaks_a_rule_is_refused(name: str, case: tuple[dict[str, Any], str]) -> None:
    options, argument = {"seed": 0, **case[0]}, case[1]
    data = made_set(100, 40, classes=options.pop("classes", 10))
    with pytest.raises(InvalidArgument) as refusal:
        partition(name, data, **options)
    assert refusal.value.argument == argument
    assert "\n" not in str(refusal.value)
