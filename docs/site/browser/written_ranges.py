"""Conversion of the ranges in a file, such as ``Q[0:1:8]``, to their form in a text."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from fractions import Fraction

from clusterproof.checker.kernel import Refused

SLICES = {"Q": "rationals", "Z": "integers"}
NUMBERS = {"integers": "integers", "rationals": "rationals", "reals": "rationals"}
"""For each kind of range, its name in a text. Real numbers are treated like fractions."""
CHOICES = ("among", "choice")
ELSEWHERE = ("drawn", "functions", "matrices", "operators", "sets", "simplex", "vectors")
INSTALL = "install Clusterproof, and check the file there"
RANGES = frozenset({"Annotated", "sequences", *SLICES, *NUMBERS, *CHOICES})
"""Names with which a range begins."""


def named_ranges(tree: ast.Module) -> dict[str, str]:
    """Return the ranges to which statements such as ``Step = Q[0:2]`` assign a name, indexed by name."""
    known: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            made = range_of(node.value, known)
            known |= {} if made is None else {node.targets[0].id: made}
    return known


def range_of(node: ast.expr | None, known: Mapping[str, str]) -> str | None:
    """Return a range in the form of a text, or None if the expression is not a range.

    Raises
    ------
    Refused
        If the range has wrong arguments.
    """
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return _subscript(node, node.value.id, known)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return None
    kind = node.func.id
    if kind in ELSEWHERE:
        raise Refused(f"line {node.lineno}: {kind}(...) is not at hand in a browser: {INSTALL}")
    if any(isinstance(each, ast.Starred) for each in node.args):
        raise _other(node, "a range of a star")
    if kind in CHOICES and not node.keywords:
        return f"choice({', '.join(map(_end, node.args))})"
    if kind in NUMBERS:
        return _numbers(node, kind)
    if kind == "sequences" and len(node.args) == 2 and not node.keywords:
        entries = range_of(node.args[0], known)
        return None if entries is None else f"sequences({entries}, {_end(node.args[1])})"
    return None


def _subscript(node: ast.Subscript, kind: str, known: Mapping[str, str]) -> str | None:
    if kind == "Annotated" and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
        return range_of(node.slice.elts[1], known)
    if kind not in SLICES:
        return None
    if not isinstance(node.slice, ast.Slice) or (kind == "Z" and node.slice.step is not None):
        raise _other(node, "write Q[0:1], Q[0:1:8] with a denominator, Z[1:5], or Z[2:] without an end")
    low, high = ("None" if end is None else _end(end) for end in (node.slice.lower, node.slice.upper))
    return f"{SLICES[kind]}({low}, {high})"


def _numbers(node: ast.Call, kind: str) -> str:
    names = ("low", "high", "denominator") if kind == "rationals" else ("low", "high")
    given = dict(zip(names, node.args, strict=False))
    given |= {each.arg or "": each.value for each in node.keywords}
    if len(node.args) > len(names) or not {"low", "high"} <= given.keys() <= {*names, "upwards", "downwards"}:
        raise _other(node, f"write {kind}(0, 1{', 8' if kind == 'rationals' else ''})")
    is_open = {}
    for name in ("downwards", "upwards"):
        said = given.get(name, ast.Constant(False))
        if not (isinstance(said, ast.Constant) and type(said.value) is bool):
            raise _other(node, f"write {name}=True, or leave it out")
        is_open[name] = said.value
    low = "None" if is_open["downwards"] else _end(given["low"])
    return f"{NUMBERS[kind]}({low}, {'None' if is_open['upwards'] else _end(given['high'])})"


def _end(node: ast.expr) -> str:
    """Return an end of a range, or an option, in the form of a text; a float becomes the decimal number in the file."""
    sign, inner = (
        ("-", node.operand) if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else ("", node)
    )
    if isinstance(inner, ast.Constant) and type(inner.value) is float:
        exact = Fraction(repr(inner.value))
        return f"Fraction({sign}{exact.numerator}, {exact.denominator})"
    return ast.unparse(node)


def _other(node: ast.expr, remedy: str) -> Refused:
    return Refused(f"line {node.lineno}: {ast.unparse(node)[:60]} is no range: {remedy}")
