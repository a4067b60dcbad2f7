"""The text of a claim in a reader's Python file with ``@claim``, as ``clusterproof check`` reads it.

The numbers of the lines do not change, so the kernel's messages contain line numbers of the file. Imports, docstrings,
comments and the decorator are removed. The ranges of the parameters become a part of the statement at the end. The
verdict is about this text.
"""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from clusterproof.checker.kernel import Refused, read
from clusterproof.checker.kernel.definitions import WORDS
from clusterproof.checker.kernel.evaluation import evaluating, limited
from clusterproof.checker.kernel.grammar import MODULES
from docs.site.browser.ranges import simplest_together
from docs.site.browser.written_ranges import ELSEWHERE, INSTALL, RANGES, named_ranges, range_of

PLACES: Mapping[str, frozenset[str] | None] = {
    "__future__": None,
    "clusterproof.theorem": frozenset({"*", "Function", "Sides", "claim", *ELSEWHERE, *RANGES, *WORDS}),
    "collections.abc": None,
    "dataclasses": frozenset({"dataclass"}),
    "fractions": frozenset({"Fraction"}),
    "typing": None,
}
"""Modules from which a file may import, with the allowed names. None allows all names; such imports have no effect."""
SAY_NOTHING = frozenset(
    (
        "label",
        "source",
        "error_kind",
        "repaired_by",
        "tight",
        "quick",
        "expected",
        "headline",
        "rank",
        "places",
    )
) | frozenset(("evaluations", "example"))
"""Arguments of ``@claim`` that do not change the statement."""
TRIED, STEPS = 200, 300_000
"""Number of instances at which the claim is evaluated to find the names of its lines, and limit on the steps."""
Edit = tuple[tuple[int, int], tuple[int, int], str]
"""Start and end of the replaced part (lines count from 1, bytes from 0), and the replacement."""


def text_of(source: str) -> str:
    """Return the text of a file's claim; a file without ``@claim`` is already a text.

    Raises
    ------
    Refused
        If the browser cannot read the file; the message states where, why and what to write.
    """
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise Refused(f"line {error.lineno or 1}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise Refused("this is no Python that can be read") from None
    claims = [each for each in tree.body if isinstance(each, ast.FunctionDef) and _claim_of(each)]
    if not claims:
        return source
    if len(claims) > 1:
        raise Refused(f"line {claims[1].lineno}: a second claim: state one at a time")
    (stated,) = claims
    _require_own_names(tree)
    known = named_ranges(tree)
    end = f'    "",\n    {stated.name},\n    {{\n{_space(stated, known)}    }},\n    {{}},\n'
    body = _without_comments(_edited(source, [*_edits(tree, stated, known), _header(stated, source)]))
    text = f"{body}\n\n\nclaim({_id(stated)})\nstatement(\n{end}"
    lines = _line_names(_ended(text, ("",)))
    return _ended(text, lines).lstrip("\n")


def _ended(text: str, lines: tuple[str, ...]) -> str:
    names = "".join(f"{json.dumps(each)}, " for each in lines)
    return f'{text}    lines=({names.rstrip()}),\n    role="statement",\n)\n'


def _claim_of(node: ast.FunctionDef) -> ast.Call | None:
    """Return the call of ``@claim`` above a function."""
    calls = (each for each in node.decorator_list if isinstance(each, ast.Call))
    return next((each for each in calls if isinstance(each.func, ast.Name) and each.func.id == "claim"), None)


def _id(stated: ast.FunctionDef) -> str:
    call = _claim_of(stated)
    assert call is not None
    if len(stated.decorator_list) > 1:
        raise Refused(f"line {stated.lineno}: a decorator beside @claim: {INSTALL}")
    for each in call.keywords:
        if each.arg not in SAY_NOTHING:
            raise Refused(f"line {each.value.lineno}: {each.arg}= changes what is claimed: {INSTALL}")
    first = call.args[0] if len(call.args) == 1 else None
    if not (isinstance(first, ast.Constant) and type(first.value) is str):
        raise Refused(f'line {call.lineno}: name the claim: @claim("my-paper/lemma-1")')
    return json.dumps(first.value)


def _require_own_names(tree: ast.Module) -> None:
    """Require that nothing in the file redefines the names of ranges."""
    for each in tree.body:
        if isinstance(each, ast.FunctionDef | ast.ClassDef):
            names = [each.name]
        else:
            stored = (node for node in ast.walk(each) if isinstance(node, ast.Name))
            names = [node.id for node in stored if isinstance(node.ctx, ast.Store)]
        if taken := RANGES.intersection(names):
            raise Refused(f"line {each.lineno}: {min(taken)} is the name of a range: choose another name")


def _space(stated: ast.FunctionDef, known: Mapping[str, str]) -> str:
    """Return the ranges of the statement, one quantity per line."""
    own = stated.args
    quantities = [*own.posonlyargs, *own.args]
    defaults: list[ast.expr | None] = [None] * (len(quantities) - len(own.defaults)) + list(own.defaults)
    written = []
    for quantity, default in zip(quantities, defaults, strict=True):
        made = range_of(default or quantity.annotation, known)
        if made is None:
            said = f"{quantity.arg}: Fraction = Q[0:1]"
            raise Refused(
                f"line {quantity.lineno}: {quantity.arg} has no range: write it as its default, {said}"
            )
        written.append(f"        {json.dumps(quantity.arg)}: {made},\n")
    return "".join(written)


# ---- what is left out of a file


def _edits(tree: ast.Module, stated: ast.FunctionDef, ranges: Mapping[str, str]) -> Iterator[Edit]:
    for each in tree.body:
        if isinstance(each, ast.Import | ast.ImportFrom):
            _require_import(each)
            yield _blank(each)
        elif isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) in ranges:
            yield _blank(each)
        elif isinstance(each, ast.AnnAssign) and each.value is not None:
            yield _end_of(each.target), _start_of(each.value), " = "
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
            and node is not stated
            and _docstring(node)
        ):
            yield _blank(node.body[0])


