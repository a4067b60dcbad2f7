"""The settings of a training run as frozen records, and their TOML file."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from clusterproof.algorithms import ALGORITHMS, Algorithm, InvalidArgument
from clusterproof.algorithms.validation import require
from clusterproof.files import TOML, parse_toml, read_file
from clusterproof.neural.custom.algorithms import own_algorithm
from clusterproof.neural.custom.references import (
    HOW,
    OWN,
    is_own,
    is_reference,
    naming_user_code,
    settled,
)
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.runs.options import SECTIONS, parameters
from clusterproof.neural.runs.training_settings import TrainingSettings
from clusterproof.neural.runs.values import checked, line_of, plain

NAMES = {"data": "digits", "partition": "rotated-groups", "network": "mlp", "algorithm": "cfl-mgd"}
"""Default ``name`` of each section."""

ALGORITHM_DEFAULTS = {"step_size": 0.1, "momentum": 0.9}
"""Defaults of parameters that have none in Python; the values of CFL-MGD's experiments on MNIST."""


@dataclass(frozen=True)
class Named:
    """A partition or a network: its name and its options.

    Attributes
    ----------
    name
        Name on the command line.
    options
        The options that are given; the others have their defaults.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """All that a training run depends on.

    Attributes
    ----------
    data
        Name of the data set.
    data_dir
        Folder of its files; None for the default folders.
    preprocessing
        Transformations of its images.
    partition, network
        How the data are divided among clients, and the network.
    algorithm
        The algorithm with its parameters.
    training
        All other settings, such as the number of rounds.
    algorithm_reference
        Name of the algorithm if it is user-supplied.
    """

    data: str
    data_dir: str | None
    preprocessing: Preprocessing
    partition: Named
    network: Named
    algorithm: Algorithm[Any]
    training: TrainingSettings
    algorithm_reference: str | None = None

    @property
    def sections(self) -> dict[str, dict[str, Any]]:
        """Plain JSON values from which ``configuration_from`` makes an equal configuration.

        Raises
        ------
        InvalidArgument
            If a value cannot be written as JSON; the argument is named as ``section.key``.
        """
        tables = {
            "data": {"name": self.data, "data_dir": self.data_dir, **self.preprocessing.settings},
            "partition": {"name": self.partition.name, **self.partition.options},
            "network": {"name": self.network.name, **self.network.options},
            "algorithm": {"name": self.algorithm_reference or self.algorithm.name, **_values(self.algorithm)},
            "training": _values(self.training),
        }
        return {
            section: {
                key: plain(f"{section}.{key}", value) for key, value in table.items() if value is not None
            }
            for section, table in tables.items()
        }


def configuration_from(sections: Mapping[str, Any]) -> Configuration:
    """Make a configuration from plain values by section and key.

    Parameters
    ----------
    sections
        ``data``, ``partition``, ``network`` and ``algorithm``, each with its ``name`` and its parameters, and
        ``training``. Missing sections and keys have their defaults.

    Raises
    ------
    InvalidArgument
        If a section or key is unknown (with the nearest known), or a value breaks its rule; the argument is
        named as ``section.key``.
    """
    for section, table in sections.items():
        if section not in SECTIONS:
            rule = f"is no section; there are {', '.join(SECTIONS)}"
            raise InvalidArgument(section, table, rule, _nearest(section, list(SECTIONS)))
        if not isinstance(table, Mapping):
            rule = "must be a section of keys and values"
            raise InvalidArgument(section, table, rule, f"write [{section}]")
    given = {section: dict(sections.get(section, {})) for section in SECTIONS}
    brought = is_own("data", str(given["data"].get("name", "")))
    defaults = {**NAMES, "partition": "given"} if brought else NAMES
    names = {section: _name(section, given[section], defaults[section]) for section in NAMES}
    values = {section: _checked(section, names.get(section, ""), given[section]) for section in SECTIONS}
    data_dir = values["data"].pop("data_dir", None)
    if data_dir is not None and not data_dir.isprintable():
        raise InvalidArgument("data.data_dir", data_dir, "must be printable", "give the path of a folder")
    reference = None if names["algorithm"] in ALGORITHMS else names["algorithm"]
    kind = own_algorithm(reference) if reference else ALGORITHMS[names["algorithm"]]
    unset = {
        entry.name
        for entry in fields(kind)
        if entry.init and entry.default is entry.default_factory is MISSING
    }
    defaulted = unset if reference else parameters("algorithm", kind.name)
    needed = {key: value for key, value in ALGORITHM_DEFAULTS.items() if key in defaulted}
    if missing := unset - {*needed, *values["algorithm"]}:
        argument, rule = f"algorithm.{min(missing)}", f"must be given to {names['algorithm']}"
        raise InvalidArgument(argument, None, rule, "add it to [algorithm]")
    with naming("data"):
        preprocessing = Preprocessing(**values["data"])
    with naming("algorithm"), naming_user_code({"algorithm": reference or ""}):
        algorithm = kind(**{**needed, **values["algorithm"]})
    with naming("training"):
        training = TrainingSettings(**values["training"])
    configuration = Configuration(
        data=names["data"],
        data_dir=data_dir,
        preprocessing=preprocessing,
        partition=Named(names["partition"], values["partition"]),
        network=Named(names["network"], values["network"]),
        algorithm=algorithm,
        training=training,
        algorithm_reference=reference,
    )
    to_toml(configuration)  # raises now, not after the run, if a value cannot be stored
    return configuration


def user_code_names(configuration: Configuration) -> dict[str, str]:
    """Names of data, network and algorithm, any of which may be user-supplied code."""
    algorithm = configuration.algorithm_reference or ""
    return {"data": configuration.data, "network": configuration.network.name, "algorithm": algorithm}


def to_toml(configuration: Configuration) -> str:
    """Write a configuration as TOML, which ``read_toml`` reads back to an equal one."""
    tomlkit = require("configuration", "TOML", "tomlkit")
    return str(tomlkit.dumps(configuration.sections))


def read_toml(path: str | os.PathLike[str], *, code: Mapping[str, str] | None = None) -> Configuration:
    """Read a configuration from a TOML file.

    Parameters
    ----------
    path
        Path of the file.
    code
        Names of user-supplied code by section, such as ``{"algorithm": "mine.py:Mine"}``, in place of those in the
        file. Other code that the file names is not imported.

    Raises
    ------
    InvalidArgument
        If the file cannot be read, is not TOML, names other code, or ``configuration_from``
        raises an error; the message names the file, the line and the section.
    """
    return configuration_of_file(read_sections(path), path, code or {})


def configuration_of_file(
    sections: Mapping[str, Any], path: str | os.PathLike[str], code: Mapping[str, str]
) -> Configuration:
    """Make a configuration from the sections of a file, see ``read_toml``; errors name the file."""
    try:
        refuse_code({section: table for section, table in sections.items() if section not in code})
        named = {**{section: {} for section in code}, **sections}
        for section, name in code.items():
            if isinstance(named[section], Mapping):
                named[section] = {**named[section], "name": name}
        return configuration_from(named)
    except InvalidArgument as error:
        raise located(error, path) from error


def refuse_code(sections: Mapping[str, Any], option: str | None = None) -> None:
    """Raise an error if the sections of a file name code to be imported.

    ``option`` is the option of the command line that names such code; by default that of the section.

    Raises
    ------
    InvalidArgument
        If a section's name is a reference such as ``MODULE:NAME`` or ``FILE.py:NAME``.
    """
    for section in OWN:
        table = sections.get(section)
        name = table.get("name") if isinstance(table, Mapping) else None
        if isinstance(name, str) and is_reference(name):
            rule = "is code, which runs when it is imported, and a file alone may not ask for that"
            remedy = f"look at the code, then add --{option or section} {name}"
            raise InvalidArgument(f"{section}.name", name, rule, remedy)


def read_sections(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the content of a TOML file, still unchecked.

    Raises
    ------
    InvalidArgument
        If the file cannot be read or is not TOML.
    """
    remedy = "see the configuration.toml that every training run leaves in its folder"
    try:
        return parse_toml(read_file(path, TOML))
    except OSError as error:
        rule = f"must be a file that can be read ({error.strerror})"
        raise InvalidArgument("config", os.fspath(path), rule, "choose another file") from error
    except ValueError as error:
        rule = " ".join(f"must be a TOML file ({error})".split())
        raise InvalidArgument("config", os.fspath(path), rule, remedy) from error


