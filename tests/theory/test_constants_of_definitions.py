"""Rounds are of the kernel's language; a paper, a round of the library or code by hand notices each constant."""

import ast
import inspect
import linecache
import sys
from functools import cache
from types import ModuleType
from typing import Any

import clustered_by_hand
import numpy_federated
import pytest
import test_rounds_of_definitions as rounds
from kernel_statements import text_with

from clusterproof.conformance import DEFINITIONS, changes
from clusterproof.conformance.observation import Observed, observe
from clusterproof.conformance.probes import SUPPORTS, agree, make_probes
from clusterproof.methods import averaging, clustered, controls, pairs, personal, server_optimisers

MODULES = {
    module.__name__.rpartition(".")[2]: module
    for module in (averaging, clustered, controls, pairs, personal, server_optimisers)
}
OF_CONFORM = {
    name for each in DEFINITIONS.values() for name in changes.functions_of((each.rule, *each.calls))
}
"""Functions of methods that ``conform`` compares code by hand with; claims and runs hold the others."""
SETTINGS = {
    *(
        "step_size",
        "server_step",
        "server_step_size",
        "probability",
        "momentum",
        "proximal",
        "count",
    ),
    *("strength", "concavity", "smoothing", "augmentation", "ratio"),
    *("alpha", "beta1", "beta2", "eta", "tau", "lam", "mix"),
    *("inner_step_size", "outer_step_size", "personal_step_size"),
}
"""Names of numbers that an algorithm is given, or that are made of such."""


def is_constant(node: ast.AST) -> bool:
    """Return whether a node is a use of a setting, or a number other than 0."""
    if isinstance(node, ast.BoolOp):  # a setting or its default
        return any(map(is_constant, node.values))
    if isinstance(node, ast.Attribute):
        return node.attr == "count" or (node.attr == "steps" and isinstance(node.ctx, ast.Load))
    if isinstance(node, ast.Name):
        return node.id in SETTINGS and isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value != 0


class Change(ast.NodeTransformer):
    """Multiply one constant by 1.01, by its place among all, and keep what all are, and in which function."""

    def __init__(self, place: int = -1) -> None:
        self.place, self.function = place, ""
        self.found: list[str] = []

    def made(self, module: ModuleType) -> ast.Module:
        """Return the module's tree with the constant changed."""
        tree = ast.parse(inspect.getsource(module))
        for place, node in enumerate(tree.body):
            if getattr(node, "name", "") in OF_CONFORM:
                tree.body[place] = self.visit(node)
        return ast.fix_missing_locations(tree)

    def visit(self, node: ast.AST) -> Any:
        """Change the constant at the place, and look into everything else but subscripts and counts of steps."""
        if isinstance(node, ast.arguments):  # defaults are held elsewhere
            return node
        if isinstance(node, ast.Attribute) and not is_constant(node):  # a verb of the clients
            return node
        if isinstance(node, ast.FunctionDef):
            self.function = node.name
            node.body = [self.visit(each) for each in node.body]
            return node
        if isinstance(node, ast.Subscript) or (
            isinstance(node, ast.Call) and ast.unparse(node.func) == "range"
        ):
            return node
        if is_constant(node):
            self.found.append(f"{self.function}, line {node.lineno}: {ast.unparse(node)}")
            if len(self.found) == self.place + 1:
                return ast.BinOp(node, ast.Mult(), ast.Constant(1.01))
            return node
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "client.steps_of":
            count, *others = node.args  # count is a whole number
            node.args = [count, *map(self.visit, others)]
            node.keywords = [self.visit(each) for each in node.keywords]
            return node
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "descend":
            *others, steps = node.args  # of which there are whole numbers
            node.args = [*map(self.visit, others), steps]
            return node
        return self.generic_visit(node)


def constants_of(module: ModuleType) -> list[str]:
    change = Change()
    change.made(module)
    return change.found


