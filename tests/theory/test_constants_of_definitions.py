"""Definitions are of the kernel's language, and a paper or a round of the library notices each constant."""

import ast
import inspect
import sys
from types import ModuleType
from typing import Any

import pytest
import test_exact_points as exact_points
import test_rounds_of_definitions as rounds

from clusterproof.algorithms.discovery import modules_below
from clusterproof.theory import definitions, kernel

MODULES = {module.__name__.rpartition(".")[2]: module for module in modules_below(definitions.__name__)}
SETTINGS = {
    *("step_size", "server_step", "probability", "momentum", "proximal", "clients", "count"),
    *("strength", "concavity", "smoothing", "augmentation", "ratio"),
}
"""Names of numbers that an algorithm is given, or that are made of such."""


def is_constant(node: ast.AST) -> bool:
    """Return whether a node is a use of a setting, or a number other than 0."""
    if isinstance(node, ast.BoolOp):  # a setting or its default
        return any(map(is_constant, node.values))
    if isinstance(node, ast.Name):
        return node.id in SETTINGS and isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value != 0


class Change(ast.NodeTransformer):
    """Multiply one constant by 1.01, by its place among all, and keep what it was, and in which function."""

    def __init__(self, place: int) -> None:
        self.place, self.seen, self.found = place, -1, ""
        self.function = ""

    def visit(self, node: ast.AST) -> Any:
        """Change the constant at the place, and look into everything else but subscripts and counts of steps."""
        if isinstance(node, ast.FunctionDef):
            self.function = node.name
        if isinstance(node, ast.Subscript) or (
            isinstance(node, ast.Call) and ast.unparse(node.func) == "range"
        ):
            return node
        if is_constant(node):
            self.seen += 1
            if self.seen == self.place:
                self.found = f"{self.function}, line {node.lineno}: {ast.unparse(node)}"
                return ast.BinOp(node, ast.Mult(), ast.Constant(1.01))
            return node
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "descend":
            *others, steps = node.args  # of which there are whole numbers
            node.args = [*map(self.visit, others), steps]
            return node
        return self.generic_visit(node)


def changes_of(module: ModuleType) -> list[tuple[str, ast.Module]]:
    """Return the module's trees with one constant changed."""
    found = []
    while not found or found[-1][0]:
        change = Change(len(found))
        tree = ast.fix_missing_locations(change.visit(ast.parse(inspect.getsource(module))))
        found.append((change.found, tree))
    return found[:-1]


CONSTANTS = [(name, what, tree) for name, module in MODULES.items() for what, tree in changes_of(module)]
PAPERS = {
    "fedavg": ("fedavg/drift", "local-gd/"),
    "scaffold": ("scaffold/sharp", "scaffold/convex"),
    "fedlin": ("fedlin/sharp", "fedlin/rate"),
    "proxskip": ("proxskip/",),
}
"""Claims with sides that were computed elsewhere, by the definition that their runs are of."""


def notices(module: str) -> bool:
    """Return whether a paper's numbers, or the rounds of the library, are no longer those of a definition."""
    for row in exact_points.ROWS:
        if row["claim"].startswith(PAPERS.get(module, "none")):
            try:
                exact_points.test_sides_are_those_computed_elsewhere(row)
            except AssertionError:
                return True
    for algorithm, round_, task in rounds.CASES:
        if task == "floats, vectors" and f"{module}." in inspect.getsource(round_):
            try:
                rounds.compare(algorithm, round_, *rounds.TASKS[task])
                if module == "fpfc":
                    rounds.test_the_shrinkage_is_that_of_the_penalty()
            except AssertionError:
                return True
    return False


@pytest.mark.parametrize(
    ("module", "what", "tree"), CONSTANTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_constant_changed_by_one_per_cent_is_noticed(
    module: str, what: str, tree: ast.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed: dict[str, Any] = {"__name__": MODULES[module].__name__}
    exec(compile(tree, f"{module}.py", "exec"), changed)
    functions = {
        own: changed[name]
        for name, own in vars(MODULES[module]).items()
        if inspect.isfunction(own) and own.__module__ == MODULES[module].__name__
    }
    for user in [each for name, each in sys.modules.items() if name.startswith("clusterproof.theory")]:
        for name, value in list(vars(user).items()):
            if inspect.isfunction(value) and value in functions:
                monkeypatch.setattr(user, name, functions[value])
    assert notices(module), what


@pytest.mark.parametrize("module", MODULES)
def test_nothing_is_noticed_of_the_definition_itself(module: str) -> None:
    assert not notices(module)


@pytest.mark.parametrize("module", MODULES)
def test_a_definition_is_of_the_kernel_s_language(module: str) -> None:
    own = [each for each in vars(MODULES[module]).values() if inspect.isfunction(each)]
    for function in own:
        kernel.Source({}, lambda value: value).load(function, function.__name__)
    assert own
