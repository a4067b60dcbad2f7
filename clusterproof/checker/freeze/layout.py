"""Write a syntax tree as source code that keeps the form of the original file as far as possible."""

from __future__ import annotations

import ast
import io
import itertools
import textwrap
import tokenize
from collections.abc import Sequence
from typing import Any

from clusterproof.checker.freeze.files import File
from clusterproof.checker.kernel import Refused
from clusterproof.checker.kernel.evaluation import spend

WIDTH = 100
"""Lines with more columns are broken if this is simple."""
Edit = tuple[tuple[int, int], tuple[int, int], str]
"""Start and end of the source code to replace (lines from 1, bytes from 0), and the replacement."""


def write_expression(node: ast.expr, file: File | None, edits: Sequence[Edit]) -> str:
    """Return an expression as in its source code if that is plain ASCII without comments, otherwise on one line."""
    if file is not None:
        source = edited(file, (node.lineno, node.col_offset), _end(node), edits)
        source = f"({source})" if "\n" in source else source
        if _is_plain(source) and _says(source, ast.Expression(node), "eval"):
            return source
    return _escaped(ast.unparse(node), ast.Expression(node), "eval")


def write_function(
    node: ast.FunctionDef, file: File, original: ast.FunctionDef, edits: Sequence[Edit]
) -> str:
    """Return a function as source code, with the original form of each statement if that is plain ASCII."""
    lines = [_header(node)]
    statements = {(each.lineno, each.col_offset): each for each in node.body}
    for each in original.body:
        written = statements.get((each.lineno, each.col_offset))
        if written is None:
            continue
        start = (each.lineno, 0)
        indent = file.lines[each.lineno - 1][: each.col_offset]
        source = ""
        if not indent.strip():
            source = _without_comments(textwrap.dedent(edited(file, start, _end(each), edits)))
        module = ast.Module([written], [])
        if not (_is_plain(source) and _says(source, module, "exec")):
            source = _escaped(ast.unparse(written), module, "exec")
        lines.append(textwrap.indent(source.strip("\n"), "    "))
    return "\n".join(lines) if len(lines) > 1 else f"{lines[0]}\n    pass"


def _header(node: ast.FunctionDef) -> str:
    """Return the header of a function, split over several lines if it is long."""
    return in_lines(f"def {node.name}({ast.unparse(node.args)}):", "        ", "\n    pass")


def in_lines(source: str, indent: str, rest: str = "") -> str:
    """Split a long bracketed expression over several lines; ``rest`` is the text that makes it a full statement."""
    if len(source) <= WIDTH:
        return source
    wrapper = textwrap.TextWrapper(
        WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    broken = "\n".join(wrapper.wrap(source))
    return broken if _says(broken + rest, ast.parse(source + rest), "exec") else source


def edited(file: File, start: tuple[int, int], end: tuple[int, int], edits: Sequence[Edit]) -> str:
    """Return a part of the source code after some edits."""
    spend(10 * len(edits))
    parts, place = [], start
    for first, last, text in sorted(edits, key=lambda each: (each[0], each[1])):
        if first < place or last > end:
            continue
        parts += [file.between(place, first), text]
        place = last
    return "".join([*parts, file.between(place, end)])


def _end(node: Any) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset


def _without_comments(source: str) -> str:
    """Remove comments and empty lines from source code; return an empty string if Python cannot tokenise it."""
    lines = source.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"{source}\n").readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return ""
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _is_plain(source: str) -> bool:
    marks = ("'''", '"""', "\\\n")
    return (
        bool(source)
        and all(each == "\n" or " " <= each <= "~" for each in source)
        and not any(mark in source for mark in marks)
    )


def _says(source: str, tree: Any, mode: str) -> bool:
    """Return whether source code parses to the given syntax tree."""
    try:
        found = ast.parse(source, mode=mode)
    except SyntaxError:
        return False
    for each in itertools.chain(ast.walk(found), ast.walk(tree)):
        if isinstance(each, ast.Constant):
            each.kind = None  # a text does not use the prefix u
    return ast.dump(found) == ast.dump(tree)


def _escaped(source: str, tree: Any, mode: str) -> str:
    """Rewrite source code so that its strings contain only printable ASCII characters and escapes.

    Raises
    ------
    Refused
        If escapes cannot express the source code.
    """
    written = "".join(
        each if each == "\n" or " " <= each <= "~" else each.encode("unicode_escape").decode()
        for each in source
    )
    for mark in ("'''", '"""'):
        written = written.replace(mark, "\\x27" * 3 if mark == "'''" else "\\x22" * 3)
    if not _says(written, tree, mode):
        raise Refused("a string or a name that printable ASCII does not write")
    return written


def quoted(text: str) -> str:
    """Return a string literal for a text."""
    return ascii(text).replace("'''", "\\x27" * 3).replace('"""', "\\x22" * 3)
