"""Faults planted on purpose: the one way in which a test may replace a part of ours.

A part is replaced under the name that it has where it is defined, and then for everybody who imports it.
So a test names what is wrong (a mathematical quantity, an algorithm, a sampler, a constant) and not who
happens to import it, and the product may be rearranged without a word to its tests.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

OURS = "clusterproof"
REMEMBERING = (f"{OURS}.theory", f"{OURS}.synthetic")
"""Where results are cached."""

Holder = tuple[ModuleType, str]
"""A module, and a name in it."""


class NotASeamError(Exception):
    """What a test wants to replace has no public, documented name of ours."""


@contextmanager
def planted(place: ModuleType | type | str, name: str, fault: Any, *, within: str = OURS) -> Iterator[Any]:
    """Replace a part of ours, and give the true one; caches forget what the faulty one has led to.

    Parameters
    ----------
    place
        Module, also by its full name, or class that defines the part.
    name
        Its name there: public, and documented where it is defined.
    fault
        What is there instead.
    within
        Room of the product that gets the faulty part, for a fault of one claim alone.

    Raises
    ------
    NotASeamError
        If the part is not ours, or has no public documented name in this place, or nobody in the room uses it.
    """
    place = import_module(place) if isinstance(place, str) else place
    check_seam(place, name)
    if isinstance(place, type):
        true = inspect.getattr_static(place, name)
        replacement = replaced_in_class(place, name, fault)
    else:
        true = getattr(place, name)
        users = [(module, key) for module, key in holders(place, name) if is_within(module, within)]
        if not users:
            raise NotASeamError(f"{place.__name__}.{name}: nobody in {within} uses it")
        replacement = replaced_in_modules(users, true, fault)
    with replacement, nothing_remembered():
        yield true


@contextmanager
def replaced_in_class(place: type, name: str, fault: Any) -> Iterator[None]:
    """Replace an attribute of a class, its own or an inherited one."""
    own, true = name in vars(place), inspect.getattr_static(place, name)
    setattr(place, name, fault)
    try:
        yield
    finally:
        if own:
            setattr(place, name, true)
        else:
            delattr(place, name)


@contextmanager
def replaced_in_modules(users: list[Holder], true: Any, fault: Any) -> Iterator[None]:
    """Replace what modules hold under these names, and take it back from those imported meanwhile."""
    innocent = {(module.__name__, key) for module, key in holding([fault])[0]}
    for module, key in users:
        setattr(module, key, fault)
    try:
        yield
    finally:
        late = holding([fault])[0] if callable(fault) else []
        for module, key in [*users, *late]:
            if (module.__name__, key) not in innocent:
                setattr(module, key, true)


@contextmanager
def nothing_remembered() -> Iterator[None]:
    """Put empty caches in the place of those of claims and tasks, and the full ones back."""
    cached = [
        value
        for module in our_modules()
        if is_within(module, *REMEMBERING)
        for value in vars(module).values()
        if hasattr(value, "cache_parameters") and value.__module__ == module.__name__
    ]
    users = holding(cached)
    for function, places in zip(cached, users, strict=True):
        empty = lru_cache(**function.cache_parameters())(function.__wrapped__)
        for module, key in places:
            setattr(module, key, empty)
    try:
        yield
    finally:
        for function, places in zip(cached, users, strict=True):
            for module, key in places:
                setattr(module, key, function)


def check_seam(place: ModuleType | type, name: str) -> None:
    """Refuse what is not ours, private, undocumented or only imported in this place."""
    module = place if isinstance(place, ModuleType) else sys.modules[place.__module__]
    path = f"{place.__name__}.{name}" if place is module else f"{module.__name__}.{place.__qualname__}.{name}"
    if path.partition(".")[0] != OURS:
        raise NotASeamError(f"{path}: not a part of {OURS}; use monkeypatch")
    if any(part.startswith("_") for part in path.split(".")):
        raise NotASeamError(f"{path}: is private; replace what has a public name, or give it one")
    if isinstance(place, type):
        part = inspect.getattr_static(place, name, None)
        if part is None:
            raise NotASeamError(f"{path}: is not there")
        documented = bool(getattr(part, "__doc__", None)) or name in (place.__doc__ or "")
    else:
        if name not in definitions(module):
            raise NotASeamError(f"{path}: is not defined there; name the module that defines it")
        documented = definitions(module)[name]
    if not documented:
        raise NotASeamError(f"{path}: has no docstring; say what it is")


def holders(place: ModuleType, name: str) -> list[Holder]:
    """Modules of ours that define or import a part, and the name that it has there."""
    true = getattr(place, name)
    found = holding([true])[0]
    if callable(true):
        return found
    # equal numbers are often one object: only the same name tells
    return [
        (module, key)
        for module, key in found
        if key == name and (module is place or name not in definitions(module))
    ]


def holding(values: list[Any]) -> list[list[Holder]]:
    """For each object, the modules of ours that hold it and the name that it has there."""
    found: dict[int, list[Holder]] = {id(value): [] for value in values}
    for module in our_modules():
        for key, held in vars(module).items():
            if id(held) in found:
                found[id(held)].append((module, key))
    return [found[id(value)] for value in values]


def our_modules() -> list[ModuleType]:
    """The modules of ours that are imported."""
    return [module for module in list(sys.modules.values()) if is_within(module, OURS)]


def is_within(module: ModuleType, *rooms: str) -> bool:
    """Whether a module is one of these, or lies below."""
    return any(f"{module.__name__}.".startswith(f"{room}.") for room in rooms)


@cache
def definitions(module: ModuleType) -> dict[str, bool]:
    """What a module defines itself, and whether it says what it is."""
    found: dict[str, bool] = {}
    body = ast.parse(inspect.getsource(module)).body
    for position, statement in enumerate(body):
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            found[statement.name] = ast.get_docstring(statement) is not None
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            following = body[position + 1] if position + 1 < len(body) else None
            said = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            for target in targets:
                for each in ast.walk(target):
                    if isinstance(each, ast.Name):
                        found[each.id] = said
    return found


def with_parameters(algorithm: type, **fixed: Any) -> type:
    """An algorithm that has these parameters whatever it is asked for."""

    def initialise(self: Any, **asked: Any) -> None:
        algorithm.__init__(self, **{**asked, **fixed})  # type: ignore[misc]

    return type(algorithm.__name__, (algorithm,), {"__init__": initialise, "__doc__": algorithm.__doc__})
