"""Discovery of the modules, classes and objects of a package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import TypeVar

from clusterproof.common.validation import InvalidArgument

Kind = TypeVar("Kind")


class Registry(dict[str, Kind]):
    """A dictionary of named objects that has its own docstring, which ``help`` shows.

    Parameters
    ----------
    docstring
        Docstring of this registry.
    entries
        Initial entries.
    """

    def __init__(self, docstring: str, entries: Mapping[str, Kind] = {}) -> None:
        super().__init__(entries)
        self.__doc__ = docstring


def modules_below(package: str, *, direct: bool = False) -> list[ModuleType]:
    """Import every module of a package and, unless ``direct``, of its subpackages, in alphabetical order.

    Parameters
    ----------
    package
        Dotted name, such as ``"clusterproof.synthetic"``.
    """
    path = importlib.import_module(package).__path__
    prefix = f"{package}."
    if direct:
        names = [module.name for module in pkgutil.iter_modules(path, prefix) if not module.ispkg]
    else:
        names = [module.name for module in pkgutil.walk_packages(path, prefix)]
    return [importlib.import_module(name) for name in names]


def classes_below(package: str, base: type[Kind], *, direct: bool = False) -> Iterator[type[Kind]]:
    """Yield the concrete subclasses of ``base`` that the modules below a package define; see ``modules_below``."""
    for module in modules_below(package, direct=direct):
        for value in vars(module).values():
            defined = isinstance(value, type) and value.__module__ == module.__name__
            if defined and issubclass(value, base) and not inspect.isabstract(value):
                yield value


def by_name(classes: Iterable[type[Kind]]) -> dict[str, type[Kind]]:
    """Return a dictionary of the classes, indexed by their attribute ``name``.

    Raises
    ------
    InvalidArgument
        If two classes have the same name, for example in a copied file.
    """
    found: dict[str, type[Kind]] = {}
    for each in classes:
        name = str(getattr(each, "name"))  # noqa: B009 - which the base classes of all registries ask for
        if name in found:
            rule = f"is the name of {_place(found[name])} and of {_place(each)}"
            raise InvalidArgument("name", name, rule, "rename one of them")
        found[name] = each
    return found


def _place(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
