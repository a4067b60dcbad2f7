"""Replace the names of a function by the names of a text, and remove parts that have no effect."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusterproof.checker.freeze.files import SCOPES, File
from clusterproof.checker.freeze.layout import Edit
from clusterproof.checker.kernel import Refused

WORDED = ("at_most", "at_least", "equal")
"""Functions whose argument ``words``, a sentence for the report, is removed in a text."""


@dataclass
class Scope:
    """The scope of a name: all functions and comprehensions that enclose it.

    Attributes
    ----------
    file
        Source file, or None for the text of an annotation.
    nodes
        The functions and comprehensions, from the outermost to the innermost. The outermost one is the function to
        convert.
    variables
        Names of the local variables of each node.
    """

    file: File | None
    nodes: list[Any] = field(default_factory=list)
    variables: list[set[str]] = field(default_factory=list)

    def enter(self, node: Any) -> None:
        """Add a function or comprehension as the innermost scope."""
        self.nodes.append(node)
        self.variables.append(variables_of(node))

    def leave(self) -> None:
        """Remove the innermost function or comprehension from the scope."""
        self.nodes.pop()
        self.variables.pop()

    @property
    def name(self) -> str:
        """Name of the outermost function, or an empty string if there is none."""
        return getattr(self.nodes[0], "name", "a lambda") if self.nodes else ""

    def owns(self, name: str) -> bool:
        """Return whether a name is a local variable of one of the nodes."""
        return any(name in names for names in self.variables)


def variables_of(node: Any) -> set[str]:
    """Return the local variables of a function or comprehension, except variables of inner functions.

    A name is a variable if it is a parameter, the target of an assignment or a loop, or the name of an inner function.
    The language contains no ``global`` and no ``nonlocal`` statement.
    """
    waiting: list[Any]
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        own = node.args
        arguments = [*own.posonlyargs, *own.args, *own.kwonlyargs, own.vararg, own.kwarg]
        found = {each.arg for each in arguments if each}
        waiting = [*node.body] if isinstance(node, ast.FunctionDef) else [node.body]
    else:
        found = set()
        first, *others = node.generators
        waiting = [first.target, *first.ifs, *others]
        waiting += [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            found.add(each.id)
        if isinstance(each, ast.FunctionDef):
            found.add(each.name)
        waiting += children(each)
    return found


def copied(node: Any) -> Any:
    """Return a deep copy of a node, in a third of the time that ``deepcopy`` takes."""
    return pickle.loads(pickle.dumps(node))  # noqa: S301 - what was written just now


def children(node: Any) -> list[Any]:
    """Return all parts of a node that Python evaluates in the node's scope, except annotations and decorators."""
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        return [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    if isinstance(node, SCOPES):
        return [node.generators[0].iter]  # type: ignore[union-attr]  # a comprehension has them
    if isinstance(node, ast.AnnAssign):
        return [node.target, *filter(None, [node.value])]
    return list(ast.iter_child_nodes(node))


class Writer(ast.NodeTransformer):
    """Transformer that replaces names by the names of a text, both in the syntax tree and as edits of the source.

    Parameters
    ----------
    scope
        Scope of the node.
    name
        Function that maps a global name, or a variable of an enclosing function, to the name in the text.
    attribute
        Function that maps the parts of a dotted name to the name in the text. It returns None if the first part is not
        a module.
    has_value
        Function that returns whether a name has a value outside the node.
    """

    def __init__(
        self,
        scope: Scope,
        name: Callable[[str], str],
        attribute: Callable[[Sequence[str]], tuple[str, int] | None],
        has_value: Callable[[str], bool],
    ) -> None:
        self.scope, self.name, self.attribute, self.has_value = scope, name, attribute, has_value
        self.edits: list[Edit] = []
        self.asked: set[str] = set()

    def replace(self, node: Any, text: str) -> Any:
        """Replace an expression by a string."""
        self.edits.append(((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset), text))
        return ast.copy_location(ast.parse(text, mode="eval").body, node)

    def placed(self, node: Any, refused: Refused) -> Refused:
        """Add the place of an expression to an exception."""
        if self.scope.file is None or ".py, " in str(refused):
            return refused
        within = f", in {self.scope.name}" if self.scope.name else ""
        return Refused(f"{self.scope.file.name}, line {node.lineno}{within}: {refused}")

    def written(self, node: Any) -> str:
        """Return the name in the text for a name whose value is used."""
        name: str = node.id
        if name.startswith("__") or not name.isascii():
            raise self.placed(node, Refused(f"the name {name}: write ASCII, without two underscores"))
        if self.scope.owns(name):
            return name
        try:
            own = self.name(name)
        except Refused as refused:
            raise self.placed(node, refused) from None
        return self.unhidden(own)

    def unhidden(self, own: str) -> str:
        """Return a name of the text; reject it if a local variable has the same name."""
        first = own.partition(".")[0]
        if self.scope.owns(first):
            raise Refused(f"{first} is also the name of a variable: rename the variable")
        return own

    def visit_Name(self, node: ast.Name) -> Any:
        """Replace a name by the name that the text uses."""
        own = self.written(node) if isinstance(node.ctx, ast.Load) else node.id
        return node if own == node.id else self.replace(node, own)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Replace an attribute of a module by the name that the text uses."""
        path: list[str] = []
        inner: Any = node
        while isinstance(inner, ast.Attribute):
            path.insert(0, inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and not self.scope.owns(inner.id):
            try:
                found = self.attribute([inner.id, *path])
            except Refused as refused:
                raise self.placed(node, refused) from None
            if found is not None:
                own, used = found
                self.asked |= {*path[used:]}
                return self.replace(node, ".".join([self.unhidden(own), *path[used:]]))
        self.asked.add(node.attr)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        """Remove the sentence for the report from a line, if evaluating it has no effect."""
        worded = isinstance(node.func, ast.Name) and not self.scope.owns(node.func.id)
        worded = worded and self.written(node.func) in WORDED
        before: Any = node.args[-1] if node.args else node.func
        for each in [*node.keywords]:
            if worded and each.arg == "words" and _does_nothing(each.value):
                end = (before.end_lineno, before.end_col_offset)
                self.edits.append((end, (each.end_lineno, each.end_col_offset), ""))  # type: ignore[arg-type]
                node.keywords.remove(each)
            else:
                before = each
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> Any:
        """Remove the exception of a ``raise`` statement, because the function has no value there."""
        self.edits.append(((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset), "raise"))  # type: ignore[arg-type]
        return ast.copy_location(ast.Raise(None, None), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Remove the annotation."""
        end = (node.annotation.end_lineno, node.annotation.end_col_offset)
        if node.value is None:
            raise Refused(
                f"line {node.lineno}: an annotation without a value: assign one, or leave the line out"
            )
        start = (node.target.end_lineno, node.target.end_col_offset)
        self.edits.append((start, end, ""))  # type: ignore[arg-type]
        made = ast.Assign([self.visit(node.target)], self.visit(node.value))
        return ast.copy_location(made, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Convert an inner function, and remove its annotations and docstring."""
        if node.decorator_list:
            raise Refused(f"line {node.lineno}: a decorator within a function is not of the language")
        return self.function(node, node.name)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """Convert an inner function."""
        return self.function(node, "")

    def function(self, node: Any, name: str) -> Any:
        """Convert a function to source code under a new name; convert its default values in the outer scope."""
        own = node.args
        own.defaults = [self.visit(each) for each in own.defaults]
        own.kw_defaults = [each and self.visit(each) for each in own.kw_defaults]
        is_nested = bool(self.scope.nodes)
        returns = None if isinstance(node, ast.Lambda) else node.returns
        arguments = [
            each for each in (*own.posonlyargs, *own.args, *own.kwonlyargs, own.vararg, own.kwarg) if each
        ]
        is_evaluated = is_nested and not (self.scope.file and self.scope.file.postpones_annotations)
        for said in (*(each.annotation for each in arguments), returns) if is_evaluated else ():
            if not (said is None or isinstance(said, ast.Constant) or self._is_found(said)):
                raise Refused(
                    f"line {said.lineno}: Python evaluates this annotation in each call: write the name of a global "
                    "value, or begin the file with from __future__ import annotations"
                )
        for each in arguments:
            if each.annotation is not None:
                end = (each.annotation.end_lineno, each.annotation.end_col_offset)
                start = (each.lineno, each.col_offset + len(each.arg))
                self.edits.append((start, end, ""))
                each.annotation = None
        self.scope.enter(node)
        try:
            if isinstance(node, ast.Lambda):
                node.body = self.visit(node.body)
            else:
                node.name = name
                node.body = [self.visit(each) for each in self._without_texts(node.body)]
                node.returns = None
        finally:
            self.scope.leave()
        return node

    def _is_found(self, node: ast.expr) -> bool:
        """Return whether an expression is the name of a value outside the functions that are converted."""
        return isinstance(node, ast.Name) and self.has_value(node.id) and not self.scope.owns(node.id)

    def _without_texts(self, body: list[ast.stmt]) -> list[ast.stmt]:
        texts = [n for n in body if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
        for each in texts:
            left = "pass" if len(texts) == len(body) and each is body[0] else ""
            self.edits.append(((each.lineno, each.col_offset), (each.end_lineno, each.end_col_offset), left))  # type: ignore[arg-type]
        left_out = {id(each) for each in texts}
        return [n for n in body if id(n) not in left_out] or [ast.copy_location(ast.Pass(), body[0])]

    def _comprehension(self, node: Any) -> Any:
        node.generators[0].iter = self.visit(node.generators[0].iter)
        first = node.generators[0].iter
        self.scope.enter(node)
        try:
            node.generators[0].iter = ast.Constant(None)
            self.generic_visit(node)
        finally:
            self.scope.leave()
        node.generators[0].iter = first
        return node

    visit_ListComp = visit_GeneratorExp = visit_DictComp = visit_SetComp = _comprehension  # noqa: N815 - as in ast


def _does_nothing(node: ast.expr) -> bool:
    """Return whether evaluating an expression has no effect."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Lambda) and not ast.unparse(node.args))
