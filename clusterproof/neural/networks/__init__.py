"""Networks for clients: a perceptron, convolutional networks from the papers, and ResNet-20."""

from __future__ import annotations

from typing import Any

from clusterproof.common.discovery import Registry, by_name, classes_below
from clusterproof.common.validation import check_choice
from clusterproof.neural.networks.base import Network
from clusterproof.neural.networks.image_classifiers import CNN, MLP, ResNet20
from clusterproof.settings import checked_settings, parameter_types

NETWORKS: dict[str, type[Network]] = Registry(
    "Networks by their names in configurations.",
    by_name(classes_below(__name__, Network)),
)
"""All networks, indexed by their names in configurations.

:meta hide-value:
"""


def network(name: str, image_shape: tuple[int, ...], classes: int, **options: Any) -> Network:
    """Create the network with the given name.

    Parameters
    ----------
    name
        ``"mlp"``, ``"cnn"`` or ``"resnet-20"``.
    image_shape, classes
        Shape and number of classes of the data.
    options
        Lists of numbers: ``hidden`` for the perceptron and the convolutional network, ``channels`` and ``padding`` for
        the convolutional network.

    Raises
    ------
    InvalidArgument
        If there is no such network, or the network has no such option.
    """
    check_choice("network", name, tuple(NETWORKS), remedy="'mlp' is the smallest")
    kind = NETWORKS[name]
    of_all = parameter_types(Network.__init__)
    known = {key: of for key, of in parameter_types(kind.__init__).items() if key not in of_all}
    return kind(tuple(image_shape), classes, **checked_settings(known, options))


__all__ = ["CNN", "MLP", "NETWORKS", "Network", "ResNet20", "network"]
