"""The nodes, operators and comparisons of Python that the language contains, and remedies for all others."""

from __future__ import annotations

import ast
import math
from fractions import Fraction

from clusterproof.checker.kernel.evaluation import spend

NAMES = """
    Module FunctionDef Lambda arguments arg Return Raise Expr Pass Assign AnnAssign AugAssign
    For While If IfExp Break Continue Name Load Store Constant JoinedStr FormattedValue Tuple List Dict ListComp
    GeneratorExp DictComp comprehension Starred Call keyword Attribute Subscript Slice UnaryOp BinOp BoolOp
    Compare unaryop boolop operator cmpop
"""
NODES = tuple(getattr(ast, name) for name in NAMES.split())
"""Nodes that a text may contain."""
INERT = (ast.Name, ast.Constant, ast.Subscript, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.Load)
"""Nodes that the annotation of a parameter may contain, because Python evaluates it with the definition."""
MODULES = ("functools", "itertools", "math")
"""Modules whose functions a text may use, such as ``math.comb``."""
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "__add",
    ast.Sub: "__subtract",
    ast.Mult: "__multiply",
    ast.Div: "__divide",
    ast.FloorDiv: "__divide_whole",
    ast.Mod: "__remainder",
    ast.Pow: "__power",
    ast.MatMult: "__inner",
    ast.BitOr: "__either",
    ast.BitAnd: "__both",
    ast.RShift: "__shifted",
}
SIGNS = dict(
    zip(
        (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot),
        ("<", "<=", ">", ">=", "==", "!=", "in", "not in", "is", "is not"),
        strict=True,
    )
)
REMEDIES: dict[type[ast.AST], str] = {
    ast.Try: "let what is raised pass, and suppose that it does not happen",
    ast.Import: "import at the top of the file",
    ast.ImportFrom: "import at the top of the file",
    ast.Set: "a set has no order: use a tuple or a list",
    ast.Yield: "let it stand in a line of its own",
    ast.YieldFrom: "let it stand in a line of its own",
    ast.SetComp: "a set has no order: use a tuple or a list",
    ast.Global: "pass what the function needs",
    ast.Nonlocal: "pass what the function needs",
    ast.ClassDef: "define a frozen dataclass at the top of the file",
    ast.Assert: "use suppose",
    ast.With: "the language has no contexts",
    ast.NamedExpr: "assign in a line of its own",
}


def floating(value: float) -> str:
    """Return the reason why a float is rejected, and what to write instead."""
    if not math.isfinite(value):
        return f"{value} is a float: state the claim without it"
    exact = Fraction(repr(value))
    written = (
        exact.numerator if exact.denominator == 1 else f"Fraction({exact.numerator}, {exact.denominator})"
    )
    return f"{value} is a float: write {written}"


def call(function: str, *arguments: ast.expr) -> ast.Call:
    """Return a syntax tree that calls one of the kernel's functions."""
    return ast.Call(ast.Name(function, ast.Load()), list(arguments), [])


def weight(*nodes: ast.AST) -> ast.Constant:
    """Return the number of steps to count for one execution of some code, in addition to its operations.

    The number is proportional to the length of the code. Computing this number takes the same number of steps.
    """
    length = sum(1 for node in nodes for _ in ast.walk(node)) // 8
    spend(length)
    return ast.Constant(length)