CONSTANTS = [
    (name, place, what) for name, module in MODULES.items() for place, what in enumerate(constants_of(module))
]
BY_HAND = [*numpy_federated.FORMS, (clustered_by_hand.FPFC, "fpfc", {})]
PROBES = ("step-size", "rounds", "sizes", "batches", "server-step", "strengths", "participation")
IN_THEORY_ONLY = ("clustered", "pairs")
"""Modules with constants that ``conform`` does not need: ends where cases agree, and a divisor for claims."""


def functions_of(module: str) -> set[str]:
    own, module_name = vars(MODULES[module]), MODULES[module].__name__
    return {name for name, value in own.items() if getattr(value, "__module__", "") == module_name}


def is_notice(compared: Any, *given: Any) -> bool:
    try:
        compared(*given)
    except AssertionError:
        return True
    return False


def theory_notices(module: str) -> bool:
    """Return whether the rounds of the library are no longer those of a method."""
    if module == "pairs" and is_notice(rounds.test_the_shrinkage_is_that_of_the_penalty):
        return True
    return any(
        is_notice(rounds.compare, algorithm, round_, *rounds.TASKS[task])
        for algorithm, round_, task in rounds.CASES
        if task == "floats, vectors" and f"{module}." in inspect.getsource(round_)
    )


@cache
def runs_by_hand(place: int) -> list[Observed]:
    """Return the runs of one code by hand, which no change of a definition concerns."""
    start, algorithm, form = BY_HAND[place]
    definition = DEFINITIONS[algorithm]
    probes = [one for one in make_probes(definition, form, SUPPORTS)[0] if one.name in PROBES]
    return [observe(start, definition, probe) for probe in probes]


def conformance_notices(module: str) -> bool:
    """Return whether code by hand no longer conforms to a definition."""
    for place, (_, algorithm, _) in enumerate(BY_HAND):
        definition = DEFINITIONS[algorithm]
        used = changes.functions_of((definition.rule, *definition.calls))
        concerned = any(function.__module__.endswith(f".{module}") for function in used.values())
        if concerned and not agree(definition, runs_by_hand(place), "float64"):
            return True
    return False


@pytest.mark.parametrize(("module", "place", "what"), CONSTANTS)
def test_a_constant_changed_by_one_per_cent_is_noticed(
    module: str, place: int, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = MODULES[module]
    text = ast.unparse(Change(place).made(own))
    file = f"<{module}: {what}>"
    monkeypatch.setitem(linecache.cache, file, (len(text), None, text.splitlines(keepends=True), file))
    changed: dict[str, Any] = {"__name__": own.__name__}
    exec(compile(text, file, "exec"), changed)
    functions = {getattr(own, name): changed[name] for name in functions_of(module)}
    for user in [each for name, each in sys.modules.items() if name.startswith("clusterproof.")]:
        for name, value in list(vars(user).items()):
            if inspect.isfunction(value) and value in functions:
                monkeypatch.setattr(user, name, functions[value])
    for definition in DEFINITIONS.values():
        if definition.rule in functions:
            monkeypatch.setattr(definition, "rule", staticmethod(functions[definition.rule]))
    caches = (changes.functions_of, changes.located, changes._scope, changes._codes)
    try:
        for cached in caches:
            cached.cache_clear()
        noticed = conformance_notices(module) or (module in IN_THEORY_ONLY and theory_notices(module))
    finally:
        for cached in caches:
            cached.cache_clear()
    assert noticed, what


@pytest.mark.parametrize("module", MODULES)
def test_nothing_is_noticed_of_the_round_itself(module: str) -> None:
    assert not theory_notices(module)
    assert not conformance_notices(module)


ROOTS = {"fedadam", "fedyogi"}
"""Methods with roots of numbers, which the language has not."""


@pytest.mark.parametrize("module", MODULES)
def test_a_round_is_of_the_kernel_s_language(module: str) -> None:
    for name in functions_of(module) - ROOTS:
        text_with(getattr(MODULES[module], name))
