"""Plant faults on purpose: replace a function, class or constant wherever the package has imported it."""

import ast
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

PACKAGE = "clusterproof"
CACHED = (f"{PACKAGE}.theory", f"{PACKAGE}.synthetic")
"""Packages whose modules cache results."""
CacheWrapper = type(cache(len))


@contextmanager
def planted(place: ModuleType | type | str, name: str, fault: Any, *, within: str = PACKAGE) -> Iterator[Any]:
    """Replace a name of a module or class, yield the original, and restore it at the end.

    Cached functions start with empty caches and get their old ones back.

    Parameters
    ----------
    place
        Class, or module (also by its full name) that defines the name.
    name
        Name to replace.
    fault
        Replacement.
    within
        Package whose modules get the replacement.
    """
    place = import_module(place) if isinstance(place, str) else place
    if isinstance(place, type):
        true, holders = inspect.getattr_static(place, name), [(place, name)]
    else:
        true, holders = getattr(place, name), importers(place, name, within)
    if not holders:
        raise LookupError(f"no module of {within} has {place.__name__}.{name}")
    cached = [
        value
        for module in modules_of(*CACHED)
        for value in vars(module).values()
        if type(value) is CacheWrapper and value.__module__ == module.__name__ and value is not true
    ]
    originals = [true, *cached]
    replacements = [fault, *(lru_cache(**one.cache_parameters())(one.__wrapped__) for one in cached)]
    fault_before, *cached_holders = holding([fault, *cached])
    before = [fault_before, *([] for _ in cached)]
    with pytest.MonkeyPatch.context() as patch:
        for replacement, holders_of_one in zip(replacements, [holders, *cached_holders], strict=True):
            for holder, key in holders_of_one:
                patch.setattr(holder, key, replacement)
        try:
            yield true
        finally:
            after = holding(replacements)
    # modules that were imported in the meantime hold the replacement, too
    for original, replacement, known, late in zip(originals, replacements, before, after, strict=True):
        for holder, key in late:
            if callable(replacement) and getattr(holder, key) is replacement and (holder, key) not in known:
                setattr(holder, key, original)


def importers(place: ModuleType, name: str, within: str) -> list[tuple[ModuleType, str]]:
    """Return the modules of a package that define or import a name of a module, each with its name there."""
    true, modules = getattr(place, name), modules_of(within)
    (found,) = holding([true])
    found = [(module, key) for module, key in found if module in modules]
    if callable(true):
        return found
    # equal numbers are often one object: a constant is recognised by its import
    return [
        (module, key)
        for module, key in found
        if key == name and (module is place or name in imported_names(module))
    ]


def holding(values: list[Any]) -> list[list[tuple[ModuleType, str]]]:
    """Return for each object the modules of the package that hold it, each with its name there."""
    found: dict[int, list[tuple[ModuleType, str]]] = {id(value): [] for value in values}
    for module in modules_of(PACKAGE):
        for key, held in vars(module).items():
            if id(held) in found:
                found[id(held)].append((module, key))
    return [found[id(value)] for value in values]


def modules_of(*packages: str) -> list[ModuleType]:
    """Return the imported modules of packages."""
    prefixes = tuple(f"{package}." for package in packages)
    return [module for name, module in list(sys.modules.items()) if f"{name}.".startswith(prefixes)]


@cache
def imported_names(module: ModuleType) -> set[str]:
    """Return the names that a module imports from others."""
    nodes = ast.walk(ast.parse(inspect.getsource(module)))
    return {
        alias.asname or alias.name for one in nodes if isinstance(one, ast.ImportFrom) for alias in one.names
    }


def with_parameters(algorithm: type, **fixed: Any) -> type:
    """Return a subclass of an algorithm whose given parameters are fixed."""

    def initialise(self: Any, **asked: Any) -> None:
        algorithm.__init__(self, **{**asked, **fixed})  # type: ignore[misc]

    return type(algorithm.__name__, (algorithm,), {"__init__": initialise, "__doc__": algorithm.__doc__})
