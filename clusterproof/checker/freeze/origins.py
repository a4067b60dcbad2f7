"""Find the module in which a value of the running program is defined, and the expression that defines the value."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import MISSING
from types import ModuleType
from typing import Any

from clusterproof.checker.freeze.files import File, file_of


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
