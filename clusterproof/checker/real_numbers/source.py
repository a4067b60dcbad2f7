"""Source code of functions and constants, provided that the file has not changed since it was imported."""

from __future__ import annotations

import ast
import linecache
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from clusterproof.checker.real_numbers.interval import NoValue
from clusterproof.library import is_of_library

PACKAGE = "clusterproof"
"""Name of this package. Its functions are rewritten only if they state claims, because runs and tasks use floats."""
_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def function_of(code: CodeType, module: str) -> Any:
    """Return the syntax tree of the function with the given code object.

    Raises
    ------
    NoValue
        If the function belongs to a library, has no source, or its source has changed since the import.
    """
    name = f"{module}.{code.co_qualname}"
    require_own(module, code.co_qualname)
    if code.co_filename.startswith(_LIBRARIES):
        raise NoValue(name)
    tree, codes = _parsed(code.co_filename)
    if code not in codes:
        raise NoValue(f"{name}, whose source is not found,")
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.Lambda)
        and min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        == code.co_firstlineno
        and getattr(node, "name", "<lambda>") == code.co_name
    ]
    if len(found) != 1:
        raise NoValue(f"{name}, one of several functions in a line,")
    return found[0]


def require_own(module: str, name: str) -> None:
    """Reject functions of this package that run algorithms or tasks, because they compute with floats."""
    if module.partition(".")[0] == PACKAGE and not is_of_library(module):
        raise NoValue(f"{module}.{name}")


def binding_of(name: str, file: str) -> ast.stmt:
    """Return the only statement at the top level of a file that binds a name."""
    found = [each for each in _parsed(file)[0].body if name in _bound(each)]
    if len(found) != 1 or not isinstance(found[0], ast.Assign | ast.AnnAssign | ast.ImportFrom):
        raise NoValue(f"{name}, which no single statement of its file sets,")
    return found[0]


def _bound(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


@lru_cache(maxsize=256)
def _parsed(file: str) -> tuple[ast.Module, frozenset[CodeType]]:
    if Path(file).is_file() and not file.endswith(".py"):
        raise NoValue("what has no source")
    text = "".join(linecache.getlines(file))
    try:
        tree = ast.parse(text, file)
        return tree, frozenset(_codes(compile(text, file, "exec", dont_inherit=True)))
    except (SyntaxError, ValueError) as error:
        raise NoValue("a function without source") from error


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def file_of(names: dict[str, Any]) -> str:
    """Return the file of the module with the given namespace, or an empty string if it has no file."""
    module = sys.modules.get(names.get("__name__", ""))
    return str(names.get("__file__") or getattr(module, "__file__", None) or "")
