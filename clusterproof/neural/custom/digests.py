"""SHA-256 of user-supplied code: a run is resumed with the code with which it was begun."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from clusterproof.files import TEXT, read_file
from clusterproof.neural.custom.references import code_sum, file_of, is_own


def code_sums(names: Mapping[str, str]) -> dict[str, str]:
    """SHA-256 of user-supplied code.

    Parameters
    ----------
    names
        Names of data, network and algorithm by section.

    Returns
    -------
    dict
        Of ``FILE.py:NAME``, the sums of the file and of the neighbours that it imports, by section and path in the
        file's folder, such as ``"algorithm mine.py"``; of ``MODULE:NAME``, that of the module's file, by section. Data
        from a module have none: the data themselves are compared.
    """
    sums: dict[str, str] = {}
    for section, name in names.items():
        file = file_of(section, name)
        if file is not None:
            for path in _with_neighbours(file):
                key = f"{section} {path.relative_to(file.parent).as_posix()}"
                sums[key] = hashlib.sha256(read_file(path, TEXT)).hexdigest()
        elif section != "data" and is_own(section, name):
            sums[section] = code_sum(name)
    return sums


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


def _with_neighbours(file: Path) -> list[Path]:
    """Return a file and the modules in its folder that it imports, also inside functions."""
    found: dict[Path, None] = {}
    waiting = [file]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = None
        package = ".".join(path.relative_to(file.parent).parent.parts)
        for node in ast.walk(ast.parse(read_file(path, TEXT))):
            for target in import_targets(node, package):
                parts = target.split(".")
                places = [file.parent.joinpath(*parts[: depth + 1]) for depth in range(len(parts))]
                modules = [
                    module for place in places for module in (place.with_suffix(".py"), place / "__init__.py")
                ]
                waiting += [module for module in modules if module.is_file()]
    return list(found)
