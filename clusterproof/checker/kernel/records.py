"""Frozen records, which are the classes of a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, spend


class Record:
    """Base class of frozen records. Two records are compared by ``numbers.same``."""

    _fields: tuple[str, ...] = ()
    _defaults: Mapping[str, Any] = MappingProxyType({})
    _offers: frozenset[str] = frozenset()

    def __init__(self, *values: Any, **named: Any) -> None:
        spend(4 + len(self._fields))
        given = {**self._defaults, **dict(zip(self._fields, values, strict=False)), **named}
        twice = named.keys() & set(self._fields[: len(values)])
        if given.keys() != set(self._fields) or len(values) > len(self._fields) or twice:
            raise Refused(f"{type(self).__name__} has the fields {', '.join(self._fields)}")
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @property
    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._fields)

    def __setattr__(self, name: str, value: Any) -> None:
        raise Refused("a record does not change")

    def __eq__(self, other: object) -> bool:
        raise Refused("records are compared by the kernel")

    __hash__ = None  # type: ignore[assignment]  # compared by the kernel, not hashed


METHODS: dict[str, Callable[[Any], Any]] = {
    "": lambda function: function,
    "property": property,
    "staticmethod": staticmethod,
    "classmethod": classmethod,
}
"""Functions that convert a function in a class to a member, indexed by the function's decorator."""


def new_record(
    name: str, fields: tuple[str, ...], defaults: Mapping[str, Any], members: Mapping[str, Any]
) -> type[Record]:
    """Create a record class from its fields, default values, properties and methods."""
    own = {"_fields": fields, "_defaults": MappingProxyType(dict(defaults))}
    return type(name, (Record,), {**members, **own, "_offers": frozenset([*fields, *members])})