def _require_import(node: ast.Import | ast.ImportFrom) -> None:
    for each in node.names:
        module = node.module or "" if isinstance(node, ast.ImportFrom) else each.name
        said = f"line {node.lineno}: {module}"
        if each.asname not in (None, each.name):
            raise Refused(f"line {node.lineno}: {each.asname}: import {each.name} under its own name")
        if isinstance(node, ast.Import):
            if module not in MODULES:
                raise Refused(f"{said} is not at hand in a browser, only {', '.join(MODULES)}: {INSTALL}")
        elif module in MODULES:
            raise Refused(f"{said}: write import {module}, and {module}.{each.name}")
        elif node.level or module not in PLACES:
            raise Refused(f"{said} is not at hand in a browser: {INSTALL}")
        elif (allowed := PLACES[module]) is not None and each.name not in allowed:
            raise Refused(f"{said}: {each.name} is not at hand in a browser: {INSTALL}")


def _docstring(node: ast.Module | ast.FunctionDef | ast.ClassDef) -> bool:
    first = node.body[0] if len(node.body) > 1 else None
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and type(first.value.value) is str
    )


def _header(stated: ast.FunctionDef, source: str) -> Edit:
    """Return the edit of the part before the first statement, which keeps only the names of function and parameters."""
    body = stated.body[1:] if _docstring(stated) else stated.body
    begin = _start_of(body[0])
    own = stated.args
    bare = [
        [ast.arg(each.arg) for each in several] for several in (own.posonlyargs, own.args, own.kwonlyargs)
    ]
    made = ast.arguments(bare[0], bare[1], own.vararg, bare[2], own.kw_defaults, own.kwarg, [])
    indent = (
        source.split("\n")[begin[0] - 1].encode()[: begin[1]].decode() if begin[0] > stated.lineno else " "
    )
    before, after = stated.lineno - _start_of(stated)[0], begin[0] - stated.lineno
    text = f"def {stated.name}({ast.unparse(made)}):"
    return _start_of(stated), begin, "\n" * before + text + "\n" * after + indent


def _start_of(node: Any) -> tuple[int, int]:
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]), node.col_offset


def _end_of(node: Any) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset


def _blank(node: ast.stmt) -> Edit:
    start, end = _start_of(node), _end_of(node)
    return start, end, "\n" * (end[0] - start[0])


def _edited(source: str, edits: list[Edit]) -> str:
    lines = [line.encode() for line in source.split("\n")]
    for start, end, text in sorted(edits, reverse=True):
        made = lines[start[0] - 1][: start[1]] + text.encode() + lines[end[0] - 1][end[1] :]
        lines[start[0] - 1 : end[0]] = made.split(b"\n")
    return "\n".join(line.decode() for line in lines)


def _without_comments(text: str) -> str:
    """Remove comments, and write non-ASCII characters, which occur in strings, as escapes."""
    lines = text.split("\n")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        raise Refused("write each import, docstring and range in a line of its own") from None
    for each in tokens:
        row, column = each.start
        if each.type == tokenize.COMMENT:
            lines[row - 1] = lines[row - 1][:column]
        if each.type == tokenize.NAME and not each.string.isascii():
            raise Refused(f"line {row}: the name {each.string}: write it in ASCII")
    bare = "\n".join(line.rstrip() for line in lines).rstrip()
    return bare.encode("ascii", "backslashreplace").decode()


def _line_names(text: str) -> tuple[str, ...]:
    """Return the names of the lines in the first value of the function; a single line has the empty name."""
    statement = read(text).statements[""]
    with limited(STEPS):
        for place, instance in enumerate(simplest_together(statement.space.ranges, {})):
            with suppress(Exception), evaluating():
                value = statement.value(instance)
                return tuple(value) if type(value) is dict else ("",)
            if place == TRIED:
                break
    return ("",)
