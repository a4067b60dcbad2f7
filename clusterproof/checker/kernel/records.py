"""Frozen records of the language: dataclasses without a base, whose properties and methods are of the language, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields, is_dataclass, make_dataclass
from functools import cached_property
from types import FunctionType, GetSetDescriptorType, MappingProxyType, MemberDescriptorType
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, spend
from clusterproof.checker.kernel.operations import kept


class Record:
    """A frozen record of the language."""

    _fields: tuple[str, ...] = ()
    _defaults: Mapping[str, Any] = MappingProxyType({})
    _offers: frozenset[str] = frozenset()

    def __init__(self, *values: Any, **named: Any) -> None:
        spend(1 + len(self._fields))
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


MADE = ("__init__", "__eq__", "__repr__", "__hash__")
"""What ``dataclass`` makes, and the language or what it leaves out relies on: it must be its own."""
KEPT = frozenset(vars(type("Plain", (), {}))) | {
    *("__annotations__", "__match_args__", "__dataclass_fields__", "__dataclass_params__"),
    *("__setattr__", "__delattr__", "__replace__"),
    *("__static_attributes__", "__firstlineno__", "__annotate_func__", "__annotations_cache__"),
}
"""What a class has besides."""


def new_record(kind: type) -> type[Record]:
    """Return an empty record for a dataclass.

    Raises
    ------
    Refused
        If it is more than a frozen dataclass whose fields have constants as defaults.
    """
    place = kind.__qualname__
    plain = type(kind) is type and is_dataclass(kind) and kind.__mro__[1:] == (object,)
    made: Any = getattr(kind, "__dataclass_params__", None)
    if not plain or not (made.frozen and made.eq and made.init):
        raise Refused(f"{place} is not of the language: only frozen dataclasses without a base are")
    for each in fields(kind):
        simple = each.default_factory is MISSING and each.init and each.compare and not each.kw_only
        member = vars(kind).get(each.name, each.default)
        simple = simple and (member is each.default or type(member) is MemberDescriptorType)
        if not simple or each.name.startswith("_"):
            raise Refused(
                f"{place}.{each.name}: a field of a record is plain, with a constant as default if any"
            )
    own = [(f.name, Any, f) for f in fields(kind)]
    model = make_dataclass(
        kind.__name__,
        [(n, t, field(default=f.default)) if f.default is not MISSING else (n, t) for n, t, f in own],
        frozen=True,
    )
    for name, member in vars(kind).items():
        special = name.startswith("__") and name not in {*MADE, *KEPT}
        if name in MADE:
            special = not _alike(member, vars(model)[name])
        if name in ("__dict__", "__weakref__"):
            special = type(member) is not GetSetDescriptorType
        if special or (name.startswith("_") and not name.startswith("__")):
            raise Refused(
                f"{place}.{name}: a record of the language has no special or private methods of its own"
            )
    return type(kind.__name__, (Record,), {})


def _alike(first: Any, second: Any) -> bool:
    """Return whether two members are the same, or functions with the same code, defaults and surroundings."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if type(first) is tuple:
        return len(first) == len(second) and all(map(_alike, first, second))
    if type(first) is FunctionType:
        return all(map(_alike, _parts(first), _parts(second)))
    return type(first) in (int, str, bytes, set) and bool(first == second)


def _parts(function: FunctionType) -> tuple[Any, ...]:
    code, held = function.__code__, tuple(cell.cell_contents for cell in function.__closure__ or ())
    names = code.co_names, code.co_varnames, code.co_freevars
    return code.co_code, *names, code.co_consts, function.__defaults__, function.__kwdefaults__, held


def require_own_fields(value: Any, name: str) -> None:
    """Require that a record of the running program holds its fields only: a cached value may have been changed."""
    if not {*getattr(value, "__dict__", ())} <= {each.name for each in fields(value)}:
        raise Refused(f"{name}: a record with values that are no fields")


def complete_record(
    made: type[Record], kind: type, defaults: Mapping[str, Any], load: Callable[[FunctionType], Any]
) -> None:
    """Give a record the fields of a dataclass, and its properties and methods, loaded into the language.

    What is not of the language refuses when it is used.
    """
    names = tuple(each.name for each in fields(kind))
    members = {
        name: _member(member, name, f"{kind.__qualname__}.{name}", load)
        for name, member in vars(kind).items()
        if not name.startswith("__") and name not in names
    }
    for name, value in members.items():
        setattr(made, name, value)
    made._fields, made._defaults = names, MappingProxyType(dict(defaults))
    made._offers = frozenset([*names, *members])


def _member(member: Any, name: str, place: str, load: Callable[[FunctionType], Any]) -> Any:
    wrap: Callable[[Any], Any] = property
    if type(member) is property:
        found = member.fget
    elif type(member) is cached_property and type(member.attrname) is str and member.attrname == name:
        found, wrap = member.func, _shared
    elif type(member) in (staticmethod, classmethod):
        found, wrap = member.__func__, type(member)
    elif type(member) is FunctionType:
        found, wrap = member, _as_it_is
    else:
        found = member  # asking for it is refused
    try:
        if type(found) is not FunctionType:
            raise Refused(f"{place} is not of the language: make it a field, or a constant of the module")
        return wrap(load(found))
    except Refused as refused:
        why = str(refused)

        def refuse(*arguments: Any, **named: Any) -> Any:
            raise Refused(why)

        return wrap(refuse)


def _shared(function: Callable[[Any], Any]) -> Any:
    """Return a property whose value all who ask share."""
    return property(lambda record: kept(function(kept(record))))


def _as_it_is(function: Any) -> Any:
    return function
