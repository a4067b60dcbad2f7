"""The source of a function, and whether the function was compiled from what its file says now."""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.grammar import is_text


@lru_cache(maxsize=1024)
def _functions_of(text: str, mode: str) -> tuple[list[Any], frozenset[CodeType]]:
    """Return the functions that a text defines: as trees, and compiled."""
    tree: Any = ast.parse(text, "source", mode)
    codes, left = set(), [compile(tree, "source", mode, dont_inherit=True)]
    while left:
        codes.add(left.pop())
        left += [
            each for code in codes for each in code.co_consts if type(each) is CodeType and each not in codes
        ]
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    return nodes, frozenset(codes)


def source_of(
    code: CodeType, annotations: Sequence[str], *, defaults: bool
) -> tuple[ast.FunctionDef | ast.Lambda, str]:
    """Return the tree of a function's source, with the lines of its file, and what is written there.

    The defaults of parameters that may be positional are left out if the function has lost them.

    Raises
    ------
    Refused
        If the text is not what the function was compiled from.
    """
    file = code.co_filename
    linecache.checkcache(file)
    texts = annotations if file == "<string>" else ["".join(linecache.getlines(file))]
    place = f"{Path(file).name}, {code.co_name}"
    if not any(texts):
        raise Refused(f"{place}: its source is not known")
    found = []
    for text in texts:
        nodes, codes = _functions_of(text, "eval" if file == "<string>" else "exec")
        if code in codes:  # equal code: what was loaded is what the file says
            found += [(node, text) for node in nodes if _is_compiled_from(code, node)]
    if len({ast.dump(node) for node, _ in found}) != 1:
        raise Refused(f"{place}: its file has changed since it was loaded")
    node, text = copy.deepcopy(found[0][0]), found[0][1]
    if not defaults:
        node.args.defaults = []
    written = _written(node, text.split("\n"))
    return _bare(node), written


def _written(node: ast.FunctionDef | ast.Lambda, lines: Sequence[str]) -> str:
    """Return what a function's parameters and body say, docstring left out: the same in every version of Python."""
    own = node.args
    names = [
        each.arg for each in (*own.posonlyargs, *own.args, *own.kwonlyargs, own.vararg, own.kwarg) if each
    ]
    defaults = [_segment(each, lines) for each in (*own.defaults, *own.kw_defaults) if each is not None]
    body = node.body if isinstance(node, ast.FunctionDef) else [node.body]
    said = [_segment(each, lines) for each in body if not (isinstance(each, ast.stmt) and is_text(each))]
    return "\n".join([f"{', '.join(names)}; {', '.join(defaults)}", *said])


def _segment(node: Any, lines: Sequence[str]) -> str:
    """Return what stands where a node does; columns count bytes."""
    first, *others = lines[node.lineno - 1 : node.end_lineno]
    if not others:
        return first.encode()[node.col_offset : node.end_col_offset].decode()
    start, end = (
        first.encode()[node.col_offset :].decode(),
        others[-1].encode()[: node.end_col_offset].decode(),
    )
    return "\n".join([start, *others[:-1], end])


def _bare(node: ast.FunctionDef | ast.Lambda) -> ast.FunctionDef | ast.Lambda:
    """Leave out docstrings, and of the function itself annotations, and decorators, since it is the one below them."""
    own = node.args
    for one in (*own.posonlyargs, *own.args, *own.kwonlyargs, own.vararg, own.kwarg):
        if one is not None:
            one.annotation = None
    if isinstance(node, ast.FunctionDef):
        node.returns, node.decorator_list = None, []
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef):
            texts: list[ast.stmt] = [
                n for n in each.body if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)
            ]
            each.body = [n for n in each.body if n not in texts] or texts
    return node


def _first_line(node: ast.FunctionDef | ast.Lambda) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _is_compiled_from(code: CodeType, node: ast.FunctionDef | ast.Lambda) -> bool:
    """Return whether a node is where a function's code stands, by name and line, of a lambda by columns too."""
    if getattr(node, "name", "<lambda>") != code.co_name or _first_line(node) != code.co_firstlineno:
        return False
    if isinstance(node, ast.FunctionDef):
        return True
    body = node.body
    first, last = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    places = [(a, c, b, d) for a, b, c, d in code.co_positions() if a and b and c is not None and d]
    inside = all(first <= (a, c) and (b, d) <= last for a, c, b, d in places)
    return inside and min(places)[:2] == first
