"""The language: which Python a text may be written in, and how it is compiled.

A function of the language is pure and exact. The text is parsed; every node must be one of ``NODES``; operators,
comparisons, attributes, subscripts and loops become calls of the kernel's own functions, which admit exact numbers and
count their steps. What is left has no attribute, no import and no handler of exceptions, and runs without builtins.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection
from typing import Any

from clusterproof.checker.text_kernel.evaluation import Refused
from clusterproof.checker.text_kernel.grammar import (
    MODULES,
    NODES,
    OPERATORS,
    REMEDIES,
    SIGNS,
    call,
    floating,
    weight,
)


class Compiler(ast.NodeTransformer):
    """Check every node of a tree, and replace what the kernel does itself.

    Parameters
    ----------
    reserved
        Names that no variable may have: a claim's words.
    """

    def __init__(self, reserved: Collection[str]) -> None:
        self.reserved = reserved

    def refuse(self, node: Any, what: str) -> Refused:
        """Return the error that says where something outside of the language stands."""
        return Refused(f"line {getattr(node, 'lineno', '?')}: {what}")

    def visit(self, node: ast.AST) -> Any:
        """Check and rewrite a node."""
        if not isinstance(node, NODES):
            remedy = REMEDIES.get(type(node), "write it in other words")
            raise self.refuse(node, f"{type(node).__name__} is not of the language: {remedy}")
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp):
            vars(node.generators[-1])["weighed"] = weight(node)
        made = super().visit(node)
        if isinstance(made, ast.AST) and isinstance(node, ast.expr | ast.stmt):
            ast.copy_location(made, node)
        return made

    def name(self, node: Any, name: str) -> str:
        """Return a name, and refuse those that the kernel's own functions have."""
        if name.startswith("__"):
            raise self.refuse(node, f"the name {name}: a name must not begin with two underscores")
        return name

    def variable(self, node: Any, name: str) -> str:
        """Return the name of a variable, which must not hide a claim's word or a module."""
        if name in self.reserved or name in MODULES:
            raise self.refuse(node, f"the variable {name} has the name of a word of the language")
        return self.name(node, name)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Keep a name."""
        self.name(node, node.id)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Keep an int, a text, a truth value or None."""
        if type(node.value) is float:
            raise self.refuse(node, floating(node.value))
        if type(node.value) not in (int, str, bool, type(None)):
            raise self.refuse(node, f"{node.value!r} is not of the language")
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Join texts and numbers; a text of anything else is a sentence, which has no value."""
        parts: list[ast.expr] = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                plain = each.format_spec is None and each.conversion == -1
                if any(
                    isinstance(part, ast.FormattedValue) for part in getattr(each.format_spec, "values", ())
                ):
                    raise self.refuse(node, "a format that is computed")
                value = self.visit(each.value)
                parts.append(value if plain else call("__formatted", value))
            else:
                parts.append(self.visit(each))
        return call("__text", *parts)

    # ---- operators

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Compute by the kernel's operators."""
        if type(node.op) not in OPERATORS:
            raise self.refuse(node, f"the operator {type(node.op).__name__} is not of the language")
        if isinstance(node.op, ast.Pow) and type(getattr(node.right, "value", None)) is float:
            raise self.refuse(node, "powers have whole exponents: compare squares in place of roots")
        return call(OPERATORS[type(node.op)], self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Negate by the kernel's operator; ``not`` asks for a truth value, which symbols refuse."""
        value = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return ast.UnaryOp(node.op, value)
        if not isinstance(node.op, ast.USub):
            raise self.refuse(node, f"the operator {type(node.op).__name__} is not of the language")
        return call("__negative", value)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Compare by the kernel's function, of a chain one pair after the other."""
        values = [node.left, *node.comparators]
        for op, value in zip(node.ops, node.comparators, strict=True):
            none = isinstance(value, ast.Constant) and value.value is None
            if isinstance(op, ast.Is | ast.IsNot) and not none:
                raise self.refuse(node, "`is` tells objects apart: compare by ==")
        left, *others = (self.visit(value) for value in values)
        signs = [ast.Constant(SIGNS[type(op)]) for op in node.ops]
        if len(signs) == 1:
            return call("__compare", signs[0], left, others[0])
        later = [ast.Lambda(ast.arguments([], [], None, [], [], None, []), other) for other in others]
        return call("__chain", left, ast.Tuple(list[ast.expr](signs), ast.Load()), *later)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Look an attribute up by the kernel's function, and one of a module by its name."""
        if node.attr.startswith("_"):
            raise self.refuse(node, f"the attribute {node.attr}: it must not begin with an underscore")
        if not isinstance(node.ctx, ast.Load):
            raise self.refuse(node, f".{node.attr} is changed: values of the language do not change")
        if isinstance(node.value, ast.Name) and node.value.id in MODULES:
            return ast.Name(f"{node.value.id}.{node.attr}", ast.Load())
        return call("__attribute", self.visit(node.value), ast.Constant(node.attr))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Look an entry up by the kernel's function."""
        return call("__item", self.visit(node.value), self.visit(node.slice))

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        """Make a slice."""
        ends = (node.lower, node.upper, node.step)
        return call("__slice", *(ast.Constant(None) if end is None else self.visit(end) for end in ends))

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        """Make a dictionary, in which no key is written twice."""
        parts: list[ast.expr] = []
        for key, value in zip(node.keys, node.values, strict=True):
            parts += [ast.Name("__either", ast.Load()) if key is None else self.visit(key), self.visit(value)]
        return call("__dictionary", *parts)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        """Check the keys."""
        generators = [self.visit(each) for each in node.generators]
        made = ast.DictComp(call("__key", self.visit(node.key)), self.visit(node.value), generators)
        return call("__made", made)

    def visit_List(self, node: ast.List) -> ast.AST:
        """Make a list."""
        return call("__made", ast.List([self.visit(each) for each in node.elts], ast.Load()))

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        """Make a list."""
        return call("__made", self.generic_visit(node))  # type: ignore[arg-type]  # an expression

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """Make a generator."""
        return call("__made", self.generic_visit(node))  # type: ignore[arg-type]  # an expression

    # ---- assignments, loops and calls

    def target(self, node: ast.expr) -> ast.expr:
        """Check what is assigned to: names, and tuples of names."""
        if isinstance(node, ast.Name):
            self.variable(node, node.id)
        elif isinstance(node, ast.Tuple | ast.List):
            node.elts = [self.target(each) for each in node.elts]
        else:
            raise self.refuse(node, "only names, tuples of names and single entries are assigned to")
        return node

    def shape(self, node: ast.expr) -> ast.expr:
        """Return the shape of a target, as of ``operations.unpacked``."""
        if isinstance(node, ast.Tuple | ast.List):
            return ast.Tuple([self.shape(each) for each in node.elts], ast.Load())
        return ast.Constant(None)

    def entries(self, several: ast.expr, weighed: ast.Constant, target: ast.expr) -> ast.expr:
        """Return what a loop takes its entries from."""
        if isinstance(target, ast.Name):
            return call("__each", self.visit(several), weighed)
        return call("__each_unpacked", self.visit(several), weighed, self.shape(target))

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Assign to names, tuples of names, or one entry."""
        value, (first, *others) = self.visit(node.value), node.targets
        if isinstance(first, ast.Subscript) and not others:
            return ast.Expr(call("__put", value, self.visit(first.value), self.visit(first.slice)))
        starred = isinstance(first, ast.Tuple) and any(isinstance(each, ast.Starred) for each in first.elts)
        if starred and not others:  # what is left is counted before it is unpacked
            for each in first.elts:  # type: ignore[attr-defined]  # a tuple
                name = each.value if isinstance(each, ast.Starred) else each
                if not isinstance(name, ast.Name):
                    raise self.refuse(node, "beside a star only names are assigned to")
                self.variable(name, name.id)
            return ast.Assign([first], call("__listed", value))
        if others and not all(isinstance(each, ast.Name) for each in node.targets):
            raise self.refuse(node, "write each assignment in a line of its own")
        if isinstance(first, ast.Tuple | ast.List):
            value = call("__unpacked", value, self.shape(first))
        return ast.Assign([self.target(each) for each in node.targets], value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Leave the annotation out."""
        if node.value is None or not isinstance(node.target, ast.Name):
            raise self.refuse(node, "an annotation that is more than one of a name with its value")
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Compute, and assign; a list that is added to grows in place."""
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
        """Refuse when it is reached: the function has no value there."""
        if node.exc is not None:
            raise self.refuse(node, "what is raised is left out: write raise")
        return ast.Expr(call("__fail"))

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Yield entries, which are counted."""
        if isinstance(node.value, ast.Constant):
            raise self.refuse(node, "a text that does nothing: write a comment")
        if isinstance(node.value, ast.Yield):
            value = ast.Constant(None) if node.value.value is None else self.visit(node.value.value)
            return ast.Expr(ast.Yield(value))
        if isinstance(node.value, ast.YieldFrom):
            return ast.Expr(ast.YieldFrom(call("__each", self.visit(node.value.value))))
        return ast.Expr(self.visit(node.value))

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        """Count the entries."""
        return ast.Starred(call("__each", self.visit(node.value)), node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Call."""
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
        return ast.Call(self.visit(node.func), [self.visit(each) for each in node.args], node.keywords)

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        """Check the names, and leave annotations out."""
        others = [each for each in (node.vararg, node.kwarg) if each]
        for each in (*node.posonlyargs, *node.args, *node.kwonlyargs, *others):
            self.variable(each, each.arg)
            each.annotation = None
        node.defaults = [self.visit(each) for each in node.defaults]
        node.kw_defaults = [None if each is None else self.visit(each) for each in node.kw_defaults]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Count the call."""
        body = ast.BoolOp(ast.And(), [call("__step", weight(node.body)), self.visit(node.body)])
        return ast.Lambda(self.visit(node.args), body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Count the call; a nested function has no decorator."""
        if node.decorator_list or getattr(node, "type_params", None):
            raise self.refuse(
                node, "decorators and parameters of types in a function are not of the language"
            )
        weighed, yields = weight(*node.body), _is_generator(node)
        step = ast.copy_location(ast.Expr(ast.copy_location(call("__step", weighed), node)), node)
        body, arguments = [self.visit(each) for each in node.body], self.visit(node.args)
        if yields:
            body = self.generator(node, arguments, body)
        return ast.FunctionDef(self.variable(node, node.name), arguments, [step, *body], [])

    def generator(self, node: ast.FunctionDef, own: ast.arguments, body: list[ast.stmt]) -> list[ast.stmt]:
        """Let a function return a generator that the kernel knows was made there."""
        several = [*own.posonlyargs, *own.args, *own.kwonlyargs, *filter(None, (own.vararg, own.kwarg))]
        names = [each.arg for each in several]
        inner = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
        made = call("__made", call("__generator", *(ast.Name(name, ast.Load()) for name in names)))
        statements = [ast.FunctionDef("__generator", inner, body, []), ast.Return(made)]
        return [ast.copy_location(each, node) for each in statements]


def _is_generator(node: ast.FunctionDef) -> bool:
    """Return whether a function, and not one within it, yields."""
    waiting: list[ast.AST] = [*node.body]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(each, ast.FunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(each)
    return False