def located(error: InvalidArgument, path: str | os.PathLike[str]) -> InvalidArgument:
    """Add the file, and the line if it is TOML, to an error about ``section.key``.

    Parameters
    ----------
    error
        Error raised by ``configuration_from``, or by an object built from its configuration.
    path
        Path of the file.
    """
    section, _, key = error.argument.partition(".")
    place, line = os.fspath(path), None
    with suppress(OSError, ValueError):
        line = line_of(read_file(path, TOML).decode(), section, key)
    if line is not None:
        place = f"{place}, line {line}"
    return InvalidArgument(f"{place}, [{section}] {key}".rstrip(), error.value, error.rule, error.remedy)


@contextmanager
def naming(section: str) -> Iterator[None]:
    """Prefix the argument of errors raised inside with the section: ``key`` becomes ``section.key``."""
    try:
        yield
    except InvalidArgument as error:
        argument = error.argument
        if argument in SECTIONS:
            argument = f"{argument}.name"
        elif "." not in argument:
            argument = f"{section}.{argument}"
        raise InvalidArgument(argument, error.value, error.rule, error.remedy) from error


def _name(section: str, table: dict[str, Any], default: str) -> str:
    """Remove ``name`` from a section's table, check it and return it; the default if it is missing."""
    name = table.pop("name", default)
    if isinstance(name, str) and name not in SECTIONS[section] and is_own(section, name):
        return settled(name)
    if not isinstance(name, str) or name not in SECTIONS[section]:
        custom = f", {HOW}" if section in OWN else ""
        rule = f"must be one of {', '.join(SECTIONS[section])}{custom}"
        raise InvalidArgument(f"{section}.name", name, rule, _nearest(str(name), SECTIONS[section]))
    return name


def _checked(section: str, name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Check that a section's parameters exist and have the right types and ranges."""
    known = parameters(section, name)
    for key, value in table.items():
        if key not in known:
            owner, has = f"{section} {name}".rstrip(), ", ".join(known) or "none"
            rule = f"is no parameter of {owner}, which has {has}"
            remedy = _nearest(key, list(known))
            raise InvalidArgument(f"{section}.{key}", value, rule, remedy)
    return {key: checked(f"{section}.{key}", value, known[key]) for key, value in table.items()}


def _values(record: Any) -> dict[str, Any]:
    return {entry.name: getattr(record, entry.name) for entry in fields(record) if entry.init}


def _nearest(word: str, known: Sequence[str]) -> str:
    """Return the known name that is spelled most similarly."""
    nearest = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.5)
    return f"the nearest is {nearest[0]}" if nearest else "leave it out or choose one of these"
