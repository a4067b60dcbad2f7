"""Rewrite a function's source so that it does not round: operators and literals become function calls.

The functions that replace operators are named as in the kernel's grammar. Line numbers do not change, and annotations
are removed.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from clusterproof.checker.kernel.grammar import OPERATORS, SIGNS, call
from clusterproof.checker.real_numbers.interval import NoValue

WORDED = ("suppose", "given")
"""Functions whose first argument may be a formatted sentence, which the rewriting removes.

Intervals have no digits to format.
"""


class Rewriter(ast.NodeTransformer):
    """Syntax tree transformer that replaces computations, but does not change names and control flow."""

    def visit(self, node: ast.AST) -> Any:
        """Rewrite a node without changing its line number."""
        made = super().visit(node)
        if isinstance(made, ast.AST) and isinstance(node, ast.expr | ast.stmt):
            ast.copy_location(made, node)
        return made

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Replace a decimal literal by the exact number that it denotes."""
        if isinstance(node.value, complex):
            raise NoValue("a complex number")
        return call("__decimal", ast.Constant(repr(node.value))) if isinstance(node.value, float) else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Replace an arithmetic operator by a call of its replacement."""
        self.generic_visit(node)
        name = OPERATORS.get(type(node.op))
        return call(name, node.left, node.right) if name in COMPUTED else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """Replace an assignment such as ``x += y``; arrays and lists still change in place."""
        target, value, name = node.target, self.visit(node.value), OPERATORS.get(type(node.op))
        if any(isinstance(each, ast.Call | ast.NamedExpr) for each in ast.walk(node.target)):
            raise NoValue(f"an operation in place on {ast.unparse(target)}")
        old = copy.deepcopy(target)
        for each in ast.walk(old):
            if isinstance(each, ast.Name | ast.Attribute | ast.Subscript | ast.Starred):
                each.ctx = ast.Load() if each is old or isinstance(each.ctx, ast.Store) else each.ctx
        target = self.visit(target)
        if name not in COMPUTED:
            return ast.AugAssign(target, node.op, value)
        return ast.Assign([target], call("__in_place", ast.Constant(name), self.visit(old), value))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Replace a comparison by a call; a chain of comparisons becomes a conjunction."""
        if len(node.ops) > 1 and not all(
            isinstance(each, ast.Name | ast.Constant) for each in node.comparators[:-1]
        ):
            return self._chain(node)
        self.generic_visit(node)
        pairs = zip([node.left, *node.comparators], node.ops, node.comparators, strict=False)
        parts = [self._pair(left, op, right) for left, op, right in pairs]
        return parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)

    def _pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
        sign = SIGNS[type(op)]
        if sign in ("in", "not in", "is", "is not"):
            return ast.Compare(left, [op], [right])
        return call("__compare", ast.Constant(sign), left, right)

    def _chain(self, node: ast.Compare) -> ast.expr:
        """Split a chain of comparisons, and store each middle value in a variable, so that it is computed only once."""
        parts: list[ast.expr] = []
        left = self.visit(node.left)
        for place, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            name = f"__between_{place}"
            parts.append(self._pair(left, op, ast.NamedExpr(ast.Name(name, ast.Store()), self.visit(right))))
            left = ast.Name(name, ast.Load())
        return ast.BoolOp(ast.And(), parts)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replace the lookup of an attribute by a call."""
        self.generic_visit(node)
        return (
            call("__attribute", node.value, ast.Constant(node.attr))
            if isinstance(node.ctx, ast.Load)
            else node
        )

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Convert indices by a function call, because arrays accept only NumPy integers as indices."""
        self.generic_visit(node)
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [self._index(each) for each in node.slice.elts]
        else:
            node.slice = self._index(node.slice)
        return node

    def _index(self, node: ast.expr) -> ast.expr:
        plain = isinstance(node, ast.Slice | ast.Constant | ast.Starred)
        return node if plain else ast.copy_location(call("__index", node), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Remove the sentences from calls such as ``suppose``, because they do not affect the result."""
        node.keywords = [each for each in node.keywords if each.arg != "words"]
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in WORDED and node.args and isinstance(node.args[0], ast.JoinedStr):
            node.args[0] = ast.Constant("a hypothesis")
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            raise NoValue("super")
        return self.generic_visit(node)  # type: ignore[return-value]  # a call

    def _loop(self, node: Any) -> ast.stmt:
        self.generic_visit(node)
        node.body.insert(0, ast.copy_location(ast.Expr(ast.copy_location(call("__spend"), node)), node))
        return node  # type: ignore[no-any-return]  # a statement

    def visit_For(self, node: ast.For) -> ast.stmt:
        """Count the iterations of the loop."""
        return self._loop(node)

    def visit_While(self, node: ast.While) -> ast.stmt:
        """Count the iterations of the loop."""
        return self._loop(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        """Count the entries of the comprehension."""
        self.generic_visit(node)
        node.ifs.insert(0, call("__spend"))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        """Count the calls of the function, and remove annotations."""
        node.returns = None
        return self._loop(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """Count the calls of the function."""
        self.generic_visit(node)
        node.body = ast.BoolOp(ast.And(), [call("__spend"), node.body])
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Remove the annotation."""
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """Remove the annotation."""
        if node.value is None:
            return ast.Pass()
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))  # type: ignore[no-any-return]

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> list[ast.stmt]:
        """Replace an import by a call."""
        made: list[ast.stmt] = []
        for each in node.names:
            target = each.asname or each.name.partition(".")[0]
            whole = each.name if each.asname else target
            path = (
                [whole]
                if isinstance(node, ast.Import)
                else ["." * node.level + (node.module or ""), each.name]
            )
            made.append(
                ast.Assign([ast.Name(target, ast.Store())], call("__import", *map(ast.Constant, path)))
            )
        return [ast.copy_location(each, node) for each in made]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        """Replace an import by a call."""
        return self.visit_Import(node)


COMPUTED = frozenset(
    OPERATORS[each]
    for each in (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)
)
"""Operators that compute numbers; Boolean operators are not replaced."""


def rewritten(node: Any) -> Any:
    """Return a rewritten copy of a function, an expression or a statement.

    Raises
    ------
    NoValue
        If the code contains a computation without an exact or interval replacement.
    """
    return Rewriter().visit(copy.deepcopy(node))
