"""The definitions that a line can reach: without messages, invariants, other lines and values that are never read.

A value is read by its name, and a field of a record by an attribute. An argument that no one reads becomes None. An
optional argument that is None in every call is left out, with the branches that it excludes.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence

from clusterproof.checker.export.absent_arguments import without_absent
from clusterproof.checker.export.claim_tree import ClaimTree, Definition, name_of

HINTS = ("words", "invariant")
"""Arguments of the kernel's words that do not change a value: messages, and facts for a proof."""


def reached(tree: ClaimTree, statement: str, line: str) -> list[Definition]:
    """Return the definitions that a line of a statement reaches, in the order of the text."""
    _, *arguments = tree.statements[statement]
    nodes = {name_of(node): _Plain().visit(copy.deepcopy(node)) for node in tree.used_by(statement)}
    own = nodes.get(ast.unparse(arguments[0]))
    if own is not None:
        _only(own, line)
    without_absent([*nodes.values()], arguments)
    for node in nodes.values():
        _drop_unread(node)
    return _Reached(nodes, [*_names(arguments)]).definitions()


class _Plain(ast.NodeTransformer):
    """Removes the hints from calls."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.keywords = [each for each in node.keywords if each.arg not in HINTS]
        if isinstance(node.func, ast.Name) and node.func.id == "known":
            node.args = node.args[:1]
        return node


def _only(function: Definition, line: str) -> None:
    """Keep one entry of a dictionary of lines."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict):
            own = node.value
            pairs = [
                (key, value)
                for key, value in zip(own.keys, own.values, strict=True)
                if isinstance(key, ast.Constant) and key.value == line
            ]
            if pairs:
                own.keys, own.values = [list(each) for each in zip(*pairs, strict=True)]


def _drop_unread(node: Definition) -> None:
    """Remove assignments and inner functions whose names are never read, until none is left."""
    for function in [each for each in ast.walk(node) if isinstance(each, ast.FunctionDef)]:
        while True:
            read = _read_in(function.body)
            kept = [each for own in function.body if (each := _without_unread(own, read)) is not None]
            if list(map(ast.dump, kept)) == list(map(ast.dump, function.body)):
                break
            function.body = kept


def _without_unread(node: ast.stmt, read: set[str]) -> ast.stmt | None:
    match node:
        case ast.FunctionDef(name):
            return node if name in read else None
        case ast.Assign([ast.Name(name)]):
            return node if name in read else None
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
            pairs = [
                (target, value)
                for target, value in zip(targets, values, strict=True)
                if not isinstance(target, ast.Name) or target.id in read
            ]
            if len(pairs) == len(targets) or any(
                isinstance(each, ast.Starred) for each in (*targets, *values)
            ):
                return node
            if len(pairs) == 1:
                return ast.Assign([pairs[0][0]], pairs[0][1], lineno=node.lineno)
            left, right = ([pair[k] for pair in pairs] for k in range(2))
            return ast.Assign([ast.Tuple(left)], ast.Tuple(right), lineno=node.lineno) if pairs else None
    return node


class _Reached:
    """The least set of names and attributes that is closed under reading."""

    def __init__(self, nodes: Mapping[str, Definition], first: Sequence[str]) -> None:
        self._nodes = nodes
        self._names, self._attributes = set[str](first), set[str]()
        before = (-1, -1)
        while before != (now := (len(self._names), len(self._attributes))):
            before = now
            for name in [*self._names]:
                if name in nodes:
                    self._read(nodes[name])

    def _read(self, node: ast.AST) -> None:
        waiting: list[ast.AST] = [node]
        while waiting:
            own = waiting.pop()
            match own:
                case ast.Name(name, ast.Load()):
                    self._names.add(name)
                case ast.Attribute(_, name):
                    self._attributes.add(name)
                case ast.ClassDef():
                    waiting += self._kept(own)
                    continue
                case ast.Call(args=args):
                    waiting += [own.func, *(each.value for each in own.keywords)]
                    waiting += [each for k, each in enumerate(args) if not self._is_unread(own, k)]
                    continue
            waiting += ast.iter_child_nodes(own)

    def _kept(self, node: ast.ClassDef) -> list[ast.stmt]:
        """Return the fields of a record, and the methods that are called."""
        return [
            each
            for each in node.body
            if not isinstance(each, ast.FunctionDef)
            or each.name in self._attributes
            or each.name.startswith("__")
        ]

    def _is_unread(self, call: ast.Call, place: int) -> bool:
        """Return whether a function or record of the text never reads an argument."""
        of = self._nodes.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if any(isinstance(each, ast.Starred) for each in call.args[: place + 1]):
            return False
        if isinstance(of, ast.ClassDef):
            fields = [ast.unparse(each.target) for each in of.body if isinstance(each, ast.AnnAssign)]
            return place < len(fields) and fields[place] not in self._attributes
        if isinstance(of, ast.FunctionDef):
            parameters = [each.arg for each in (*of.args.posonlyargs, *of.args.args)]
            return place < len(parameters) and parameters[place] not in _read_in(of.body)
        return False

    def definitions(self) -> list[Definition]:
        """Return the definitions with these names."""
        kept = [node for name, node in self._nodes.items() if name in self._names]
        for node in kept:
            for own in ast.walk(node):
                if isinstance(own, ast.Call):
                    own.args = self._arguments(own)
        for node in kept:
            if isinstance(node, ast.ClassDef):
                node.body = self._kept(node)
        return kept

    def _arguments(self, call: ast.Call) -> list[ast.expr]:
        """Return the arguments of a call, without those at the end that no one reads and that have a default."""
        unread = [self._is_unread(call, k) for k in range(len(call.args))]
        found = [ast.Constant(None) if out else each for out, each in zip(unread, call.args, strict=True)]
        of = self._nodes.get(ast.unparse(call.func))
        while found and unread[len(found) - 1] and isinstance(of, ast.ClassDef):
            field = [each for each in of.body if isinstance(each, ast.AnnAssign)][len(found) - 1]
            if field.value is None:
                break
            found.pop()
        return found


def _read_in(body: Sequence[ast.AST]) -> set[str]:
    return {*_names(body)}


def _names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        for own in ast.walk(node):
            if isinstance(own, ast.Name) and isinstance(own.ctx, ast.Load):
                yield own.id
