"""The configuration of a training run: frozen records, created from JSON values that are grouped into sections.

Each section is defined by a class or function. Its annotations, defaults and docstring determine the settings in
Python, the keys in a file, the options and the help on the command line, and the stored record of a run.
"""

from __future__ import annotations

import difflib
import inspect
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from clusterproof.algorithms import ALGORITHMS, Algorithm
from clusterproof.common import InvalidArgument
from clusterproof.common.options import parameter_descriptions
from clusterproof.common.validation import LARGEST_COUNT, LARGEST_SEED, brief
from clusterproof.files import TOML, parse_json, parse_toml, read_file
from clusterproof.neural.custom import references
from clusterproof.neural.custom.references import HOW, OWN, is_own, keyword_types, own_algorithm
from clusterproof.neural.data.loading import DATASETS
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.partitions import PARTITIONS
from clusterproof.settings import checked_settings, from_settings, parameter_types

DEFAULTS = {"data": "digits", "partition": "rotated-groups", "network": "mlp", "algorithm": "cfl-mgd"}
"""The default data set, partition, network and algorithm."""

SECTIONS = (*DEFAULTS, "training")
"""The sections of a configuration."""

CHANGEABLE = ("rounds", "checkpoint_every", "device")
"""Training settings that you may change when you resume a run."""

ALGORITHM_DEFAULTS = {"step_size": 0.1, "momentum": 0.9}
"""Defaults for algorithm parameters that have no default in Python, from CFL-MGD's experiments on MNIST."""

NETWORKS: dict[str, dict[str, Any]] = {
    "mlp": {"hidden": list[int]},
    "cnn": {"channels": list[int], "hidden": list[int], "padding": list[int]},
    "resnet-20": {},
}
"""The networks of ``clusterproof.neural.networks`` and their options.

They are repeated here because that module imports torch.
"""

DESCRIPTIONS = {
    "data_dir": "Folder of the image data; $CLUSTERPROOF_DATA or a cache by default.",
    "hidden": "Widths of the hidden layers, as 200 or 64,32.",
    "channels": "Channels of the two convolutions, as 32,64.",
    "padding": "Black pixels around the images before each convolution, as 2,0.",
}
"""Descriptions of options whose docstrings cannot be read without importing torch."""

KNOWN: dict[str, Mapping[str, Any]] = {
    "data": DATASETS,
    "partition": PARTITIONS,
    "network": NETWORKS,
    "algorithm": ALGORITHMS,
}
"""The known names of data sets, partitions, networks and algorithms, indexed by section."""

GIVEN = ("data", "seed", "sample_shape", "image_shape", "classes")
"""Arguments of partitions and networks whose values are determined by other sections."""

MOST_THREADS = 1024
"""Largest number of threads.

It is larger than the number of processors of a computer, but smaller than an operating system's limit for a process.
"""

Positive = Annotated[int, Meta(ge=1, le=LARGEST_COUNT)]


