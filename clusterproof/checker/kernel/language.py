"""The language of texts, which is a part of Python, and the compilation of a text.

A function of the language has no side effects and computes exactly. The compiler parses the text, and accepts only
nodes in ``NODES``. It replaces operators, comparisons, attributes, subscripts and loops by calls of the kernel's own
functions, which accept only exact numbers and count their steps. The compiled code contains no attributes, no imports
and no exception handlers, and runs without builtins.
"""

from __future__ import annotations

import ast
import copy

from clusterproof.checker.kernel.expressions import Expressions
from clusterproof.checker.kernel.grammar import INERT, call, weight

MOST_PARAMETERS = 255
"""Largest number of parameters of a function."""


class Compiler(Expressions, ast.NodeTransformer):
    """Transformer that checks every node of a tree, and replaces operations by calls of the kernel's functions."""

    def target(self, node: ast.expr) -> ast.expr:
        """Check the target of an assignment: a name, or a tuple of names."""
        if isinstance(node, ast.Name):
            self.variable(node, node.id)
        elif isinstance(node, ast.Tuple | ast.List):
            node.elts = [self.target(each) for each in node.elts]
        else:
            raise self.refuse(node, "only names, tuples of names and single entries are assigned to")
        return node

    def shape(self, node: ast.expr) -> ast.expr:
        """Return the shape of an assignment target, as in ``operations.unpacked``."""
        if isinstance(node, ast.Tuple | ast.List):
            return ast.Tuple([self.shape(each) for each in node.elts], ast.Load())
        return ast.Constant(None)

    def entries(self, several: ast.expr, weighed: ast.Constant, target: ast.expr) -> ast.expr:
        """Return an expression for the entries over which a loop iterates, such that each entry counts as a step."""
        if isinstance(target, ast.Name):
            return call("__each", self.visit(several), weighed)
        return call("__each_unpacked", self.visit(several), weighed, self.shape(target))

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Compile an assignment to names, to tuples of names, or to one entry of a list or dictionary."""
        value, (first, *others) = self.visit(node.value), node.targets
        if isinstance(first, ast.Subscript) and not others:
            return ast.Expr(call("__put", value, self.visit(first.value), self.visit(first.slice)))
        starred = isinstance(first, ast.Tuple) and any(isinstance(each, ast.Starred) for each in first.elts)
        if starred and not others:  # the entries are counted before they are unpacked
            for each in first.elts:  # type: ignore[attr-defined]  # a tuple
                name = each.value if isinstance(each, ast.Starred) else each
                if not isinstance(name, ast.Name):
                    raise self.refuse(node, "beside a star only names are assigned to")
                self.variable(name, name.id)
            return ast.Assign([first], call("__listed", value))
        if others and not (all(isinstance(each, ast.Name) for each in node.targets) or _are_alike(node)):
            raise self.refuse(node, "write each assignment in a line of its own")
        if isinstance(first, ast.Tuple | ast.List):
            value = call("__unpacked", value, self.shape(first))
        return ast.Assign([self.target(each) for each in node.targets], value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Remove the annotation."""
        if node.value is None or not isinstance(node.target, ast.Name):
            raise self.refuse(node, "an annotation that is more than one of a name with its value")
        self.require_inert(node.annotation)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Compile an assignment such as ``x += y``; on a list, it extends the list in place."""
        target = node.target
        if not isinstance(target, ast.Name | ast.Subscript):
            raise self.refuse(node, "write x = x + y")
        if isinstance(target, ast.Subscript) and not all(
            isinstance(part, ast.Name | ast.Constant) for part in (target.value, target.slice)
        ):
            raise self.refuse(node, "write x = x + y")
        old = copy.deepcopy(target)
        for each in ast.walk(old):
            if hasattr(each, "ctx"):
                each.ctx = ast.Load()
        in_place = {ast.Add: "__add_in_place", ast.Mult: "__product", ast.BitOr: "__either_in_place"}
        if type(node.op) in in_place:
            value: ast.expr = call(in_place[type(node.op)], self.visit(old), self.visit(node.value))
        else:
            value = self.visit(ast.copy_location(ast.BinOp(old, node.op, node.value), node))
        if isinstance(target, ast.Name):
            return ast.Assign([self.target(target)], value)
        return ast.Expr(call("__put", value, self.visit(target.value), self.visit(target.slice)))

    def visit_For(self, node: ast.For) -> ast.AST:
        """Count the repetitions."""
        weighed = weight(*node.body)
        body, other = ([self.visit(each) for each in block] for block in (node.body, node.orelse))
        entries = self.entries(node.iter, weighed, node.target)
        return ast.For(self.target(node.target), entries, body, other)

    def visit_While(self, node: ast.While) -> ast.AST:
        """Count the repetitions."""
        test = ast.BoolOp(ast.And(), [call("__step", weight(node.test, *node.body)), self.visit(node.test)])
        body, other = ([self.visit(each) for each in block] for block in (node.body, node.orelse))
        return ast.While(test, body, other)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Count the repetitions."""
        if node.is_async:
            raise self.refuse(node.target, "async is not of the language")
        conditions = [self.visit(each) for each in node.ifs]
        entries = self.entries(node.iter, vars(node).get("weighed", ast.Constant(0)), node.target)
        return ast.comprehension(self.target(node.target), entries, conditions, is_async=0)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """Replace ``raise`` by a call that ends the evaluation without a value."""
        if node.exc is not None:
            raise self.refuse(node, "what is raised is left out: write raise")
        return ast.Expr(call("__fail"))

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Compile a statement that yields an entry or calls a function."""
        if isinstance(node.value, ast.Constant):
            raise self.refuse(node, "a text that does nothing: write a comment")
        if isinstance(node.value, ast.Yield):
            value = ast.Constant(None) if node.value.value is None else self.visit(node.value.value)
            return ast.Expr(ast.Yield(value))
        if isinstance(node.value, ast.YieldFrom):
            # Python would close this generator together with the inner one
            raise self.refuse(node, "yield from is left out: write a loop that yields each entry")
        return ast.Expr(self.visit(node.value))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Reject a call that passes the same keyword argument twice."""
        if len({each.arg for each in node.keywords if each.arg}) < sum(
            bool(each.arg) for each in node.keywords
        ):
            raise self.refuse(node, "a call names an argument twice")
        for each in node.keywords:
            each.value = self.visit(each.value)
            if each.arg is None:
                each.value = call("__either", ast.Dict([], []), each.value)
            else:
                self.name(node, each.arg)
        return ast.Call(self.visit(node.func), self.spread(node.args), node.keywords)

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        """Check the names of the parameters, and remove the annotations."""
        several = [*node.posonlyargs, *node.args, *node.kwonlyargs, *filter(None, (node.vararg, node.kwarg))]
        if len(several) > MOST_PARAMETERS:  # Python compares each keyword of a call with each of them
            raise self.refuse(several[0], f"a function has at most {MOST_PARAMETERS} parameters")
        for each in several:
            self.variable(each, each.arg)
            self.require_inert(each.annotation)
            each.annotation = None
        node.defaults = [self.visit(each) for each in node.defaults]
        node.kw_defaults = [None if each is None else self.visit(each) for each in node.kw_defaults]
        return node

    def require_inert(self, annotation: ast.expr | None) -> None:
        """Require an annotation that Python can evaluate without side effects."""
        parts = () if annotation is None else ast.walk(annotation)
        if not all(isinstance(each, INERT) for each in parts):
            words = "an annotation is a name, or names with brackets and |"
            raise self.refuse(annotation, words)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Count the call."""
        body = ast.BoolOp(ast.And(), [call("__step", weight(node.body)), self.visit(node.body)])
        return ast.Lambda(self.visit(node.args), body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Count the call; reject decorators of nested functions."""
        if node.decorator_list or getattr(node, "type_params", None):
            raise self.refuse(
                node, "decorators and parameters of types in a function are not of the language"
            )
        self.require_inert(node.returns)
        weighed, yields = weight(*node.body), _is_generator(node)
        step = ast.copy_location(ast.Expr(ast.copy_location(call("__step", weighed), node)), node)
        body, arguments = [self.visit(each) for each in node.body], self.visit(node.args)
        if yields:
            body = self.generator(node, arguments, body)
        return ast.FunctionDef(self.variable(node, node.name), arguments, [step, *body], [])

    def generator(self, node: ast.FunctionDef, own: ast.arguments, body: list[ast.stmt]) -> list[ast.stmt]:
        """Change a generator function so that the kernel registers its generator as created there."""
        several = [*own.posonlyargs, *own.args, *own.kwonlyargs, *filter(None, (own.vararg, own.kwarg))]
        names = [each.arg for each in several]
        inner = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
        made = call("__made", call("__generator", *(ast.Name(name, ast.Load()) for name in names)))
        statements = [ast.FunctionDef("__generator", inner, body, []), ast.Return(made)]
        return [ast.copy_location(each, node) for each in statements]


def _are_alike(node: ast.Assign) -> bool:
    """Return whether a tuple is assigned to one or several tuples with the same number of names."""
    written = [each for each in (node.value, *node.targets) if isinstance(each, ast.Tuple)]
    names = [each for target in written[1:] for each in target.elts]
    alike = len(written) == len(node.targets) + 1 and len({len(each.elts) for each in written}) == 1
    return alike and all(isinstance(each, ast.Name) for each in names)


def _is_generator(node: ast.FunctionDef) -> bool:
    """Return whether a function contains ``yield``, not counting inner functions."""
    waiting: list[ast.AST] = [*node.body]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(each, ast.FunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(each)
    return False
