"""User-supplied files that a training run keeps in its folder, so that it can be moved and resumed."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clusterproof.algorithms.atomic import write_whole
from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.files import TEXT, read_file
from clusterproof.neural.custom.references import OWN, code_sum, file_of, is_own, is_reference

FOLDER = "code"
"""Folder of the files in that of a run."""


def user_files(names: Mapping[str, str]) -> dict[str, Path]:
    """Find the files of user-supplied code and the neighbours that they import.

    Parameters
    ----------
    names
        Names of data, network and algorithm by section.

    Returns
    -------
    dict
        Files by their path in the folder of a run, such as ``"code/mine.py"``.

    Raises
    ------
    InvalidArgument
        If two different files would have the same path.
    """
    found: dict[str, Path] = {}
    for section, name in names.items():
        if (file := file_of(section, name)) is None:
            continue
        for path in _with_neighbours(file):
            key = f"{FOLDER}/{path.relative_to(file.parent).as_posix()}"
            if read_file(found.setdefault(key, path), TEXT) != read_file(path, TEXT):
                rule = f"imports {path}, which has the name of another file, {found[key]}"
                raise InvalidArgument(f"{section}.name", name, rule, "rename one of the two")
    return found


def code_sums(names: Mapping[str, str]) -> dict[str, str]:
    """SHA-256 of each file of ``user_files``, and, by section, of the module of a network or algorithm."""
    sums = {key: hashlib.sha256(read_file(path, TEXT)).hexdigest() for key, path in user_files(names).items()}
    modules = {
        section: name
        for section, name in names.items()
        if section != "data" and is_own(section, name) and file_of(section, name) is None
    }
    return sums | {section: code_sum(name) for section, name in modules.items()}


def keep_code(folder: Path, names: Mapping[str, str]) -> None:
    """Copy the files of user-supplied code into the folder of a run; those that are there stay."""
    for key, path in user_files(names).items():
        if not (folder / key).exists():
            (folder / key).parent.mkdir(parents=True, exist_ok=True)
            write_whole("out", folder / key, read_file(path, TEXT))


def kept_names(sections: Mapping[str, Any]) -> dict[str, Any]:
    """Replace names of files by those of their copies, relative to the folder of the run."""
    kept = {section: dict(table) for section, table in sections.items()}
    for section in OWN:
        place, _, attribute = str(kept.get(section, {}).get("name", "")).rpartition(":")
        if place.endswith(".py"):
            kept[section]["name"] = f"{FOLDER}/{Path(place).name}:{attribute}"
    return kept


def found_beside(sections: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Replace relative names of files that are in a folder by absolute ones, in place."""
    for section in OWN:
        table = sections.get(section)
        name = table.get("name") if isinstance(table, dict) else None
        if isinstance(table, dict) and isinstance(name, str) and is_reference(name):
            place, _, attribute = name.rpartition(":")
            if place.endswith(".py") and (folder / place).is_file():
                table["name"] = f"{(folder / place).resolve()}:{attribute}"
    return sections


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
