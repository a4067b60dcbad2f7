"""What a function keeps from one call to the next, in lists, dictionaries and sets that it can see."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Memory:
    """The containers and caches that a function reaches by its defaults, its closure and its globals.

    Parameters
    ----------
    function
        Whatever stands in it now counts as what stood there before the first call.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        function = inspect.unwrap(function)
        seen = [*(getattr(function, "__defaults__", None) or ())]
        seen += (getattr(function, "__kwdefaults__", None) or {}).values()
        if inspect.isfunction(function):
            outer = inspect.getclosurevars(function)
            seen += [*outer.nonlocals.values(), *outer.globals.values()]
        self.before = [(each, each.copy()) for each in seen if type(each) in (dict, list, set)]
        self.caches = [each for each in seen if callable(getattr(each, "cache_clear", None))]

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
