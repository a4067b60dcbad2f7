"""Arguments of partitions, networks, preprocessing and image tasks that are refused by name: one table."""

from collections.abc import Callable
from typing import Any

import pytest
from image_data import made_set
from small_images import random_partition

from clusterproof.common import InvalidArgument
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.networks import MLP, network
from clusterproof.neural.partitions import PARTITIONS, partition
from clusterproof.neural.task import ImageTask


def make_task(**options: Any) -> ImageTask:
    given = {"partition": random_partition((7, 3, 12, 12, 1)), "network": MLP((1, 4, 4), 3, (6,))}
    return ImageTask(**{**given, **options})


def make_network(name: str) -> Callable[..., Any]:
    given: dict[str, Any] = {"image_shape": (1, 28, 28), "classes": 10}
    return lambda **options: network(name, **{**given, **options})


def make_partition(name: str) -> Callable[..., Any]:
    def make(classes: int = 10, **options: Any) -> Any:
        return partition(name, made_set(100, 40, classes=classes), **{"seed": 0, **options})

    return make


OF_PARTITIONS: dict[str, list[tuple[dict[str, Any], str]]] = {
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
OF_NETWORKS: dict[str, list[tuple[dict[str, Any], str]]] = {
    "vgg": [({}, "network")],
    "mlp": [
        *(({"channels": [3, 4]}, "channels"), ({"hidden": 200}, "hidden"), ({"hidden": [0]}, "hidden")),
        *(({"image_shape": (0, 28, 28)}, "image_shape"), ({"classes": 1}, "classes")),
    ],
    "resnet-20": [({"hidden": [3]}, "hidden")],
    "cnn": [
        *(({"channels": [4]}, "channels"), ({"padding": [2]}, "padding"), ({"padding": [0, 5]}, "padding")),
        *(({"image_shape": (1, 15, 28)}, "image_shape"), ({"image_shape": (28, 28)}, "image_shape")),
    ],
}
NAN = float("nan")
OF_PREPROCESSING: list[tuple[dict[str, Any], str]] = [
    *(({"crop": 0}, "crop"), ({"crop": 2.5}, "crop"), ({"brightness": -0.1}, "brightness")),
    *(({"contrast": 1.1}, "contrast"), ({"contrast": NAN}, "contrast")),
    ({"augmentation_per": "epoch"}, "augmentation_per"),
]
OF_TASKS: list[tuple[dict[str, Any], str]] = [
    *(
        ({"dtype": "float16"}, "dtype"),
        ({"local_unit": "pass"}, "local_unit"),
        ({"engine": "fastest"}, "engine"),
    ),
    *(({"batch_size": 0}, "batch_size"), ({"batch_size": 2.5}, "batch_size")),
    *(({"device": "tpu"}, "device"), ({"device": "meta"}, "device")),
    *(({"network": MLP((1, 4, 5), 3)}, "network"), ({"network": MLP((1, 4, 4), 4)}, "network")),
]
CASES = [
    *((make_partition(name), *case) for name, cases in OF_PARTITIONS.items() for case in cases),
    *((make_network(name), *case) for name, cases in OF_NETWORKS.items() for case in cases),
    *((Preprocessing, *case) for case in OF_PREPROCESSING),
    *((make_task, *case) for case in OF_TASKS),
]


@pytest.mark.parametrize(("make", "options", "argument"), CASES)
def test_what_breaks_a_rule_is_refused(
    make: Callable[..., Any], options: dict[str, Any], argument: str
) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        make(**options)
    assert refusal.value.argument == argument
    assert "\n" not in str(refusal.value)


def test_every_partition_has_a_row() -> None:
    assert PARTITIONS.keys() <= OF_PARTITIONS.keys()
