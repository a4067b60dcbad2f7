"""Names of what a user brings along: ``MODULE:NAME``, ``FILE.py:NAME``, or the name of an entry point.

A package offers something under a name of its own by an entry point in the group of its section, for example::

    [project.entry-points."clusterproof.networks"]
    two-towers = "my_package.networks:TwoTowers"
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from functools import cache
from importlib import metadata
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from clusterproof.algorithms.validation import InvalidArgument

GROUPS = {
    "data": "clusterproof.data",
    "network": "clusterproof.networks",
    "algorithm": "clusterproof.algorithms",
}
"""The group of entry points of each section of a configuration."""

HOW = "MODULE:NAME or FILE.py:NAME"


def is_reference(name: str) -> bool:
    """Whether a name says where an object is, which no name of ours does."""
    return ":" in name


def is_own(section: str, name: str) -> bool:
    """Whether a name is that of something that a user brings along."""
    return section in GROUPS and (is_reference(name) or name in offered(section))


@cache
def offered(section: str) -> dict[str, str]:
    """What installed packages offer for a section: ``MODULE:NAME`` by the names of their entry points."""
    return {point.name: point.value for point in metadata.entry_points(group=GROUPS[section])}


def settled(reference: str) -> str:
    """Give a name that means the same in every working folder: files by their whole paths."""
    place, _, name = reference.rpartition(":")
    return f"{os.path.abspath(place)}:{name}" if place.endswith(".py") else reference


def load_own(section: str, name: str) -> Any:
    """Import what a name stands for.

    Modules are looked for in the working folder, too; a file may import its neighbours.

    Parameters
    ----------
    section
        Key of ``GROUPS``.
    name
        As on the command line.

    Raises
    ------
    InvalidArgument
        If it cannot be imported, or has no such name; the argument is ``section.name``.
    """
    place, _, attribute = offered(section).get(name, name).rpartition(":")
    argument = f"{section}.name"
    if not place or not attribute:
        raise InvalidArgument(argument, name, f"must be {HOW}", "name the object after the colon")
    try:
        module = _module(place)
    except (Exception, SystemExit) as error:  # whatever a stranger's module raises
        rule = f"must be importable ({type(error).__name__}: {error})"
        remedy = f"mend it, or give {HOW} from its folder"
        raise InvalidArgument(argument, name, " ".join(rule.split()), remedy) from error
    try:
        return attrgetter(attribute)(module)
    except AttributeError as error:
        raise InvalidArgument(argument, name, f"must be there ({error})", "correct the name") from error


def code_sum(section: str, name: str) -> str:
    """SHA-256 of the file that an object is imported from; empty where there is no file."""
    place = offered(section).get(name, name).rpartition(":")[0]
    file = place if place.endswith(".py") else getattr(sys.modules.get(place), "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""


def _module(place: str) -> ModuleType:
    if not place.endswith(".py"):
        _look_in(os.getcwd())
        return importlib.import_module(place)
    path = Path(place).resolve()
    content = path.read_bytes()
    name = f"{path.stem}_{hashlib.sha256(os.fsencode(path) + content).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    _look_in(str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for what annotations mean
    try:
        # not by the loader, which takes stored bytecode for this content's where size and second are the same
        exec(compile(content, str(path), "exec"), vars(module))  # noqa: S102 - the user's own file
    except BaseException:  # Ctrl-C, too, must leave no half of a module behind; it is raised again
        del sys.modules[name]
        raise
    return module


def _look_in(folder: str) -> None:
    """Let modules be found in a folder, after everywhere else."""
    if folder not in sys.path:
        sys.path.append(folder)
