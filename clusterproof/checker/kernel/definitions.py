"""The definitions of a text: constants, functions and records. Each is read once and never changes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import FunctionType, MappingProxyType
from typing import Any

from clusterproof.checker.kernel import loops, vocabulary
from clusterproof.checker.kernel.evaluation import Context, Refused, evaluating, spend
from clusterproof.checker.kernel.language import MOST_PARAMETERS, Compiler
from clusterproof.checker.kernel.library import LIBRARY
from clusterproof.checker.kernel.numbers import number
from clusterproof.checker.kernel.operations import OPERATIONS
from clusterproof.checker.kernel.range_words import RANGES
from clusterproof.checker.kernel.records import METHODS, Record, new_record

ANNOTATIONS = ("bool", "dict", "int", "object", "str", "tuple", "Any", "Fraction")
"""Annotations that a field of a record may have; they have no effect."""
ENDING = ("claim", "statement", "outside")
"""Calls that stand at the end of a text."""
RESERVED = frozenset(("suppose", "given", "at_most", "at_least", "equal", *ENDING))
"""Names that variables must not have, because a reader would confuse the variable with the function."""
Vocabulary = Mapping[str, Callable[..., Any]]
WORDS: Vocabulary = {**vocabulary.WORDS, "iterate": loops.iterate, "known": loops.known}
"""Functions that a claim may call, indexed by name. (The export of proofs passes other functions.)"""


def _compiled(tree: ast.AST, mode: str) -> Any:
    """Compile a checked tree; for each inner function, Python's compiler copies the names of the function around it."""
    names: set[str] = set()
    inner = 0
    for each in ast.walk(tree):
        if isinstance(each, ast.Name):
            names.add(each.id)
        inner += isinstance(each, ast.Lambda | ast.FunctionDef | ast.comprehension)
    spend(inner * len(names) // 100)
    return compile(tree, "text", mode)  # type: ignore[call-overload]  # a tree of this mode


class Definitions:
    """The definitions of a text that have been read so far."""

    def __init__(self, words: Vocabulary) -> None:
        self.known = {**LIBRARY, **words}
        self.names: dict[str, Any] = {"__builtins__": {}, **OPERATIONS, **self.known}
        self.compiler = Compiler(RESERVED)
        self.done: dict[int, Any] = {}

    def add(self, node: ast.stmt) -> None:
        """Read a definition.

        Raises
        ------
        Refused
            If the node is not a definition of the language.
        """
        if isinstance(node, ast.FunctionDef):
            self._define(node, node.name, self._function(node))
        elif isinstance(node, ast.ClassDef):
            self._define(node, node.name, self._record(node))
        elif (
            isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        ):
            self._define(node, node.targets[0].id, self.settled(self.value(node.value)))
        else:
            raise self.compiler.refuse(node, "a text defines constants, functions and records only")

    def _define(self, node: ast.AST, name: str, value: Any) -> None:
        if name in self.names or name in RANGES or name in ENDING or name == "dataclass":
            raise self.compiler.refuse(node, f"the name {name} is known already")
        self.names[self.compiler.variable(node, name)] = value

    def value(self, node: ast.expr, further: Mapping[str, Any] | None = None) -> Any:
        """Evaluate an expression; ``further`` contains additional names that it may use."""
        tree = ast.fix_missing_locations(ast.Expression(self.compiler.visit(node)))
        with evaluating() as evaluation:
            names = {**self.names, **further} if further else self.names
            value = eval(_compiled(tree, "eval"), names)  # noqa: S307 - every node was checked
        if evaluation.now != Context():
            raise self.compiler.refuse(node, "a constant has no hypotheses")
        return value

    def _function(self, node: ast.FunctionDef) -> Any:
        """Return the function that a node defines; its default values never change."""
        tree = ast.fix_missing_locations(ast.Module([self.compiler.visit(node)], []))
        own: dict[str, Any] = {}
        with evaluating() as evaluation:
            exec(_compiled(tree, "exec"), self.names, own)  # noqa: S102 - every node was checked
        if evaluation.now != Context():
            raise self.compiler.refuse(node, "a default has no hypotheses")
        return self.settled(own[node.name])

    def settled(self, value: Any) -> Any:
        """Return the value of a constant after a check that it cannot change.

        Raises
        ------
        Refused
            If the value is a list, a generator, or a function that uses variables of an enclosing function.
        """
        if type(value) is FunctionType and value.__globals__ is self.names and not value.__closure__:
            value.__defaults__ = value.__defaults__ and tuple(map(self.settled, value.__defaults__))
            named = value.__kwdefaults__ or {}
            value.__kwdefaults__ = {name: self.settled(each) for name, each in named.items()} or None
            return value
        if any(value is known for known in self.known.values()):
            return value
        if id(value) in self.done:  # several constants may share this part
            return value
        made = _fixed(value, self.settled)
        self.done[id(made)] = made
        return made

    # ---- records

    def _record(self, node: ast.ClassDef) -> type[Record]:
        decorators = [ast.unparse(each) for each in node.decorator_list]
        if (
            decorators != ["dataclass(frozen=True)"]
            or node.bases
            or node.keywords
            or getattr(node, "type_params", None)
        ):
            raise self.compiler.refuse(node, "a record is a @dataclass(frozen=True) without a base")
        listed = [self._member_name(each) for each in node.body]
        names = {*listed}
        if len(names) < len(listed):
            raise self.compiler.refuse(node, f"the record {node.name} has a name twice")
        if len(listed) > MOST_PARAMETERS:
            raise self.compiler.refuse(node, f"a record has at most {MOST_PARAMETERS} fields and methods")
        fields: list[str] = []
        defaults: dict[str, Any] = {}
        members: dict[str, Any] = {}
        each: Any
        for name, each in zip(listed, node.body, strict=True):
            self._require_outside_class(each, names)
            if isinstance(each, ast.FunctionDef):
                members[name] = self._method(each)
                continue
            fields.append(name)
            if each.value is not None:
                defaults[name] = self.settled(self.value(each.value))
            elif defaults:
                raise self.compiler.refuse(each, "a field without a default follows one with a default")
        return new_record(node.name, tuple(fields), defaults, members)

    def _member_name(self, node: Any) -> str:
        """Return the name of a field or method."""
        name = node.name if isinstance(node, ast.FunctionDef) else None
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.simple:
            said = node.annotation
            name = node.target.id if isinstance(said, ast.Name) and said.id in ANNOTATIONS else None
        if name is None or name.startswith("_") or name in METHODS:
            raise self.compiler.refuse(
                node, f"a record has fields, such as a: int (or one of {', '.join(ANNOTATIONS)}), and methods"
            )
        return str(name)

    def _require_outside_class(self, node: Any, names: set[str]) -> None:
        """Reject defaults that use a name of the class, because Python would look it up in the class first."""
        if isinstance(node, ast.FunctionDef):
            defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        else:
            defaults = [node.value] if node.value else []
        for each in (part for default in defaults for part in ast.walk(default)):
            if isinstance(each, ast.Name) and each.id in names:
                raise self.compiler.refuse(
                    each, f"{each.id} is also a name of the class: name the constant otherwise"
                )

    def _method(self, node: ast.FunctionDef) -> Any:
        said = [ast.unparse(each) for each in node.decorator_list] or [""]
        if len(said) > 1 or said[0] not in METHODS:
            raise self.compiler.refuse(
                node, f"a method is decorated by {', '.join(filter(None, METHODS))} only"
            )
        node.decorator_list = []
        return METHODS[said[0]](self._function(node))


def _fixed(value: Any, inner: Callable[[Any], Any]) -> Any:
    """Return an immutable copy of a value; ``inner`` copies its parts."""
    spend(1)
    if type(value) in (int, Fraction):
        return number(value)
    if type(value) in (str, bool, type(None)):
        return value
    if type(value) is tuple:
        return tuple(map(inner, value))
    if type(value) in (dict, MappingProxyType):
        return MappingProxyType({key: inner(each) for key, each in value.items()})
    if isinstance(value, Record):
        return type(value)(*map(inner, value._values))
    raise Refused(f"{type(value).__name__} may change, or is no value of the language: write a tuple")