@dataclass(frozen=True, kw_only=True)
class Training:
    """The settings of a run, except data, partition, network and algorithm.

    Parameters
    ----------
    rounds
        Number of communication rounds.
    seed
        Seed of the partition, the initial models and the run. Two runs with equal seeds are bitwise identical.
    batch_size
        Number of samples for a local gradient; by default all samples of the client.
    local_unit
        The unit of a local step: one gradient step, or one pass over the client's data.
    step_size_decay
        Factor that multiplies the step size after each round, in (0, 1].
    evaluate_every
        Number of rounds between two evaluations. The last round is always evaluated.
    checkpoint_every
        Number of rounds between two checkpoints. By default, the program writes a checkpoint every two minutes, or
        less often if writing takes a long time. There is always a checkpoint after the last round.
    test_assignment
        Loss by which a test client chooses its model. ``"train"`` is the loss on the same client's training data.
        ``"test-loss"`` is the loss on the client's labelled test data, as in IFCA's public code. The default is
        ``"train"`` if test clients have training data.
    after_local_training
        Whether to measure the accuracy also after additional local training.
    device
        Device for the computation. ``"auto"`` selects a GPU if there is one.
    dtype
        Number type of the models.
    engine
        How clients are trained. With ``"auto"``, the program chooses an engine, and the result states which one.
    precision
        Precision of the products in local training. ``"tf32"`` rounds factors to 11 bits and ``"bf16"`` to 8 bits; both
        are faster on a GPU.
    threads
        Number of processor threads, at most 1024; by default, torch chooses the number.
    client_metrics
        Whether to write clients.parquet as well. This file has one row per test client and evaluated round.

    Raises
    ------
    InvalidArgument
        If a value has the wrong type or is out of range.
    """

    rounds: Annotated[int, Meta(ge=0, le=LARGEST_COUNT)] = 100
    seed: Annotated[int, Meta(ge=0, le=LARGEST_SEED)] = 0
    batch_size: Positive | None = None
    local_unit: Literal["step", "epoch"] = "step"
    step_size_decay: Annotated[float, Meta(gt=0, le=1)] = 1.0
    evaluate_every: Positive = 1
    checkpoint_every: Positive | None = None
    test_assignment: Literal["train", "test-loss"] | None = None
    after_local_training: bool = False
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["float32", "float64"] = "float32"
    engine: Literal["auto", "vmap", "serial"] = "auto"
    precision: Literal["full", "tf32", "bf16"] = "full"
    threads: Annotated[int, Meta(ge=1, le=MOST_THREADS)] | None = None
    client_metrics: bool = False

    def __post_init__(self) -> None:
        """Check types and ranges."""
        checked_settings(parameter_types(Training), vars(self))


@dataclass(frozen=True)
class Named:
    """The choice of a data set, partition, network or algorithm.

    Attributes
    ----------
    name
        Name of a data set, partition, network or algorithm, or a reference ``MODULE:NAME`` or ``FILE.py:NAME`` to
        user-supplied code.
    options
        The options as JSON values; omitted options have their default values.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """All settings on which a training run depends, see ``configuration_from``.

    Attributes
    ----------
    data
        The data set; the options are ``data_dir`` and the fields of ``Preprocessing``.
    partition, network
        The division of the data among clients, and the network.
    algorithm
        The algorithm; the options are the algorithm's parameters.
    training
        All other settings, such as the number of rounds.
    """

    data: Named
    partition: Named
    network: Named
    algorithm: Named
    training: Training

    @property
    def sections(self) -> dict[str, dict[str, Any]]:
        """JSON values from which ``configuration_from`` creates an equal configuration."""
        named = {section: getattr(self, section) for section in DEFAULTS}
        tables = {section: {"name": choice.name, **choice.options} for section, choice in named.items()}
        training = {key: value for key, value in vars(self.training).items() if value is not None}
        return {**tables, "training": training}

    @property
    def user_code(self) -> dict[str, str]:
        """References to user-supplied data, network and algorithm, indexed by section."""
        return {section: getattr(self, section).name for section in ("data", "network", "algorithm")}

    def make_algorithm(self) -> Algorithm[Any]:
        """Create the configured algorithm."""
        kind = algorithm_class(self.algorithm.name)
        with references.naming_user_code({"algorithm": self.algorithm.name}):
            return from_settings(kind, self.algorithm.options, "algorithm.")

    def make_preprocessing(self) -> Preprocessing:
        """Return the configured preprocessing of images."""
        options = {key: value for key, value in self.data.options.items() if key != "data_dir"}
        return from_settings(Preprocessing, options, "data.")


def configuration_from(sections: Mapping[str, Any]) -> Configuration:
    """Create a configuration from JSON values, indexed by section and key.

    Parameters
    ----------
    sections
        The sections ``data``, ``partition``, ``network`` and ``algorithm``, each with a ``name`` and options, and the
        section ``training``. Missing sections and keys have their default values.

    Raises
    ------
    InvalidArgument
        If a section or key is unknown, if a value has the wrong type, or if a value is out of range. The message
        contains the argument as ``section.key``, and suggests the nearest known name.
    """
    tables = checked_settings(dict.fromkeys(SECTIONS, dict[str, Any]), sections)
    tables = {section: dict(tables.get(section, {})) for section in SECTIONS}
    training = from_settings(Training, tables.pop("training"), "training.")
    named = {}
    for section, name in names_from(named_in(tables)).items():
        options = {key: value for key, value in tables[section].items() if key != "name"}
        checked = checked_settings(parameters(section, name), options, f"{section}.")
        named[section] = Named(name, _plain(section, checked))
    configuration = Configuration(**named, training=training)
    configuration.make_preprocessing()
    given = {key: default_of("algorithm", configuration.algorithm.name, key) for key in ALGORITHM_DEFAULTS}
    given = {key: value for key, value in given.items() if value is not None}
    filled = replace(configuration.algorithm, options={**given, **configuration.algorithm.options})
    algorithm = replace(configuration, algorithm=filled).make_algorithm()
    values = {entry.name: getattr(algorithm, entry.name) for entry in fields(algorithm) if entry.init}
    return replace(configuration, algorithm=Named(filled.name, _plain("algorithm", values)))


def parameters(section: str, name: str = "") -> dict[str, Any]:
    """Return the type annotations of a section's options for a name, such as ``("partition", "label-shift")``.

    User-supplied code is imported.
    """
    kind = documented(section, name)
    if section == "data":
        return {"data_dir": str, **parameter_types(kind)}
    if section == "network" and name in NETWORKS:
        return NETWORKS[name]
    types = keyword_types(kind) if is_own(section, name) else parameter_types(kind)
    given = GIVEN if section in ("partition", "network") else ()
    return {key: annotation for key, annotation in types.items() if key not in given}


def documented(section: str, name: str) -> Any:
    """Return the class or function that defines and describes a section's options."""
    if section == "algorithm":
        return algorithm_class(name)
    if section == "network":
        made = references.load_own(section, name) if is_own(section, name) else None
        return made if isinstance(made, type) or inspect.isfunction(made) else (lambda: None)
    return {"data": Preprocessing, "partition": PARTITIONS.get(name), "training": Training}[section]


