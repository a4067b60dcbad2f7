"""Options of a training run: the sections of a configuration, and the parameters that each has under each name."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Any, get_type_hints

from clusterproof.algorithms import ALGORITHMS
from clusterproof.algorithms.options import Option, merge_options, parameter_descriptions
from clusterproof.neural.custom.algorithms import keyword_types, own_algorithm
from clusterproof.neural.custom.references import load_own
from clusterproof.neural.data.loading import DATASETS
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.partitions.by_name import PARTITIONS
from clusterproof.neural.runs.training_settings import TrainingSettings

NETWORKS: dict[str, dict[str, Any]] = {
    "mlp": {"hidden": Sequence[int]},
    "cnn": {"channels": Sequence[int], "hidden": Sequence[int], "padding": Sequence[int]},
    "resnet-20": {},
    "tutorial-cnn": {},
}
"""Networks and their options, as in ``clusterproof.neural.networks``, which imports torch."""

SECTIONS: dict[str, Sequence[str]] = {
    "data": tuple(DATASETS),
    "partition": tuple(PARTITIONS),
    "network": tuple(NETWORKS),
    "algorithm": tuple(ALGORITHMS),
    "training": (),
}
"""The sections of a configuration, and what each can be the name of."""

_HELP = {
    ("data", "data_dir"): "Folder of the image data; $CLUSTERPROOF_DATA or a cache by default.",
    (
        "partition",
        "clients",
    ): "Number of clients (m); a multiple of 4 for label-swap, and of P for rotations.",
    ("partition", "clusters"): "Number of clusters (K in label-shift); 1, 2 or 4 for rotations.",
    (
        "partition",
        "concentration",
    ): "Of the Dirichlet law: the larger, the more alike the clients' classes or sizes.",
    ("partition", "clients_per_cluster"): "Clients of a cluster; by default as the paper has them.",
    ("partition", "images"): "Images in all; by default as many as the paper takes.",
    ("partition", "share"): 'Whether a group gets its "split" of the images or the "full" set.',
    ("network", "hidden"): "Widths of the hidden layers, as 200 or 64,32.",
    ("network", "channels"): "Channels of the two convolutions, as 32,64.",
    (
        "network",
        "padding",
    ): "Black pixels around the images before each convolution, as 2,0; none by default.",
}


def parameters(section: str, name: str = "") -> dict[str, Any]:
    """Types of a section's parameters, without its name; a user-supplied network or algorithm is imported.

    Parameters
    ----------
    section, name
        One of ``SECTIONS``, and one of its names if it has some, or the name of user-supplied code.
    """
    if section == "network" and name not in NETWORKS:
        found = load_own("network", name)
        types = keyword_types(found) if isinstance(found, type) or inspect.isfunction(found) else {}
        return {key: kind for key, kind in types.items() if key not in _GIVEN}
    if section == "algorithm" and name not in ALGORITHMS:
        return keyword_types(own_algorithm(name))
    if section == "network":
        return NETWORKS[name]
    known = _documented(section, name)
    hints = get_type_hints(known, include_extras=True)
    if section == "partition":
        return {key: hints[key] for key in inspect.signature(known).parameters if key not in _GIVEN}
    types = {field.name: hints[field.name] for field in fields(known)}
    return {"data_dir": str, **types} if section == "data" else types


_GIVEN = ("data", "seed", "sample_shape", "image_shape", "classes")
"""Arguments of partitions and networks that come from the other sections."""


@cache
def all_options() -> tuple[Option, ...]:
    """List the parameters of all sections under all names."""
    options = []
    for section, names in SECTIONS.items():
        for name in names if section != "data" and names else ("",):
            texts = {} if section == "network" else parameter_descriptions(_documented(section, name))
            for key, annotation in parameters(section, name).items():
                flag = "models" if (section, key) == ("algorithm", "clusters") else key
                text = _HELP.get((section, key)) or texts.get(key, "")
                options.append(Option(section, key, flag, annotation, text, (name,) if name else ()))
    return merge_options(options)


def _documented(section: str, name: str) -> Any:
    """Class or function that has a section's parameters."""
    if section == "partition":
        return PARTITIONS[name]
    if section == "data":
        return Preprocessing
    return TrainingSettings if section == "training" else ALGORITHMS[name]
