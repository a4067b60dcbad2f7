"""What a claim rests on: the texts of all that its functions name, and these name, and a digest of them.

Names are followed through the modules of this package and all others that are not installed libraries, to functions,
classes and constants. Docstrings and comments are left out. The checker's own modules are not followed: they say what a
text means, and the version of the package stands beside a digest.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from clusterproof.checker.claims.claim import Claim
from clusterproof.user_files import file_of

CHECKER = tuple(f"clusterproof.checker.{name}" for name in ("claims", "kernel", "report", "search"))
"""Modules that are not followed, and those below them."""
LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
"""Folders of what is installed."""
Name = tuple[str, str]
"""A module and one of its names; of the statements that define none, an empty one."""


@dataclass(frozen=True)
class Definition:
    """What defines a name of a module.

    Attributes
    ----------
    text
        Without docstrings, and lines that are empty or a comment.
    names
        That it uses.
    """

    text: str
    names: frozenset[str]


@dataclass(frozen=True)
class Module:
    """Definitions by name, and imported names with where they are from: a module, and a name of it or nothing."""

    definitions: dict[str, Definition]
    imports: dict[str, Name]


def digest_of(claim: Claim[..., Any]) -> str:
    """Return the SHA-256 of all that a claim rests on."""
    found: dict[Name, str] = {}
    waiting = [name for each in claim.statements for name in _starts(each.function)]
    while waiting:
        name = waiting.pop()
        if name not in found and (definition := _definition(name)) is not None:
            found[name] = definition.text
            waiting += [(name[0], ""), *_resolved(name[0], definition.names)]
    texts = sorted((_plain(module), name, text) for (module, name), text in found.items())
    return hashlib.sha256("\0".join(part for each in texts for part in each).encode()).hexdigest()


def _plain(module: str) -> str:
    """Return a module's name, of a user's file without the folder that it was loaded from."""
    return module if file_of(module) is None else module.partition(".")[2]


def _starts(value: Any) -> Iterator[Name]:
    """Yield the name below which a function is defined, and those of the functions and classes around it."""
    function = getattr(value, "__wrapped__", value)
    yield function.__module__, function.__qualname__.partition(".")[0]
    for cell in getattr(function, "__closure__", None) or ():
        if isinstance(cell.cell_contents, FunctionType | type):
            yield from _starts(cell.cell_contents)


def _is_followed(module: str) -> bool:
    if module.startswith("clusterproof."):
        return not module.startswith(CHECKER)
    file = str(getattr(sys.modules.get(module), "__file__", None))
    installed = file.startswith(LIBRARIES) or {"site-packages", "dist-packages"} & {*Path(file).parts}
    return not installed and file.endswith(".py")


def _definition(name: Name) -> Definition | None:
    return _read(name[0]).definitions.get(name[1]) if _is_followed(name[0]) else None


def _resolved(module: str, names: frozenset[str]) -> Iterator[Name]:
    """Yield where names that a module uses are defined."""
    of_module = _read(module)
    for name in names:
        if name in of_module.definitions:
            yield module, name
        elif name in of_module.imports:
            source, of_source = of_module.imports[name]
            yield from _imported(_beside(module, source), of_source)


def _beside(module: str, imported: str) -> str:
    """Return the name under which a module is loaded that another one imports: a user's file has its own ones."""
    own = f"{module.partition('.')[0]}.{imported}"
    return own if own in sys.modules else imported


def _imported(module: str, name: str) -> Iterator[Name]:
    """Yield where an imported name is defined, through the modules that import it from another one; of a module all."""
    seen: set[Name] = set()
    while _is_followed(module) and (module, name) not in seen:
        seen.add((module, name))
        whole = f"{module}.{name}" if name else module
        if isinstance(sys.modules.get(whole), ModuleType):
            if _is_followed(whole):
                yield from ((whole, each) for each in _read(whole).definitions)
            return
        of_module = _read(module)
        if name in of_module.definitions:
            yield module, name
            return
        if name in of_module.imports:
            source, name = of_module.imports[name]
            module = _beside(module, source)
            continue
        value = getattr(sys.modules[module], name, None)  # of a module that imports when it is asked
        if isinstance(value, FunctionType | type):
            module, name = value.__module__, value.__qualname__


def _read(module: str) -> Module:
    file = Path(str(sys.modules[module].__file__))
    return _parsed(module, file, file.stat().st_mtime_ns)


@lru_cache(maxsize=1024)
def _parsed(module: str, file: Path, _changed: int) -> Module:
    """Return what a module's file defines and imports."""
    text = file.read_text(encoding="utf-8")
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    lines = text.split("\n")
    texts: dict[str, list[str]] = {}
    names: dict[str, set[str]] = {}
    imports: dict[str, Name] = {}
    for node in _statements(ast.parse(text).body):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            imports |= {each.asname or each.name: (source, each.name) for each in node.names}
        elif isinstance(node, ast.Import):
            whole = [
                (each.asname, each.name) if each.asname else (each.name.partition(".")[0],) * 2
                for each in node.names
            ]
            imports |= {name: (source, "") for name, source in whole}
        elif not _is_text(node):
            for name in _defined(node) or [""]:
                texts.setdefault(name, []).append(_said(node, lines))
                names.setdefault(name, set()).update(_used(node))
    definitions = {name: Definition("\n".join(said), frozenset(names[name])) for name, said in texts.items()}
    return Module(definitions, imports)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, those inside its conditions and loops in their place."""
    for node in body:
        inner = [
            each
            for part in ("body", "orelse", "finalbody", "handlers")
            for each in getattr(node, part, [])
            if not isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        if inner:
            yield from _statements(inner)
        else:
            yield node


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _defined(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    return [
        each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    ]


def _used(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement uses."""
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name))


def _said(node: ast.stmt, lines: Sequence[str]) -> str:
    """Return the lines of a statement, without docstrings, comments and empty lines."""
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
    left_out = {
        line
        for each in ast.walk(node)
        if _is_text(each)
        for line in range(each.lineno, each.end_lineno + 1)  # type: ignore[attr-defined]  # of a statement
    }
    kept = [
        lines[number - 1]
        for number in range(first, (node.end_lineno or first) + 1)
        if number not in left_out and lines[number - 1].strip()[:1] not in ("", "#")
    ]
    return "\n".join(kept)