def descriptions(section: str, name: str) -> dict[str, str]:
    """Return the descriptions of a section's options, indexed by key."""
    return DESCRIPTIONS | parameter_descriptions(documented(section, name))


def default_of(section: str, name: str, key: str) -> Any:
    """Return the default of an option, or None if the default depends on other options."""
    known = inspect.signature(documented(section, name)).parameters
    default = known[key].default if key in known else None
    if default is inspect.Parameter.empty:
        return ALGORITHM_DEFAULTS.get(key) if section == "algorithm" else None
    return default


def places(names: Mapping[str, str] = DEFAULTS) -> dict[str, tuple[str, str]]:
    """Return the section and the key of each option, indexed by the option's name on the command line and in sweeps.

    An option and its key have the same name, with one exception: the option for an algorithm's ``clusters`` is
    ``models``, because the option ``clusters`` belongs to the partition.

    Parameters
    ----------
    names
        Names of data, partition, network and algorithm, indexed by section; omitted names have their default values.
    """
    flat = {section: (section, "name") for section in DEFAULTS}
    for section in SECTIONS:
        for key in parameters(section, names.get(section, DEFAULTS.get(section, ""))):
            flat["models" if (section, key) == ("algorithm", "clusters") else key] = (section, key)
    return flat


def sections_from(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Group option values, such as ``{"algorithm": "ifca", "models": 3, "rounds": 5}``, by section.

    Raises
    ------
    InvalidArgument
        If none of the sections has an option with this name.
    """
    known = places(names_from(values))
    checked_settings(dict.fromkeys(known, Any), values)
    sections: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for option, value in values.items():
        section, key = known[option]
        sections[section][key] = value
    return sections


SEE_A_RUN = "see the configuration.json that every training run leaves in its folder"


def read_configuration_file(
    path: str | os.PathLike[str], argument: str = "config", remedy: str = SEE_A_RUN
) -> dict[str, Any]:
    """Read the tables of a TOML or JSON file without checks; the suffix determines the format.

    Parameters
    ----------
    path
        The file.
    argument, remedy
        Name of the argument that contains the path, and the remedy in error messages.

    Raises
    ------
    InvalidArgument
        If the file cannot be read, or is neither TOML nor JSON.
    """
    kind = "JSON" if Path(path).suffix == ".json" else "TOML"
    try:
        content = read_file(path, TOML)
        found = parse_json(content) if kind == "JSON" else parse_toml(content)
        if isinstance(found, dict) and found:
            return found
        fault = "it is empty" if found == {} else "it is no table"
    except OSError as error:
        rule = f"must be a file that can be read ({error.strerror})"
        raise InvalidArgument(argument, os.fspath(path), rule, "choose another file") from error
    except (ValueError, RecursionError) as error:
        fault = " ".join(str(error).split())
    raise InvalidArgument(argument, os.fspath(path), f"must be a {kind} file ({fault})", remedy)


def with_code(sections: Mapping[str, Any], code: Mapping[str, str]) -> dict[str, Any]:
    """Return the sections of a file; reject user-supplied code unless ``code`` contains it as well.

    Parameters
    ----------
    sections
        The sections as read from the file.
    code
        References to code, indexed by section, such as ``{"algorithm": "mine.py:Mine"}``. They replace the names in the
        file.

    Raises
    ------
    InvalidArgument
        If the file refers to other code, because a file alone must not make the program import code.
    """
    tables = dict(sections)
    for section in OWN:
        table = tables.get(section, {})
        if section in code and isinstance(table, Mapping):
            tables[section] = {**table, "name": code[section]}
        elif isinstance(table, Mapping) and references.is_reference(str(table.get("name", ""))):
            rule = "is code, which runs when it is imported; a file alone may not request this"
            remedy = f"look at the code, then add --{section} {table['name']}"
            raise InvalidArgument(f"{section}.name", table["name"], rule, remedy)
    return tables


def named_in(sections: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``name`` of every section that has a name, indexed by section."""
    tables = {section: table for section, table in sections.items() if isinstance(table, Mapping)}
    return {section: table["name"] for section, table in tables.items() if "name" in table}


def names_from(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of data, partition, network and algorithm, with default names for omitted ones.

    For user-supplied data, the default partition is the division among clients that the data contain.

    Raises
    ------
    InvalidArgument
        See ``checked_name``.
    """
    own = {"partition": "given"} if is_own("data", str(given.get("data"))) else {}
    return {
        section: checked_name(section, given.get(section, own.get(section, name)))
        for section, name in DEFAULTS.items()
    }


def checked_name(section: str, name: Any) -> str:
    """Check a section's name, and return it; a reference to user-supplied code gets an absolute path.

    Raises
    ------
    InvalidArgument
        If the name is unknown; the message suggests the nearest known name.
    """
    if isinstance(name, str):
        if name in KNOWN[section]:
            return name
        if is_own(section, name):
            return references.settled(name)
        if section in OWN:
            references.require_name(f"{section}.name", name)
    custom = f", {HOW}" if section in OWN else ""
    near = difflib.get_close_matches(str(name).lower(), KNOWN[section], n=1)
    remedy = f"write {near[0]}" if near else "choose one of these"
    raise InvalidArgument(
        f"{section}.name", name, f"must be one of {', '.join(KNOWN[section])}{custom}", remedy
    )


def algorithm_class(name: str) -> type[Algorithm[Any]]:
    """Return the class of a built-in or user-supplied algorithm with the given name."""
    return ALGORITHMS[name] if name in ALGORITHMS else own_algorithm(name)


def _plain(section: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Convert options to the values that they have after they are stored as JSON and read again.

    A stored configuration then equals the original.
    """
    plain = {}
    for key, value in options.items():
        try:
            plain[key] = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            rule = "must consist of strings, finite numbers, truth values, lists and tables"
            remedy = "write it as one of these, such as a string"
            raise InvalidArgument(f"{section}.{key}", brief(value), rule, remedy) from error
    return {key: value for key, value in plain.items() if value is not None}
