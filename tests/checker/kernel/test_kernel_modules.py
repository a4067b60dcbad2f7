"""The kernel stands alone: what it imports, how long its modules are, and that nothing else says its words."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import clusterproof

ROOT = Path(clusterproof.__file__).parent
KERNEL = ROOT / "checker" / "kernel"
MODULES = sorted(KERNEL.glob("*.py"))
OTHERS = sorted(path for path in ROOT.rglob("*.py") if KERNEL not in path.parents)
NAMES, WORDS = {"Word", "Kind"}, {"CERTIFIED", "VACUOUS"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_imports_the_standard_library_and_the_kernel(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [node.module or ""]
        else:
            continue
        for name in names:
            own = name == "clusterproof.checker.kernel" or name.startswith("clusterproof.checker.kernel.")
            assert own or name.partition(".")[0] in sys.stdlib_module_names, name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_has_at_most_300_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


def said(tree: ast.AST) -> Iterator[int]:
    """Yield the lines at which *certified* or *vacuous* is more than compared with, listed or indexed by."""
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in WORDS and _is_the_kernels(node.value):
            place, parent = node, above[node]
            if isinstance(parent, ast.Dict) and place in parent.keys:
                continue
            if isinstance(parent, ast.Compare):
                continue
            if isinstance(parent, ast.Tuple | ast.Set | ast.List) and not isinstance(
                above[parent], ast.Return | ast.Dict
            ):
                continue
            yield node.lineno
        if isinstance(node, ast.Call) and _is_the_kernels(node.func):
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            if not texts or {"certified", "vacuous"} & set(texts):
                yield node.lineno


def _is_the_kernels(node: ast.AST) -> bool:
    """Return whether an expression is ``Word``, ``Kind`` or ``kernel.Word``."""
    return getattr(node, "id", getattr(node, "attr", None)) in NAMES


def test_what_is_said_is_found() -> None:
    for text in ("x = Kind.CERTIFIED", "f(kernel.Word.VACUOUS)", "return_ = {1: Kind.VACUOUS}", "Kind(w)"):
        assert list(said(ast.parse(text))) == [1], text
    for text in (
        "x is Kind.CERTIFIED",
        "x in (Kind.VACUOUS, 1)",
        "HOLDS = (Kind.CERTIFIED,)",
        "{Kind.VACUOUS: 1}",
    ):
        assert list(said(ast.parse(text))) == [], text


PASSED_ON = {
    "checker/report/decide.py",
    "checker/report/judged.py",
    "checker/report/stored_evidence.py",
    "theory/rates/outcome.py",
}
"""What turns the kernel's words into those of a report."""


def test_nothing_but_the_kernel_says_certified_or_vacuous() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): lines
        for path in OTHERS
        if (lines := list(said(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert found.keys() <= PASSED_ON, found
