"""Implementations by name: ``MODULE:NAME`` or ``FILE.py:NAME``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from clusterproof.algorithms.validation import InvalidArgument

ARGUMENT = "implementation"


def load_implementation(reference: str) -> Any:
    """Import what a reference names, which runs that code.

    Modules are also looked for in the working folder; a file may import its neighbours.

    Raises
    ------
    InvalidArgument
        If it cannot be imported, or has no such name.
    """
    place, _, name = reference.rpartition(":")
    if not place or not name:
        raise InvalidArgument(
            ARGUMENT, reference, "must be MODULE:NAME or FILE.py:NAME", "name the class after the colon"
        )
    try:
        module = _from_file(Path(place)) if place.endswith(".py") else _from_name(place)
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        rule = f"cannot be imported ({type(error).__name__}: {error})"
        missing = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        remedy = f"install {missing}, or correct the name" if missing else "correct the module"
        raise InvalidArgument(ARGUMENT, reference, rule, remedy) from error
    try:
        return attrgetter(name)(module)
    except AttributeError as error:
        names = ", ".join(known for known in vars(module) if not known.startswith("_")) or "nothing"
        raise InvalidArgument(ARGUMENT, reference, f"has no {name}", f"it has {names[:200]}") from error


def _from_name(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    name = f"clusterproof_implementation_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module
