"""What a training run can be told: the sections, and the parameters that each has under each name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, get_type_hints

from clusterproof.algorithms import ALGORITHMS
from clusterproof.algorithms.parts.docstrings import parameter_descriptions
from clusterproof.neural.data.loading import DATASETS
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.own.algorithms import keyword_types, own_algorithm
from clusterproof.neural.own.references import load_own
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

_OWN_WORDS = {
    ("data", "data_dir"): "Folder of the image data; $CLUSTERPROOF_DATA or a cache by default.",
    ("partition", "clients_per_cluster"): "Clients of a cluster; by default as the paper has them.",
    ("partition", "images"): "Images in all; by default as many as the paper takes.",
    ("partition", "share"): 'Whether a group gets its "split" of the images or the "full" set.',
    ("network", "hidden"): "Widths of the hidden layers, as 200 or 64,32.",
    ("network", "channels"): "Channels of the two convolutions, as 32,64.",
    (
        "network",
        "padding",
    ): "Black pixels around the images before each convolution, as 2,0; none by default.",
    ("algorithm", "clusters"): "Number of the algorithm's models, its `clusters`.",
}


@dataclass(frozen=True)
class Option:
    """A parameter of a section, under at least one of its names.

    Attributes
    ----------
    section, key
        As in a configuration file.
    flag
        Its name among all options: the key, but ``models`` for an algorithm's ``clusters``.
    annotation
        Type of the value.
    help
        What the docstrings say of it.
    owners
        The names under which the section has it; none where it always has.
    """

    section: str
    key: str
    flag: str
    annotation: Any
    help: str
    owners: tuple[str, ...]


def parameters(section: str, name: str = "") -> dict[str, Any]:
    """Types of a section's parameters, the name itself apart.

    Parameters
    ----------
    section, name
        One of ``SECTIONS``, and one of its names where it has some, or the name of something of the user's own,
        which is imported.
    """
    if section == "network" and name not in NETWORKS:
        return _of_own_network(name)
    if section == "algorithm" and name not in ALGORITHMS:
        return keyword_types(own_algorithm(name))
    return _of_ours(section, "" if section == "data" else name)


def _of_own_network(name: str) -> dict[str, Any]:
    """What a network of the user's own takes beside what every network is given; a module takes nothing."""
    found = load_own("network", name)
    given = {"sample_shape", "image_shape", "classes"}
    types = keyword_types(found) if isinstance(found, type) or inspect.isfunction(found) else {}
    return {key: kind for key, kind in types.items() if key not in given}


@cache
def _of_ours(section: str, name: str) -> dict[str, Any]:
    """The same of what comes with Clusterproof."""
    if section == "network":
        return NETWORKS[name]
    if section == "data":
        hints = get_type_hints(Preprocessing)
        return {"data_dir": str, **{field.name: hints[field.name] for field in fields(Preprocessing)}}
    if section == "partition":
        hints = get_type_hints(PARTITIONS[name])
        return {
            key: hints[key] for key in inspect.signature(PARTITIONS[name]).parameters if key not in _FIXED
        }
    kind = TrainingSettings if section == "training" else ALGORITHMS[name]
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


_FIXED = ("data", "seed")
"""What a recipe is given by the other sections."""


@cache
def all_options() -> tuple[Option, ...]:
    """List the parameters of all sections under all names."""
    collected: dict[str, Option] = {}
    for section, names in SECTIONS.items():
        for name in names if section != "data" and names else ("",):
            for key, annotation in parameters(section, name).items():
                flag = "models" if (section, key) == ("algorithm", "clusters") else key
                known = collected.get(flag)
                if known is None:
                    words = _OWN_WORDS.get((section, key)) or parameter_descriptions(
                        _documented(section, name)
                    ).get(key, "")
                    known = Option(section, key, flag, annotation, words, ())
                owners = (*known.owners, name) if name else ()
                merged = known.annotation if known.annotation == annotation else known.annotation | annotation
                collected[flag] = Option(section, key, flag, merged, known.help, owners)
    return tuple(collected.values())


def _documented(section: str, name: str) -> Callable[..., Any]:
    if section == "partition":
        return PARTITIONS[name]
    if section == "data":
        return Preprocessing
    return TrainingSettings if section == "training" else ALGORITHMS[name]
