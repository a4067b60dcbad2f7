"""Check that a class of the running program is exactly the frozen dataclass in its source code."""

from __future__ import annotations

import ast
import sys
from dataclasses import MISSING, field, fields, is_dataclass, make_dataclass
from functools import cached_property
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from clusterproof.checker.freeze.files import File, file_of
from clusterproof.checker.kernel import Refused
from clusterproof.checker.kernel.evaluation import spend
from clusterproof.checker.kernel.language import MOST_PARAMETERS

MADE = ("__init__", "__eq__", "__repr__", "__hash__", "__setattr__", "__delattr__")
"""Names of members that ``dataclass`` creates. A class must have all of them, unchanged."""
OF_FIELD = 20
"""Number of steps for a field of a class, because ``dataclass`` creates a model of the class."""
KEPT = frozenset(vars(type("Plain", (), {}))) | {
    *("__annotations__", "__match_args__", "__dataclass_fields__", "__dataclass_params__", "__replace__"),
    *("__static_attributes__", "__firstlineno__", "__annotate_func__", "__annotations_cache__", "__slots__"),
    *("__getstate__", "__setstate__"),
}
"""Names of other members that every class has."""


def class_node(kind: type) -> tuple[ast.ClassDef, File]:
    """Return the syntax tree of a class, and its source file.

    Raises
    ------
    Refused
        If the class differs from its source, is not a frozen dataclass, or has a base class. The message states the
        difference.
    """
    place = kind.__qualname__
    module = sys.modules.get(kind.__module__)
    if kind.__module__ == "builtins":
        raise Refused(f"{place} is not of the language")
    if not is_dataclass(kind) or type(kind) is not type or kind.__mro__[1:] != (object,):
        raise Refused(f"{place} is not of the language: a record is a frozen dataclass without a base")
    if not isinstance(getattr(module, "__file__", None), str):
        raise Refused(f"{place}: its source is not known: define it in a file")
    file = file_of(str(module.__file__))  # type: ignore[union-attr]  # it has one
    nodes = file.classes.get(kind.__name__, [])
    if len(nodes) != 1:
        raise Refused(f"{place}: its file has {len(nodes)} classes of this name: give each its own")
    (node,) = nodes
    _require_plain(kind, node, place)
    _require_members(kind, node, file, place)
    if (line := file.change_of(kind.__name__)) is not None:
        raise Refused(f"{place} is changed in {file.name}, line {line}: write it as it is to be")
    return node, file


def _require_plain(kind: Any, node: ast.ClassDef, place: str) -> None:
    """Require that the options and fields of a dataclass are as in its source."""
    made = kind.__dataclass_params__
    said = [ast.unparse(each).removeprefix("dataclasses.") for each in node.decorator_list]
    alone = len(said) == 1 and said[0].startswith("dataclass(") and not (node.keywords or node.bases)
    if not (made.frozen and made.eq and made.init and alone):
        raise Refused(f"{place}: a record is a @dataclass(frozen=True), with no other decorator and no base")
    if len(fields(kind)) > MOST_PARAMETERS:
        raise Refused(f"{place}: a record has at most {MOST_PARAMETERS} fields")
    if any(word in said[0] for word in ("eq=", "init=", "kw_only=", "unsafe_hash=")):
        raise Refused(f"{place}: a record is a @dataclass(frozen=True), compared by its fields")
    written = [
        n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    ]
    if written != [each.name for each in fields(kind)]:
        raise Refused(f"{place}: its fields differ from its source's, {', '.join(written)}")
    for each in fields(kind):
        plain = each.default_factory is MISSING and each.init and each.compare and not each.kw_only
        member = vars(kind).get(each.name, each.default)
        own = getattr(member, "__name__", ""), getattr(member, "__objclass__", None)
        is_slot = type(member) is MemberDescriptorType and own == (each.name, kind)
        if not plain or not (member is each.default or is_slot):
            raise Refused(f"{place}.{each.name}: a field is plain, with a constant as default if any")


