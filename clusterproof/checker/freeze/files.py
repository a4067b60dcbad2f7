"""Source files of the running program: the syntax trees of functions, and the modules that define values."""

from __future__ import annotations

import ast
import importlib.util
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING
from functools import cached_property, lru_cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

from clusterproof.checker.kernel import Refused
from clusterproof.checker.kernel.evaluation import spend
from clusterproof.files import TEXT, read_file

SCOPES = ast.FunctionDef | ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp
"""Syntax nodes that create a scope for variables."""
CHANGING = (
    *(
        "append",
        "extend",
        "insert",
        "pop",
        "popitem",
        "setdefault",
        "update",
        "clear",
        "remove",
        "discard",
        "sort",
    ),
    *("reverse", "add", "__setitem__"),
)
"""Names of methods that modify the object on which they are called."""


NESTED = 8
"""Largest number of functions, classes and comprehensions that contain each other."""
MOST_FUNCTIONS = 2000
"""Largest number of functions and comprehensions in a source file. Python compiles many equal ones slowly."""
LARGEST = 200_000
"""Largest number of characters of a source file."""


class File:
    """A source file in its current state: its syntax tree, and the code compiled from this tree."""

    def __init__(self, path: str) -> None:
        self.name = Path(path).name
        try:
            content = read_file(path, TEXT)
            encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0]
            if encoding not in ("utf-8", "utf-8-sig"):
                raise Refused(f"{self.name}: write the file in UTF-8")
            self.text = content.decode(encoding)
            if len(self.text) > LARGEST:
                raise Refused(
                    f"{self.name}: it has more than {LARGEST} characters: state the claim in another file"
                )
            self.tree = ast.parse(self.text)
            self.all = [*ast.walk(self.tree)]
            if sum(isinstance(each, SCOPES) for each in self.all) > MOST_FUNCTIONS:
                raise Refused(
                    f"{self.name}: it has more than {MOST_FUNCTIONS} functions and comprehensions: "
                    "state the claim in another file"
                )
        except (OSError, SyntaxError, ValueError) as error:
            raise Refused(f"{self.name}: its source cannot be read ({error})") from None
        self.lines = self.text.encode().splitlines(keepends=True)
        self.codes = _codes_of(self.tree)
        self.nodes: list[ast.FunctionDef | ast.Lambda] = []
        self.variables: set[str] = set()
        waiting: list[tuple[ast.AST, bool]] = [(self.tree, False)]
        while waiting:
            node, inside = waiting.pop()
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                self.nodes.append(node)
                inside = True
            if inside and isinstance(node, ast.arg):
                self.variables.add(node.arg)
            elif inside and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.variables.add(node.id)
            waiting += [(each, inside) for each in ast.iter_child_nodes(node)]

    def function(self, code: CodeType) -> ast.FunctionDef | ast.Lambda:
        """Return the syntax node from which a function was compiled.

        Raises
        ------
        Refused
            If the file has changed, or if several functions in one line cannot be distinguished.
        """
        place = f"{self.name}, {code.co_name}"
        if code not in self.codes:
            raise Refused(f"{place}: it is not what its file says: has the file changed since it was loaded?")
        near = self._at.get((code.co_name, code.co_firstlineno), ())
        spend(100 * len(near))
        found = compiled_from(code, near)
        if len({ast.dump(node) for node in found}) != 1:
            raise Refused(f"{place}: several functions stand in a line: write each in a line of its own")
        return found[0]

    @cached_property
    def _at(self) -> dict[tuple[str, int], list[ast.FunctionDef | ast.Lambda]]:
        """The syntax nodes of all functions, indexed by name and first line."""
        found: dict[tuple[str, int], list[ast.FunctionDef | ast.Lambda]] = {}
        for node in self.nodes:
            found.setdefault(_place(node), []).append(node)
        return found

    def bound(self, name: str) -> list[ast.stmt]:
        """Return the top-level statements of the file that assign a value to a name."""
        return self._bound.get(name, [])

    @cached_property
    def _bound(self) -> dict[str, list[ast.stmt]]:
        found: dict[str, list[ast.stmt]] = {}
        for each in self.tree.body:
            names: set[str] = set()
            for node in _at_top(each):
                if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                    names.add(node.id)
                elif isinstance(node, ast.alias):
                    names.add(node.asname or node.name)
            for name in names:
                found.setdefault(name, []).append(each)
        return found

    @cached_property
    def imports(self) -> dict[str, list[tuple[str, str]]]:
        """Names bound by top-level ``from`` imports, each with its modules (dots included) and original names."""
        found: dict[str, list[tuple[str, str]]] = {}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                for each in node.names:
                    found.setdefault(each.asname or each.name, []).append((module, each.name))
        return found

    @property
    def postpones_annotations(self) -> bool:
        """Whether Python leaves the annotations of the file unevaluated."""
        return ("__future__", "annotations") in self.imports.get("annotations", ())

    @cached_property
    def classes(self) -> dict[str, list[ast.ClassDef]]:
        """The classes of the file, indexed by name."""
        found: dict[str, list[ast.ClassDef]] = {}
        for node in self.all:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
        return found

    def change_of(self, name: str) -> int | None:
        """Return the number of a line that changes the value of a name, or None if no such line is found."""
        return self._changes.get(name) or self.rebound.get(name)

    @cached_property
    def rebound(self) -> dict[str, int]:
        """The names that functions assign outside themselves, each with the line of ``global`` or ``nonlocal``."""
        found: dict[str, int] = {}
        for node in self.all:
            if isinstance(node, ast.Global | ast.Nonlocal):
                found |= dict.fromkeys(node.names, node.lineno)
        return found

    @cached_property
    def assigned_attributes(self) -> dict[str, int]:
        """The attributes that the file assigns, such as K in ``module.K = 1``, each with a line."""
        stored = (
            each for each in self.all if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
        )
        return {each.attr: each.lineno for each in stored}

    @cached_property
    def _changes(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for each in self.all:
            node, target = cast(Any, each), cast(Any, None)
            if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
                target = node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                target = node.func.value if node.func.attr in CHANGING else None
            elif isinstance(node, ast.AugAssign):
                target = node.target
            while isinstance(target, ast.Subscript | ast.Attribute):
                target = target.value
            if isinstance(target, ast.Name):
                found.setdefault(target.id, node.lineno)
        return found

    def between(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        """Return the source code between two positions; lines are counted from 1, bytes from 0."""
        first, *others = self.lines[start[0] - 1 : end[0]]
        if not others:
            return first[start[1] : end[1]].decode()
        return b"".join([first[start[1] :], *others[:-1], others[-1][: end[1]]]).decode()


_FILES: dict[str, File] = {}


def file_of(path: str) -> File:
    """Read a source file; each process reads a file only once."""
    if not path.endswith(".py"):
        raise Refused(f"{Path(path).name} has no source file")
    if path not in _FILES:
        _FILES[path] = File(path)
    return _FILES[path]


def node_of(function: FunctionType, annotations: Sequence[str]) -> tuple[Any, File | None]:
    """Return the syntax node of a function, and its file, which is None for a lambda in the text of an annotation."""
    code = function.__code__
    if code.co_filename != "<string>":
        file = file_of(code.co_filename)
        return file.function(code), file
    found = []
    for text in annotations:
        tree, codes = _of_annotation(text)
        if code in codes:
            found += compiled_from(code, [each for each in ast.walk(tree) if isinstance(each, ast.Lambda)])
    if len({ast.dump(each) for each in found}) != 1:
        raise Refused(f"{code.co_name}: its source is not known: write it in a file")
    return found[0], None


@lru_cache(maxsize=256)
def _of_annotation(text: str) -> tuple[ast.AST, set[CodeType]]:
    """Return the syntax tree of an annotation, and its codes; raises ``Refused`` like ``_codes_of``."""
    tree = ast.parse(text, "<string>", "eval")
    return tree, _codes_of(tree)


def _codes_of(tree: Any) -> set[CodeType]:
    """Return the code of a module or an annotation, and of all functions, classes and comprehensions in it.

    Raises
    ------
    Refused
        If they are nested more than ``NESTED`` levels deep. A comparison of two codes takes twice the time for each
        level.
    """
    mode = "exec" if isinstance(tree, ast.Module) else "eval"
    codes: set[CodeType] = set()
    level = [compile(tree, "source", mode, dont_inherit=True)]
    for _ in range(NESTED + 1):
        codes.update(level)
        level = [inner for each in level for inner in each.co_consts if type(inner) is CodeType]
    if level:
        raise Refused(
            f"functions and comprehensions are nested more than {NESTED} levels deep: define them side by side"
        )
    return codes


def compiled_from(
    code: CodeType, nodes: Iterable[ast.FunctionDef | ast.Lambda]
) -> list[ast.FunctionDef | ast.Lambda]:
    """Return the nodes with the name and line of a function's code (for a lambda, also with the same columns)."""
    near = [node for node in nodes if _place(node) == (code.co_name, code.co_firstlineno)]
    if not any(isinstance(node, ast.Lambda) for node in near):
        return near
    places = [(a, c, b, d) for a, b, c, d in code.co_positions() if a and b and c is not None and d]
    if not places:  # Python was started without the columns of codes
        raise Refused(f"{code.co_name}: its columns are not known: unset PYTHONNODEBUGRANGES")
    start, end = min(places)[:2], max((b, d) for _, _, b, d in places)
    spans = [(_span(node.body) if isinstance(node, ast.Lambda) else None, node) for node in near]
    return [node for span, node in spans if span is None or (span[0] == start and end <= span[1])]


def _place(node: ast.FunctionDef | ast.Lambda) -> tuple[str, int]:
    """Return the name of a function and its first line, which may be the line of a decorator."""
    lines = [node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]
    return getattr(node, "name", "<lambda>"), min(lines)


def _span(node: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _at_top(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, SCOPES | ast.ClassDef):
        for each in ast.iter_child_nodes(node):
            yield from _at_top(each)


# ---- the modules that define values


def origin(home: Mapping[str, Any], name: str, value: Any) -> tuple[Mapping[str, Any], str]:
    """Return the namespace of the module that defines a value, and the name of the value in this module."""
    file = file_of_module(home)
    for module, own in file.imports.get(name, ()) if file else ():
        try:
            found = sys.modules.get(importlib.util.resolve_name(module, home.get("__package__") or ""))
        except ImportError:
            continue
        if type(found) is ModuleType and vars(found).get(own, MISSING) is value and vars(found) is not home:
            return origin(vars(found), own, value)
    return home, name


def file_of_module(home: Mapping[str, Any] | None) -> File | None:
    """Return the file of the module with a given namespace, or None if no module with a source file has it."""
    module = sys.modules.get(str((home or {}).get("__name__")))
    path = str(getattr(module, "__file__", None))
    if home is None or type(module) is not ModuleType or vars(module) is not home or not path.endswith(".py"):
        return None
    return file_of(path)


def expression_of(node: ast.stmt, name: str) -> ast.expr | None:
    """Return the expression that a statement assigns to a single name, or None for all other statements."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target: Any = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    else:
        return None
    return node.value if isinstance(target, ast.Name) and target.id == name else None
