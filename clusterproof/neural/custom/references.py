"""Names of user-supplied code: ``MODULE:NAME`` or ``FILE.py:NAME``."""

from __future__ import annotations

import ast
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from clusterproof.algorithms.validation import InvalidArgument, error_text
from clusterproof.files import TEXT, read_file
from clusterproof.user_files import digests_of, is_of, load_file, load_named

OWN = ("data", "network", "algorithm", "measure")
"""Sections of a configuration, and the measures of ``run``, that take user-supplied code."""

HOW = "MODULE:NAME or FILE.py:NAME"


LONGEST_ERROR = 300
"""Characters of a user's error that a message quotes."""


def require_name(argument: str, reference: str) -> None:
    """Refuse a file without the name of an object in it, and say which one is the last that it defines."""
    if reference.endswith(".py"):
        names = _defined_in(reference)
        remedy = f"such as {reference}:{names[-1]}" if names else "name the object after a colon"
        raise InvalidArgument(argument, reference, f"must be {HOW}", remedy)


def _defined_in(file: str) -> list[str]:
    """Return the names of the classes and functions of a file, which is not executed."""
    try:
        tree = ast.parse(read_file(file, TEXT))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    return [each.name for each in tree.body if isinstance(each, ast.ClassDef | ast.FunctionDef)]


def is_reference(name: str) -> bool:
    """Return whether a name gives the place of an object, which no built-in name does."""
    return ":" in name


def is_own(section: str, name: str) -> bool:
    """Return whether a name is that of user-supplied code."""
    return section in OWN and is_reference(name)


def settled(reference: str) -> str:
    """Replace the path of a file by its absolute path, which is valid in every working folder."""
    place, _, name = reference.rpartition(":")
    return f"{os.path.abspath(place)}:{name}" if place.endswith(".py") else reference


def load_own(section: str, name: str) -> Any:
    """Import the object of a name, from the working folder, too; a file may import its neighbours.

    Parameters
    ----------
    section
        One of ``OWN``.
    name
        As on the command line.

    Raises
    ------
    InvalidArgument
        If it cannot be imported, or has no such name; the argument is ``section.name``.
    """
    place, attribute = _place(name)
    argument = f"{section}.name"
    if not place or not attribute:
        raise InvalidArgument(argument, name, f"must be {HOW}", "name the object after the colon")
    try:
        module = import_place(place)
    except (Exception, SystemExit, GeneratorExit) as error:  # any error of a user's module
        raise user_error(section, name, error, "must be importable, and raised") from error
    try:
        return attrgetter(attribute)(module)
    except AttributeError as error:
        raise InvalidArgument(argument, name, f"must be there ({error})", "correct the name") from error


def user_error(section: str, name: str, error: BaseException, rule: str = "raised") -> InvalidArgument:
    """Make the one-line error of user-supplied code, with file and line of its innermost call if there is one.

    Parameters
    ----------
    section, name
        What names the code.
    error
        What it has raised.
    rule
        Begin of the message.
    """
    text = " ".join(f"{type(error).__name__}: {error_text(error)}".split())
    text = text if len(text) <= LONGEST_ERROR else f"{text[:LONGEST_ERROR]} ..."
    lines = _lines(section, name, error)
    place = f" ({lines[-1][1]}, line {lines[-1][2]})" if lines else ""
    return InvalidArgument(
        f"{section}.name", name, f"{rule} {text}{place}", "correct the code or its options"
    )


@contextmanager
def naming_user_code(names: Mapping[str, str]) -> Iterator[None]:
    """Raise errors of user-supplied code as ``InvalidArgument``, and others unchanged.

    An error belongs to the code that has the innermost call in its traceback.

    Parameters
    ----------
    names
        Those of data, network and algorithm, by section; built-in ones have no user-supplied code.
    """
    try:
        yield
    except (InvalidArgument, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        lines = {section: _lines(section, name, error) for section, name in names.items()}
        if not any(lines.values()):
            raise
        section = max(lines, key=lambda section: max(lines[section], default=(-1, "", 0)))
        raise user_error(section, names[section], error) from error


def _lines(section: str, name: str, error: BaseException) -> list[tuple[int, str, int]]:
    """Calls of user-supplied code in a traceback: depth, file and line of each."""
    if not is_own(section, name):
        return []
    place, _ = _place(name)
    package = place.partition(".")[0]
    lines = []
    for depth, (frame, line) in enumerate(traceback.walk_tb(error.__traceback__)):
        file = frame.f_code.co_filename
        module = str(frame.f_globals.get("__name__"))
        is_custom = is_of(module, place) if place.endswith(".py") else module.split(".")[0] == package
        if is_custom:
            lines.append((depth, file, line))
    return lines


def _place(name: str) -> tuple[str, str]:
    """Module or file of a name, and the attribute in it."""
    place, _, attribute = name.rpartition(":")
    return place, attribute


def code_sums(names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the SHA-256 of each file of user-supplied code, by section and path, with what it imports from beside it.

    Parameters
    ----------
    names
        Names of data, network and algorithm by section; of built-in ones there is no sum.
    """
    sums = {}
    for section, name in names.items():
        if is_own(section, name):
            place, _ = _place(name)
            if place.endswith(".py"):
                sums[section] = digests_of(place)
            elif file := getattr(sys.modules.get(place), "__file__", None):
                levels = place.count(".") + (Path(file).stem == "__init__")
                sums[section] = digests_of(file, Path(file).resolve().parents[levels])
            else:
                sums[section] = {}
    return sums


def import_place(place: str) -> ModuleType:
    """Import a module by its name, or from a file ``FILE.py``; both may import their neighbours."""
    return load_file(place) if place.endswith(".py") else load_named(place)
