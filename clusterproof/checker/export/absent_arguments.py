"""Remove optional parameters that are None in every call, and the branches that they exclude."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

Parameter = tuple[str, str]
"""Names of a function or method, and of its parameter."""


def without_absent(nodes: Sequence[ast.AST], others: Sequence[ast.AST]) -> None:
    """Change definitions in place.

    Parameters
    ----------
    nodes
        All definitions that can call each other.
    others
        Expressions that refer to these definitions.
    """
    functions = dict(_functions(nodes))
    records = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    values = {name for node in (*nodes, *others) for name in _as_values(node, records)}
    absent = {
        (name, each)
        for name, function in functions.items()
        if name not in values
        for each in _optional(function)
    }
    calls = [(name, call) for name, own in functions.items() for call in _calls(own)]
    inside = {id(call) for _, call in calls}
    calls += [("", call) for node in (*nodes, *others) for call in _calls(node) if id(call) not in inside]
    before = None
    while before != len(absent):
        before = len(absent)
        for caller, call in calls:
            absent -= {
                (name, each)
                for name, each in absent
                if _is_given(call, caller, name, each, functions, absent)
            }
    for _, call in calls:
        _shorten(call, functions, absent)
    for name, function in functions.items():
        _remove(function, {each for own, each in absent if own == name})


def _functions(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield functions by name and methods by name with a dot; a name of several methods or a field is left out."""
    parts = [each for node in nodes if isinstance(node, ast.ClassDef) for each in node.body]
    names = [each.name for each in parts if isinstance(each, ast.FunctionDef)]
    names += [ast.unparse(each.target) for each in parts if isinstance(each, ast.AnnAssign)]
    for each in parts:
        if isinstance(each, ast.FunctionDef) and names.count(each.name) == 1 and not each.decorator_list:
            yield f".{each.name}", each
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node


def _called(node: ast.AST) -> str:
    match node:
        case ast.Name(name, ast.Load()):
            return name
        case ast.Attribute(_, name, ast.Load()):
            return f".{name}"
    return ""


def _calls(node: ast.AST) -> list[ast.Call]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Call)]


def _as_values(node: ast.AST, records: set[str]) -> Iterator[str]:
    """Yield the names that are used other than in a plain call, and the names that a function gives its own values."""
    plain = {
        id(each.func)
        for each in _calls(node)
        if not any(isinstance(own, ast.Starred) for own in each.args)
        and all(own.arg for own in each.keywords)
        and not (isinstance(each.func, ast.Attribute) and _called(each.func.value) in records)
    }
    for each in ast.walk(node):
        if isinstance(each, ast.arg):
            yield each.arg
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id
        elif isinstance(each, ast.FunctionDef) and each is not node:
            yield each.name
        elif id(each) not in plain:
            yield _called(each)


def _optional(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the parameters that are None by default, and that nothing else in the function redefines."""
    own = function.args
    pairs = [
        *zip(own.args[::-1], own.defaults[::-1], strict=False),
        *zip(own.kwonlyargs, own.kw_defaults, strict=True),
    ]
    bound = [each.arg for each in ast.walk(function) if isinstance(each, ast.arg)]
    bound += [
        each.id
        for each in ast.walk(function)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    ]
    if own.posonlyargs or own.vararg or own.kwarg:
        return
    for parameter, value in pairs:
        if _is_none(value) and bound.count(parameter.arg) == 1:
            yield parameter.arg


def _is_none(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _place(name: str, each: str, functions: dict[str, ast.FunctionDef]) -> int:
    """Return the index of a parameter in a call, or -1 for a parameter that a call names."""
    places = [own.arg for own in functions[name].args.args][name.startswith(".") :]
    return places.index(each) if each in places else -1


def _is_given(
    call: ast.Call,
    caller: str,
    name: str,
    each: str,
    functions: dict[str, ast.FunctionDef],
    absent: set[Parameter],
) -> bool:
    """Return whether a call in ``caller`` may give a parameter a value other than None."""
    if _called(call.func) != name:
        return False
    place = _place(name, each, functions)
    values: list[ast.expr] = [own.value for own in call.keywords if own.arg == each]
    values += call.args[place : place + 1] if place >= 0 else []
    return not all(
        _is_none(value) or (isinstance(value, ast.Name) and (caller, value.id) in absent) for value in values
    )


def _shorten(call: ast.Call, functions: dict[str, ast.FunctionDef], absent: set[Parameter]) -> None:
    name = _called(call.func)
    gone = [each for own, each in absent if own == name]
    places = {_place(name, each, functions) for each in gone}
    call.args = [each for k, each in enumerate(call.args) if k not in places]
    call.keywords = [each for each in call.keywords if each.arg not in gone]


def _remove(function: ast.FunctionDef, gone: set[str]) -> None:
    own = function.args
    first = len(own.args) - len(own.defaults)
    own.defaults = [v for k, v in enumerate(own.defaults) if own.args[first + k].arg not in gone]
    own.args = [each for each in own.args if each.arg not in gone]
    kept = [
        (each, v) for each, v in zip(own.kwonlyargs, own.kw_defaults, strict=True) if each.arg not in gone
    ]
    own.kwonlyargs, own.kw_defaults = [each for each, _ in kept], [v for _, v in kept]
    if gone:
        _Folded(gone).visit(function)
        for node in ast.walk(function):
            if isinstance(node, ast.FunctionDef | ast.For | ast.While | ast.If):
                node.body = node.body[: _end(node.body)]


def _end(body: Sequence[ast.stmt]) -> int:
    """Return the number of statements up to the first that returns."""
    return next((k for k, each in enumerate(body, start=1) if isinstance(each, ast.Return)), len(body))


class _Folded(ast.NodeTransformer):
    """Replaces parameters by None, and decides the branches on them."""

    def __init__(self, gone: set[str]) -> None:
        self._gone = gone

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(None) if node.id in self._gone else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        while isinstance(node.op, ast.Or) and len(node.values) > 1 and _is_none(node.values[0]):
            del node.values[0]
        return node if len(node.values) > 1 else node.values[0]

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        decided = _decided(node.test)
        return node if decided is None else node.body if decided else node.orelse

    def visit_For(self, node: ast.For) -> ast.AST | None:
        self.generic_visit(node)
        return node if node.body else None

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        decided = _decided(node.test)
        return node if decided is None else node.body if decided else node.orelse


def _decided(test: ast.expr) -> bool | None:
    """Return whether None is None, for a test that asks this."""
    match test:
        case ast.Compare(ast.Constant(None), [ast.Is() | ast.IsNot() as sign], [ast.Constant(None)]):
            return isinstance(sign, ast.Is)
    return None
