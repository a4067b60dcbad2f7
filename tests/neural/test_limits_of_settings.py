"""The ends of every range: the last value that is allowed works, and the next one is refused by its name."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from image_data import made_set
from small_images import random_partition

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.configuration import configuration_from
from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.image_checks import check_images
from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.partitions.by_name import partition


def setting(section: str, key: str) -> Callable[[Any], Any]:
    return lambda value: configuration_from({section: {key: value}})


def divided(name: str, key: str, data: ImageSet, **options: Any) -> Callable[[Any], Any]:
    return lambda value: partition(name, data, seed=0, **{**options, key: value})


IMAGES = made_set(100, 40)
OBLONG = replace(IMAGES, train=replace(IMAGES.train, pixels=IMAGES.train.pixels[:, :, 1:]))
# 12 images a class in equal parts to those of GL-CFL's four clusters that have it: 35, 29, 27 and 29 images
RANGES: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "seed": (setting("training", "seed"), 0, -1),
    "seed, most": (setting("training", "seed"), 2**63 - 1, 2**63),
    "batch_size": (setting("training", "batch_size"), 1, 0),
    "evaluate_every": (setting("training", "evaluate_every"), 1, 0),
    "checkpoint_every": (setting("training", "checkpoint_every"), 1, 0),
    "threads": (setting("training", "threads"), 1, 0),
    "step_size_decay": (setting("training", "step_size_decay"), 5e-324, 0.0),
    "crop": (setting("data", "crop"), 1, 0),
    "contrast, most": (setting("data", "contrast"), 1.0, 1 + 2**-52),
    "clients of iid": (divided("iid", "clients", IMAGES), 40, 41),
    "clients of dirichlet": (divided("dirichlet", "least_samples", made_set(100, 1), clients=1), 100, 101),
    "clients_per_cluster": (divided("classes", "clients_per_cluster", made_set(120, 120)), 27, 28),
    "clients of label-swap": (divided("label-swap", "clients", made_set(400, 400)), 4, 0),
    "data": (lambda count: partition("label-swap", made_set(99, 99, classes=count), seed=0, clients=4), 9, 8),
    "data, turned": (divided("rotated-groups", "clusters", OBLONG), 1, 2),
    "hidden": (lambda widths: MLP((1, 4, 4), 3, widths), (1,), (0,)),
    "channels": (lambda channels: CNN((1, 16, 16), 3, channels), (1, 1), (1, 0)),
}


@pytest.mark.parametrize("name", RANGES)
def test_a_range_ends_where_it_says(name: str) -> None:
    make, allowed, refused = RANGES[name]
    make(allowed)
    with pytest.raises(InvalidArgument) as refusal:
        make(refused)
    assert refusal.value.argument.rpartition(".")[2] == name.split(",")[0].split(" of ")[0]


@pytest.mark.parametrize(
    ("shape", "network", "flip", "refused"),
    [
        ((5, 5, 4), CNN, False, True),
        ((5, 5, 4), MLP, True, True),
        ((5, 5, 4), MLP, False, False),  # which takes samples of any shape
        *((shape, CNN, False, False) for shape in ((4, 4, 4), (5, 5, 5), (5, 4, 4))),
    ],
)
def test_squares_before_at_most_four_channels_are_channels_last(shape, network, flip, refused) -> None:
    made = CNN(shape, 3, (1, 1), (), (2, 2)) if network is CNN else MLP(shape, 3)
    with pytest.raises(InvalidArgument, match="channels to the front") if refused else nullcontext():
        check_images(random_partition((2, 2), image_shape=shape), made, Preprocessing(flip=flip))
