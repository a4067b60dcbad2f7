"""Digest of the source code of a function and its imports, which identifies its results."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib import metadata, util
from pathlib import Path
from typing import TypeAlias

LIBRARIES = ("numpy", "scipy", "torch")
"""Libraries whose versions affect results; included if a module imports them."""

Imports: TypeAlias = tuple[dict[str, Path], set[str]]
"""Files of the modules that a module imports, and the top-level names of all imports."""

FOUND: dict[str, Imports] = {}
"""Imports found so far, by module: finding them takes a second, and worker processes are given those of the parent."""


@cache
def source_digest(module: str) -> str:
    """Return the digest of a module and all that it imports of its own package and of ``clusterproof``.

    Parameters
    ----------
    module
        Dotted name of the module that defines the function.

    Returns
    -------
    str
        Sixteen hexadecimal digits. Paths and dates of the files are ignored.
    """
    if module not in FOUND:
        FOUND[module] = imported_modules(module)
    files, names = FOUND[module]
    total = hashlib.sha256()
    for name, path in sorted(files.items()):
        content = path.read_bytes()
        total.update(f"{name} {len(content)}\n".encode() + content)
    for library in LIBRARIES:
        if library in names:
            total.update(f"{library} {_version(library)}\n".encode())
    return total.hexdigest()[:16]


def _version(library: str) -> str:
    """Return the version of a library; empty where it is not installed, and nothing that is computed needs it."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def imported_modules(module: str) -> Imports:
    """Return the modules that a module imports, also inside functions, without importing them.

    Parameters
    ----------
    module
        Dotted name.

    Returns
    -------
    tuple
        File of each module of the same top-level package and of ``clusterproof``, and the top-level names of all
        imports.

    Raises
    ------
    ImportError
        If the module itself is not found.
    """
    files: dict[str, Path] = {}
    names: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in files or name.partition(".")[0] not in (module.partition(".")[0], "clusterproof"):
            continue
        path = _file_of(name)
        if path is None:
            if name == module:
                raise ImportError(f"no source of {name}")
            continue
        files[name] = path
        targets = set(_targets(name, ast.parse(path.read_bytes()), path))
        names.update(target.partition(".")[0] for target in targets)
        waiting += [name.rpartition(".")[0], *targets]
    return files, names


def import_targets(node: ast.AST, package: str) -> Iterator[str]:
    """Return the dotted names that a statement imports, possibly of modules, in a module of a package."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parts = package.split(".") if package else []
            base = ".".join([*parts[: len(parts) + 1 - node.level], *(base.split(".") if base else [])])
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)


def _targets(module: str, tree: ast.AST, path: Path) -> Iterator[str]:
    """Return the names that a module imports; of a package in which it looks for modules, all of them."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        yield from import_targets(node, package)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from [node.value] if node.value.startswith("clusterproof.") else []  # compiled loops
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("_below"):  # algorithms.discovery
            searched = ast.unparse(node.args[0])
            yield from _modules_below(module if searched == "__name__" else searched.strip("'\""))


def _modules_below(package: str) -> Iterator[str]:
    """Return the names of the modules of a package and of its subpackages."""
    path = _file_of(package)
    if path is not None:
        for file in path.parent.rglob("*.py"):
            parts = file.relative_to(path.parent).with_suffix("").parts
            yield ".".join([package, *(part for part in parts if part != "__init__")])


def _file_of(module: str) -> Path | None:
    """Return the file of a module; None if there is no such module."""
    parts = module.split(".")
    depth = 2 if parts[0] == "clusterproof" and len(parts) > 1 else 1  # packages of clusterproof may be links
    try:
        root = util.find_spec(".".join(parts[:depth]))
    except ImportError:
        return None
    if root is None or root.origin is None or not root.has_location:
        return None
    path = Path(root.origin)
    if parts[depth:]:
        inner = path.parent.joinpath(*parts[depth:])
        path = inner / "__init__.py" if inner.is_dir() else inner.with_name(f"{inner.name}.py")
    return path if path.is_file() and path.suffix == ".py" else None
