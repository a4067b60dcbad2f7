"""Pages of the reference. Autodoc describes each public function and class once."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import clusterproof

PACKAGE = Path(clusterproof.__file__).parent


def public_modules() -> dict[str, ModuleType]:
    """Return the packages, and the modules with a stub file, that have a list ``__all__`` of public names."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name == "__init__.py" or path.with_suffix(".pyi").exists():
            name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
            module = importlib.import_module(name)
            if hasattr(module, "__all__"):
                found[name] = module
    return found


def described(modules: dict[str, ModuleType]) -> dict[str, list[str]]:
    """Return the public names that the page of each module describes.

    If several modules have a name in ``__all__``, the page of the innermost package that contains its definition
    describes it.
    """
    names: dict[str, list[str]] = {name: [] for name in modules}
    for name, module in modules.items():
        for public in module.__all__:
            value: Any = getattr(module, public)
            defined = getattr(value, "__module__", "")
            listing = [other for other, each in modules.items() if getattr(each, public, None) is value]
            home = max(listing, key=lambda other: (f"{defined}.".startswith(f"{other}."), len(other)))
            if home == name and not isinstance(value, ModuleType):
                names[name].append(public)
    return names
