"""What lies in a folder is found there: no list of modules is kept by hand."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import TypeVar

Kind = TypeVar("Kind")


def modules_below(package: str, *, named: str | None = None, direct: bool = False) -> list[ModuleType]:
    """Import every module of a package and of its subpackages, in the order of their names.

    Parameters
    ----------
    package
        Dotted name, such as ``"clusterproof.theory.sofl"``.
    named
        Only modules with this last name, such as ``"claims"``; all where None.
    direct
        Leave the subpackages alone.

    Raises
    ------
    ImportError
        If the package or one of its modules cannot be imported.
    """
    path = importlib.import_module(package).__path__
    prefix = f"{package}."
    if direct:
        names = [found.name for found in pkgutil.iter_modules(path, prefix) if not found.ispkg]
    else:
        names = [found.name for found in pkgutil.walk_packages(path, prefix)]
    return [importlib.import_module(name) for name in names if named in (None, name.rpartition(".")[2])]


def classes_below(package: str, base: type[Kind], *, direct: bool = False) -> Iterator[type[Kind]]:
    """Give the concrete classes of a kind that the modules below a package define.

    Parameters
    ----------
    package
        Dotted name.
    base
        What they inherit from.
    direct
        As for ``modules_below``.
    """
    for module in modules_below(package, direct=direct):
        for value in vars(module).values():
            defined = isinstance(value, type) and value.__module__ == module.__name__
            if defined and issubclass(value, base) and not inspect.isabstract(value):
                yield value


def instances_below(package: str, kind: type[Kind]) -> Iterator[tuple[str, Kind]]:
    """Give the objects of a kind that stand in the modules below a package, each with its place.

    Parameters
    ----------
    package
        Dotted name.
    kind
        Class of the objects.

    Yields
    ------
    tuple
        ``"module:NAME"`` and the object; one that several modules have is given by the first.
    """
    seen: list[Kind] = []
    for module in modules_below(package):
        for name, value in vars(module).items():
            if isinstance(value, kind) and not any(value is one for one in seen):
                seen.append(value)
                yield f"{module.__name__}:{name}", value
