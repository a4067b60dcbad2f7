"""Networks that clients train: a perceptron, the papers' convolutional networks, TensorFlow's and ResNet-20."""

from __future__ import annotations

import inspect
from typing import Any

from clusterproof.algorithms.discovery import Registry, classes_below
from clusterproof.algorithms.validation import InvalidArgument, check_choice
from clusterproof.neural.networks.base import Network
from clusterproof.neural.networks.cnn import CNN
from clusterproof.neural.networks.mlp import MLP
from clusterproof.neural.networks.resnet import ResNet20
from clusterproof.neural.networks.tutorial import TutorialCNN

NETWORKS: dict[str, type[Network]] = Registry(
    "Networks by their names in configurations.",
    {kind.name: kind for kind in classes_below(__name__, Network)},
)
"""Networks by their names in configurations.

:meta hide-value:
"""


def network(name: str, image_shape: tuple[int, ...], classes: int, **options: Any) -> Network:
    """Make a network by name.

    Parameters
    ----------
    name
        ``"mlp"``, ``"cnn"``, ``"tutorial-cnn"`` or ``"resnet-20"``.
    image_shape, classes
        Of the data.
    options
        Lists of numbers: ``hidden`` of the perceptron and of the convolutional network, ``channels`` and
        ``padding`` of the latter.

    Raises
    ------
    InvalidArgument
        If there is no such network, or it has no such option.
    """
    check_choice("network", name, tuple(NETWORKS), remedy="'mlp' is the smallest")
    kind = NETWORKS[name]
    known = set(inspect.signature(kind).parameters) - set(inspect.signature(Network).parameters)
    for option, value in options.items():
        if option not in known:
            has = " and ".join(sorted(known)) or "none"
            raise InvalidArgument(option, value, f"is no option of {name!r}, which has {has}", "leave it out")
        if not isinstance(value, list | tuple):
            raise InvalidArgument(option, value, "must be a list of numbers", "write [200] for one of 200")
    given = {option: tuple(value) for option, value in options.items()}
    return kind(tuple(image_shape), classes, **given)


__all__ = ["CNN", "MLP", "NETWORKS", "Network", "ResNet20", "TutorialCNN", "network"]
