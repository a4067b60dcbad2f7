"""References to user-supplied code, ``MODULE:NAME`` or ``FILE.py:NAME``: imports, error messages and digests."""

from __future__ import annotations

import ast
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from clusterproof.algorithms import Algorithm, State
from clusterproof.algorithms.from_method import algorithm_of
from clusterproof.common import InvalidArgument
from clusterproof.common.validation import error_text
from clusterproof.files import TEXT, read_file
from clusterproof.methods import METHODS
from clusterproof.opened_files import watch
from clusterproof.user_files import digests_of, is_of, load_file, load_named

OWN = ("data", "network", "algorithm", "measure")
"""Arguments that accept user-supplied code: sections of a configuration, and the option ``measure`` of ``run``."""

HOW = "MODULE:NAME or FILE.py:NAME"

LONGEST_ERROR = 300
"""Largest number of characters that a message quotes from a user's error."""


def require_name(argument: str, reference: str) -> None:
    """Raise an error if a reference contains only a file; suggest the last object that the file defines."""
    if reference.endswith(".py"):
        names = _defined_in(reference)
        remedy = (
            f"write, for example, {reference}:{names[-1]}"
            if names
            else "add a colon and the name of the object"
        )
        raise InvalidArgument(argument, reference, f"must be {HOW}", remedy)


def _defined_in(file: str) -> list[str]:
    """Return the names of the classes and functions in a file, without executing the file."""
    try:
        tree = ast.parse(read_file(file, TEXT))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    return [each.name for each in tree.body if isinstance(each, ast.ClassDef | ast.FunctionDef)]


def is_reference(name: str) -> bool:
    """Return whether a name is a reference to user-supplied code; no built-in name contains a colon."""
    return ":" in name


def is_own(section: str, name: str) -> bool:
    """Return whether the name in a section refers to user-supplied code."""
    return section in OWN and is_reference(name)


def settled(reference: str) -> str:
    """Make the path in a reference absolute, so that the reference does not depend on the working folder."""
    place, _, name = reference.rpartition(":")
    return f"{os.path.abspath(place)}:{name}" if place.endswith(".py") else reference


def load_own(section: str, name: str) -> Any:
    """Import the object of a reference.

    Modules may be in the working folder, and a file may import other files of its folder.

    Parameters
    ----------
    section
        One of ``OWN``.
    name
        Reference as on the command line.

    Raises
    ------
    InvalidArgument
        If the import fails or the name does not exist; the message contains the argument as ``section.name``.
    """
    place, _, attribute = name.rpartition(":")
    argument = f"{section}.name"
    if not place or not attribute:
        raise InvalidArgument(argument, name, f"must be {HOW}", "add the name of the object after the colon")
    try:
        module = import_place(place)
    except (Exception, SystemExit, GeneratorExit) as error:  # any error of a user's module
        raise user_error(section, name, error, "must be importable, and raised") from error
    try:
        return attrgetter(attribute)(module)
    except AttributeError as error:
        raise InvalidArgument(argument, name, f"was not found ({error})", "correct the name") from error


def own_algorithm(name: str) -> type[Algorithm[Any]]:
    """Import a user-supplied algorithm.

    Parameters
    ----------
    name
        A reference, see ``references``, to a method, or to a concrete subclass of ``Algorithm`` that is a frozen
        dataclass.

    Raises
    ------
    InvalidArgument
        If the import fails, the object is neither such a class nor a method, or the class of its states is not
        annotated.
    """
    kind = load_own("algorithm", name)
    if inspect.isfunction(kind) and kind in METHODS:
        return algorithm_of(kind)
    is_class = isinstance(kind, type) and issubclass(kind, Algorithm) and not inspect.isabstract(kind)
    is_complete = is_class and is_dataclass(kind) and isinstance(getattr(kind, "name", None), str)
    if not is_complete:
        rule = (
            "must be a function decorated with @method, or a frozen dataclass with a `name` and all methods of "
            "clusterproof.algorithms.Algorithm"
        )
        raise InvalidArgument("algorithm.name", name, rule, "see docs/tutorials/write-an-algorithm.md")
    try:
        state = kind.state_class()
    except Exception as error:  # a user's annotations can raise any error
        raise user_error(
            "algorithm", name, error, "must have annotations that can be read, and raised"
        ) from error
    if not (isinstance(state, type) and issubclass(state, State) and is_dataclass(state)):
        rule = "must annotate `initialise` with the class of its states, a dataclass that inherits from State"
        raise InvalidArgument("algorithm.name", name, rule, "write `-> State`, or name your class")
    algorithm: type[Algorithm[Any]] = kind
    return algorithm


def keyword_types(kind: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a class's or function's arguments, indexed by name.

    ``Any`` replaces a missing annotation.

    Parameters
    ----------
    kind
        A function or a class. For a dataclass, the arguments are the fields; for another class, the constructor's
        arguments.
    """
    if is_dataclass(kind):
        names = [field.name for field in fields(kind) if field.init]
        source: Any = kind
    else:
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        arguments = inspect.signature(kind).parameters.values()
        names = [entry.name for entry in arguments if entry.kind not in variadic]
        source = vars(kind).get("__init__", kind) if isinstance(kind, type) else kind
    try:
        hints = get_type_hints(source)
    except Exception:  # a user's annotations can raise any error
        hints = {}
    return {name: hints.get(name, Any) for name in names}


def user_error(section: str, name: str, error: BaseException, rule: str = "raised") -> InvalidArgument:
    """Return a one-line error for user-supplied code, with the file and the line of its innermost call.

    Parameters
    ----------
    section, name
        Section of the configuration, and reference to the code.
    error
        Error that the code raised.
    rule
        Beginning of the message.
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
    """Convert errors of user-supplied code to ``InvalidArgument``; raise all other errors unchanged.

    The error is attributed to the code to which the innermost call in the traceback belongs.

    Parameters
    ----------
    names
        Names of data, network and algorithm, indexed by section; built-in names are ignored.
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
    """Return the depth, the file and the line of each call to user-supplied code in a traceback."""
    if not is_own(section, name):
        return []
    place = name.rpartition(":")[0]
    lines = []
    for depth, (frame, line) in enumerate(traceback.walk_tb(error.__traceback__)):
        module = str(frame.f_globals.get("__name__"))
        is_beside = module.split(".")[0] == place.split(".")[0]
        if is_of(module, place) if place.endswith(".py") else is_beside:
            lines.append((depth, frame.f_code.co_filename, line))
    return lines


def code_sums(names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return SHA-256 hashes of all files of user-supplied code and of its imports, indexed by section and path.

    Parameters
    ----------
    names
        Names of data, network and algorithm, indexed by section; built-in names have no hash.
    """
    sums = {}
    for section, name in names.items():
        if is_own(section, name):
            place = name.rpartition(":")[0]
            if place.endswith(".py"):
                sums[section] = digests_of(place)
            elif file := getattr(sys.modules.get(place), "__file__", None):
                levels = place.count(".") + (Path(file).stem == "__init__")
                sums[section] = digests_of(file, Path(file).resolve().parents[levels])
            else:
                sums[section] = {}
    return sums


def import_place(place: str) -> ModuleType:
    """Import a module with the given name, or from a file ``FILE.py``; both may import files in the same folder.

    Afterwards, Clusterproof records all files that this process opens, see ``opened_files``.
    """
    watch()
    return load_file(place) if place.endswith(".py") else load_named(place)
