"""Data flow one way: which folder may import which, and no circle of modules that import each other."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from command_line import ROOT

LAYERS = (
    "algorithms",
    "synthetic",
    "theory",
    "conformance",
    "neural",
    "experiments",
    "figures",
    "notes",
    "clusterproof",
)
BELOW = {folder: set(LAYERS[:place]) for place, folder in enumerate(LAYERS)}
"""Packages that a package may import."""
FREE = ("clusterproof", "clusterproof.theorem", "clusterproof.public_names", "clusterproof.notebook_figure")
"""Public names, which are imported on first use, and modules that import nothing of the package."""


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for folder in BELOW:
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join(parts if parts[0] == "clusterproof" else ("clusterproof", *parts))] = path
    return found


MODULES = modules()


@cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names that a tree imports from the package, modules before what is in them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "clusterproof":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else str(node.module)


def folder_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in BELOW else "clusterproof"


def test_no_arrow_runs_back_up() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, tree in trees().items()
        for target in imported(tree)
        if folder_of(target) not in {folder_of(module), *BELOW[folder_of(module)]} and target not in FREE
    ]
    assert wrong == []


def at_import(tree: ast.Module) -> ast.Module:
    """What a module does when it is imported: no functions' bodies, nothing for type checkers alone."""
    kept = [
        node
        for node in tree.body
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
    ]
    return ast.Module(kept, [])


def test_no_modules_import_each_other_in_a_circle() -> None:
    """A package's ``__init__`` gathers what is in it, and is left aside as a target of its own modules."""
    arrows = {
        module: {
            target
            for target in imported(at_import(trees()[module]))
            if target != module and not module.startswith(f"{target}.")
        }
        for module, path in MODULES.items()
        if path.name != "__init__.py"
    }
    finished: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, f"a circle: {' -> '.join((*way[way.index(module) :], module))}"
        if module not in finished:
            for target in sorted(arrows.get(module, ())):
                visit(target, (*way, module))
            finished.add(module)

    for module in arrows:
        visit(module, ())