def _require_members(kind: type, node: ast.ClassDef, file: File, place: str) -> None:
    """Require that each member of a class is defined in its source or created by ``dataclass``."""
    own = [(f.name, Any, f) for f in fields(kind)]
    spend(OF_FIELD * len(own))
    model = make_dataclass(
        kind.__name__,
        [(n, t, field(default=f.default)) if f.default is not MISSING else (n, t) for n, t, f in own],
        frozen=True,
    )
    for name in MADE:
        if not _is_made(vars(kind).get(name), vars(model)[name]):
            raise Refused(f"{place}.{name} is not what dataclass makes: leave it out")
    written = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
    names = {*(each.name for each in fields(kind)), *MADE, *KEPT}
    for name, member in vars(kind).items():
        if name in written:
            _require_member(member, written[name], file, f"{place}.{name}")
        elif name in ("__dict__", "__weakref__"):
            if type(member) is not GetSetDescriptorType:
                raise Refused(f"{place}.{name} differs from a class's own")
        elif name not in names:
            raise Refused(f"{place}.{name}: a record has fields, properties and methods only")
    if missing := written.keys() - vars(kind).keys():
        raise Refused(f"{place}.{min(missing)} was deleted")


def _require_member(member: Any, node: ast.FunctionDef, file: File, place: str) -> None:
    """Require that a method has the same code and decorator as in the source; a text contains no cached property."""
    if node.name.startswith("__"):
        raise Refused(f"{place}: a record has no special methods of its own")
    if type(member) is cached_property:
        return
    function = function_of(member)
    said = [ast.unparse(each).rpartition(".")[2] for each in node.decorator_list]
    kind = {FunctionType: []}.get(type(member), [getattr(type(member), "__name__", "")])
    if function is None or said != kind or file.function(function.__code__) is not node:
        raise Refused(f"{place} is not what its source says")


def function_of(member: Any) -> FunctionType | None:
    """Return the function of a method or property, or None for all other members."""
    if type(member) is property:
        found = member.fget if member.fset is None and member.fdel is None else None
    elif type(member) in (staticmethod, classmethod):
        found = member.__func__
    else:
        found = member
    return found if type(found) is FunctionType else None


def require_own_fields(value: Any, name: str) -> None:
    """Require that a record has values of its fields only."""
    for key in getattr(value, "__dict__", {}).keys() - {each.name for each in fields(value)}:
        raise Refused(f"{name}: a record with the value {key}, which is no field")


def _is_made(member: Any, model: Any) -> bool:
    """Return whether ``dataclass`` created a function: compare its code, defaults and closure with a model class."""
    if type(member) is not FunctionType or type(model) is not FunctionType:
        return False
    own, others = _surroundings(member), _surroundings(model)
    return (
        _without_place(member.__code__) == _without_place(model.__code__)
        and type(member.__defaults__) is type(model.__defaults__)
        and [*map(id, member.__defaults__ or ())] == [*map(id, model.__defaults__ or ())]
        and len(own) == len(others)
        and all(map(_is_alike, own, others))
    )


def _without_place(code: CodeType) -> CodeType:
    return code.replace(co_filename="", co_firstlineno=1, co_linetable=b"", co_qualname="")


def _surroundings(function: FunctionType) -> list[Any]:
    """Return the values of a function's closure."""
    return [getattr(each, "cell_contents", MISSING) for each in function.__closure__ or ()]


def _is_alike(kept: Any, model: Any) -> bool:
    """Return whether two values of closures are equal; two dataclasses count as equal.

    A function that ``dataclass`` creates may refer to its own class, which differs from the class of the model.
    """
    if type(kept) is FunctionType:
        return _is_made(kept, model)
    if type(kept) is type(model) is set:  # the records that are being written
        return kept == model
    return kept is model or (is_dataclass(kept) and is_dataclass(model))
