"""Compile the expressions of a text: operators, comparisons, attributes and literals call the kernel's functions."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Sequence
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.grammar import (
    MODULES,
    NODES,
    OPERATORS,
    REMEDIES,
    SIGNS,
    call,
    floating,
    weight,
)
from clusterproof.checker.kernel.numbers import LARGEST


class Expressions(ast.NodeTransformer):
    """Transformer that checks every node of a syntax tree, and replaces operations by calls of kernel functions.

    Parameters
    ----------
    reserved
        Names that variables must not have, such as the functions of a claim.
    """

    def __init__(self, reserved: Collection[str]) -> None:
        self.reserved = reserved

    def refuse(self, node: Any, what: str) -> Refused:
        """Return an exception with the line of a construct that is not part of the language."""
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
        """Return a name; reject a name that could be one of the kernel's own functions."""
        if name.startswith("__"):
            raise self.refuse(node, f"the name {name}: a name must not begin with two underscores")
        return name

    def variable(self, node: Any, name: str) -> str:
        """Return the name of a variable; reject a name that would hide a function of a claim, or a module."""
        if name in self.reserved or name in MODULES:
            raise self.refuse(node, f"the variable {name} has the name of a word of the language")
        return self.name(node, name)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Check a name."""
        self.name(node, node.id)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Accept an int, a string, a boolean or None."""
        if type(node.value) is float:
            raise self.refuse(node, floating(node.value))
        if type(node.value) not in (int, str, bool, type(None)):
            raise self.refuse(node, f"{node.value!r} is not of the language")
        if type(node.value) is int and node.value.bit_length() > LARGEST:
            raise self.refuse(node, f"a number has at most {LARGEST} bits")
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Join strings and numbers. A string with a part of another type is a sentence, which cannot be compared."""
        parts: list[ast.expr] = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                if each.format_spec is not None or each.conversion != -1:
                    raise self.refuse(node, "a text has no formats: write {value} alone")
                # earlier versions of Python reject such a string, and do not know where its parts end
                if sys.version_info >= (3, 12) and each.lineno != each.end_lineno:
                    raise self.refuse(node, "a string goes on in the next line: write {value} on one line")
                parts.append(self.visit(each.value))
            else:
                parts.append(self.visit(each))
        return call("__text", *parts)

    # ---- operators

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Replace a binary operator by a kernel function."""
        if type(node.op) not in OPERATORS:
            raise self.refuse(node, f"the operator {type(node.op).__name__} is not of the language")
        if isinstance(node.op, ast.Pow) and type(getattr(node.right, "value", None)) is float:
            raise self.refuse(node, "powers have whole exponents: compare squares in place of roots")
        return call(OPERATORS[type(node.op)], self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Replace a negation by a kernel function; ``not`` raises an error for facts about symbols."""
        value = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return ast.UnaryOp(node.op, value)
        if not isinstance(node.op, ast.USub):
            raise self.refuse(node, f"the operator {type(node.op).__name__} is not of the language")
        return call("__negative", value)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Replace a comparison by a kernel function; a chain compares its pairs one by one."""
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
        """Replace an attribute by a call of a kernel function, and an attribute of a module by its full name."""
        if node.attr.startswith("_"):
            raise self.refuse(node, f"the attribute {node.attr}: it must not begin with an underscore")
        if not isinstance(node.ctx, ast.Load):
            raise self.refuse(node, f".{node.attr} is changed: values of the language do not change")
        if isinstance(node.value, ast.Name) and node.value.id in MODULES:
            return ast.Name(f"{node.value.id}.{node.attr}", ast.Load())
        return call("__attribute", self.visit(node.value), ast.Constant(node.attr))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Replace a subscript by a call of a kernel function."""
        return call("__item", self.visit(node.value), self.visit(node.slice))

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        """Replace a slice by a call of a kernel function."""
        ends = (node.lower, node.upper, node.step)
        return call("__slice", *(ast.Constant(None) if end is None else self.visit(end) for end in ends))

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        """Replace a dictionary display by a call of a kernel function, which rejects repeated keys."""
        parts: list[ast.expr] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:  # ``**other`` is copied here, before later parts are evaluated
                copied = call("__either", ast.Dict([], []), self.visit(value))
                parts += [ast.Name("__either", ast.Load()), copied]
            else:
                parts += [self.visit(key), self.visit(value)]
        return call("__dictionary", *parts)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        """Check the keys of a dictionary."""
        generators = [self.visit(each) for each in node.generators]
        entry = ast.Tuple([self.visit(node.key), self.visit(node.value)], ast.Load())
        return call("__made", call("__keys_of", ast.GeneratorExp(entry, generators)))

    def spread(self, several: Sequence[ast.expr]) -> list[ast.expr]:
        """Visit the arguments of a call or the entries of a display; count the entries behind a star."""
        return [
            ast.Starred(call("__each", self.visit(each.value)), ast.Load())
            if isinstance(each, ast.Starred)
            else self.visit(each)
            for each in several
        ]

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        """Reject a star at a place where Python rejects it."""
        raise self.refuse(node, "a star stands before an argument of a call, or an entry of a list or tuple")

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        """Create a tuple."""
        return ast.Tuple(self.spread(node.elts), ast.Load())

    def visit_List(self, node: ast.List) -> ast.AST:
        """Create a list."""
        return call("__made", ast.List(self.spread(node.elts), ast.Load()))

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        """Create a list."""
        return call("__made", self.generic_visit(node))  # type: ignore[arg-type]  # an expression

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """Create a generator."""
        return call("__made", self.generic_visit(node))  # type: ignore[arg-type]  # an expression
