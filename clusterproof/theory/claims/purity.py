"""What a function keeps from one call to the next, in lists, dictionaries and sets that it can see."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Memory:
    """The containers and caches that a function reaches by its defaults, its closure, its globals and what it calls.

    Functions and classes of the module that states it are followed, those of others are not.

    Parameters
    ----------
    function
        Whatever stands in the containers now counts as what stood there before the first call.

    Attributes
    ----------
    has_numpy
        Whether it reaches NumPy, whose integers wrap around, also where ``int(...)`` is taken afterwards.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        objects = _reached(inspect.unwrap(function))
        names = (
            each.__name__ if inspect.ismodule(each) else getattr(each, "__module__", "") for each in objects
        )
        self.has_numpy = any(str(name).partition(".")[0] == "numpy" for name in names)
        self.iterators = [each for each in objects if isinstance(each, Iterator)]
        self.before = [(each, each.copy()) for each in objects if type(each) in (dict, list, set)]
        self.caches = [each for each in objects if callable(getattr(each, "cache_clear", None))]

    @property
    def changed(self) -> bool:
        """Whether a container holds something else than before, or there is a cache."""
        return bool(self.caches) or any(_differ(each, before) for each, before in self.before)

    @contextmanager
    def forgotten(self) -> Iterator[None]:
        """Put back what stood there before, for a while."""
        after = [(each, each.copy()) for each, _ in self.before]
        for cache in self.caches:
            cache.cache_clear()
        _fill(self.before)
        try:
            yield
        finally:
            _fill(after)


def _differ(first: Any, second: Any) -> bool:
    try:
        return bool(first != second)
    except Exception:  # arrays among the entries: no harm in comparing once more
        return True


def _fill(contents: list[tuple[Any, Any]]) -> None:
    for container, content in contents:
        container.clear()
        container.extend(content) if isinstance(container, list) else container.update(content)


def _reached(function: Callable[..., Any]) -> list[Any]:
    """Return what a function reaches, each object once."""
    waiting, seen = [function], {id(function): function}
    while waiting:
        for each in _next(waiting.pop()):
            if id(each) not in seen:
                seen[id(each)] = each
                is_code = inspect.isfunction(each) or inspect.isclass(each)
                if is_code and each.__module__ == function.__module__:
                    waiting.append(each)
    return list(seen.values())


def _next(code: Any) -> list[Any]:
    """Return what a function reads outside of itself, or a class holds."""
    if inspect.isclass(code):
        return list(vars(code).values())
    if not inspect.isfunction(code):
        return []
    outer = inspect.getclosurevars(code)
    return [
        *(code.__defaults__ or ()),
        *(code.__kwdefaults__ or {}).values(),
        *outer.nonlocals.values(),
        *outer.globals.values(),
    ]
