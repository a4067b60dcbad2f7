"""How the tests are kept: beside the rooms they speak of, and without a word about what is private there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from planting import NotASeamError, planted, with_parameters

from clusterproof.algorithms import IFCA, arrays, ifca, protocol
from clusterproof.algorithms.parts import aggregation, compiled_pairs, pair_storage
from clusterproof.theory.bounds import theorem_a

ROOT = Path(__file__).parents[1]
FOLDERS = ("algorithms", "synthetic", "theory", "neural", "tables", "figures", "notes", "clusterproof")
PLANTING = ROOT / "tests" / "helpers" / "planting.py"


def modules(*folders: str) -> list[Path]:
    """Python files of the repository's folders."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def is_private(name: str) -> bool:
    """Whether a name is ours alone: ``__len__`` and ``_repr_html_`` are protocols of Python and of notebooks."""
    return name.startswith("_") and not name.startswith("__") and not name.endswith("_")


def private_names() -> set[str]:
    """Private functions, classes, constants and attributes that the product defines."""
    names = set()
    for path in modules(*FOLDERS):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    names.add(name)
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    names.add(name)
    return {name for name in names if is_private(name) and name != "_"}


OURS = private_names()
IN_TEXT = re.compile(r"\b_[A-Za-z]\w*\b")


def origins(tree: ast.AST) -> dict[str, str]:
    """The module that each name of a file is imported from."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = alias.name
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: node.module or "" for alias in node.names}
    return found


def faults_of(source: str) -> Iterator[str]:
    """What a test file says about private parts of ours, and what it replaces on its own."""
    tree = ast.parse(source)
    imported = origins(tree)
    for node in ast.walk(tree):
        line = f"line {getattr(node, 'lineno', 0)}"
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("clusterproof"):
                for alias in names:
                    if is_private(alias.name):
                        yield f"{line} imports {module}.{alias.name}"
            case ast.Attribute(value=ast.Name(id="self")):
                pass
            case ast.Attribute(value=value, attr=attribute) if attribute in OURS:
                root = ast.unparse(value).partition(".")[0]
                if imported.get(root, "clusterproof").startswith("clusterproof"):
                    yield f"{line} uses {ast.unparse(node)}"
            case ast.ClassDef(bases=[_, *_], body=body, name=name):
                for each in body:
                    if isinstance(each, ast.FunctionDef) and each.name in OURS:
                        yield f"{line}: {name} overrides {each.name}"
            case ast.Constant(value=str(text)):
                for name in OURS.intersection(IN_TEXT.findall(text)):
                    yield f"{line} names {name}"
            case ast.Call(func=ast.Attribute(attr="setattr" | "delattr"), args=[target, *_]):
                root = ast.unparse(target).partition(".")[0]
                if imported.get(root, "clusterproof").startswith("clusterproof"):
                    yield f"{line} replaces {ast.unparse(target)} without `plant`"
            case ast.Call(func=ast.Attribute(attr="setitem" | "delitem"), args=[target, *_]):
                if "__" in ast.unparse(target):
                    yield f"{line} replaces {ast.unparse(target)}"
            case ast.Call(func=ast.Name(id="setattr" | "delattr")):
                yield f"{line} replaces {ast.unparse(node)} without `plant`"


@pytest.mark.parametrize(
    "path",
    [path for path in modules("tests") if path not in (PLANTING, Path(__file__))],
    ids=lambda path: str(path.relative_to(ROOT / "tests")),
)
def test_no_test_speaks_of_what_is_private(path: Path) -> None:
    assert list(faults_of(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "from clusterproof.algorithms.cfl import _ready",
        "from clusterproof.algorithms import cfl\nmonkeypatch.setattr(cfl, 'bipartition', None)",
        "from clusterproof.algorithms import cfl\nsetattr(cfl, 'bipartition', None)",
        "monkeypatch.setattr('clusterproof.algorithms.cfl.bipartition', None)",
        "for place, name in FAULTS:\n    monkeypatch.setattr(place, name, None)",
        "import clusterproof\nmonkeypatch.delattr(clusterproof.algorithms.CFL, 'step')",
        "monkeypatch.setitem(certify.__globals__, 'SECONDS', 1)",
        "class Wrong(CFL):\n    def _ready(self): ...",
        "class Wrong(CFL):\n    def step(self):\n        return super()._descend()",
        "plant(CFL, '_ready', None)",
        "code = 'runner._spread = None'",
    ],
)
def test_each_way_round_is_seen(line: str) -> None:
    assert list(faults_of(line))


@pytest.mark.parametrize(
    "line",
    [
        "import os\nmonkeypatch.setattr(os, 'replace', full_disk)",
        "import importlib.util\nmonkeypatch.setattr(importlib.util, 'find_spec', None)",
        "monkeypatch.setitem(TABLES, 'mine', None)",
        "problem._status = 'optimal'",
        "class Task:\n    def __init__(self): self._task = 1",
    ],
)
def test_what_is_not_ours_may_be_replaced(line: str) -> None:
    assert not list(faults_of(line))


# ------------------------------------------------------------------ planting


@pytest.mark.parametrize(
    ("place", "name", "said"),
    [
        (aggregation, "argmin_smallest_index", "is not defined there"),
        (IFCA, "_step", "is private"),
        (IFCA, "leap", "is not there"),
        (arrays, "leap", "is not defined there"),
        ("clusterproof.algorithms.runner", "_spread", "is private"),
        (SimpleNamespace, "step", "not a part of clusterproof"),
    ],
)
def test_what_has_no_public_name_where_it_is_defined_is_no_seam(place: object, name: str, said: str) -> None:
    with pytest.raises(NotASeamError, match=said), planted(place, name, None):
        pass


def test_everybody_gets_the_faulty_part_and_the_true_one_back() -> None:
    def wrong() -> None: ...

    true, users = arrays.sums_by_cluster, (arrays, aggregation, protocol)
    with planted(arrays, "sums_by_cluster", wrong) as given:
        assert given is true
        assert all(module.sums_by_cluster is wrong for module in users)
        aggregation.imported_meanwhile = wrong
    assert all(module.sums_by_cluster is true for module in users)
    assert aggregation.imported_meanwhile is true
    del aggregation.imported_meanwhile
    with planted(arrays, "sums_by_cluster", wrong, within=protocol.__name__):
        assert protocol.sums_by_cluster is wrong
        assert aggregation.sums_by_cluster is true
    with (
        pytest.raises(NotASeamError, match="nobody in clusterproof"),
        planted(arrays, "sums_by_cluster", wrong, within="clusterproof.figures"),
    ):
        pass


def test_a_constant_is_replaced_where_it_is_imported() -> None:
    true = pair_storage.PAGE_ENTRIES
    with planted(pair_storage, "PAGE_ENTRIES", 4):
        assert pair_storage.PAGE_ENTRIES == compiled_pairs.PAGE_ENTRIES == 4
    assert pair_storage.PAGE_ENTRIES == compiled_pairs.PAGE_ENTRIES == true


def test_equal_numbers_are_not_taken_for_the_constant() -> None:
    from clusterproof.theory.cfl_mgd.appendix import a4_to_a6

    a4_to_a6.OTHER = a4_to_a6.CONSTANT  # the same object
    with planted(a4_to_a6, "CONSTANT", 2):
        assert (a4_to_a6.CONSTANT, a4_to_a6.OTHER) == (2, 256)
    assert (a4_to_a6.CONSTANT, a4_to_a6.OTHER) == (256, 256)
    del a4_to_a6.OTHER


def test_a_method_is_replaced_where_it_is_inherited() -> None:
    class Descendant(IFCA):
        """With the step of IFCA."""

    Descendant.__module__, Descendant.__qualname__ = ifca.__name__, "Descendant"
    with planted(Descendant, "step", None):
        assert Descendant.step is None
        assert IFCA.step is not None
    assert Descendant.step is IFCA.step
    Descendant.leap = lambda self: None
    with pytest.raises(NotASeamError, match="has no docstring"), planted(Descendant, "leap", None):
        pass


def test_nothing_is_remembered_of_a_fault() -> None:
    """A cached function forgets for as long as a fault is there, and knows afterwards what it knew before."""
    remembering = theorem_a.contractions
    known = remembering.cache_info()
    with planted(arrays, "sums_by_cluster", None):
        assert theorem_a.contractions is not remembering
        assert theorem_a.contractions.cache_info().currsize == 0
    assert theorem_a.contractions is remembering
    assert remembering.cache_info() == known


def test_an_algorithm_keeps_its_parameters() -> None:
    made = with_parameters(IFCA, clusters=3)(step_size=0.1, clusters=2)
    assert isinstance(made, IFCA)
    assert (made.step_size, made.clusters) == (0.1, 3)


# ------------------------------------------------------------------ where tests are


def test_every_room_has_its_tests_and_every_folder_of_tests_its_room() -> None:
    """A paper's chapters, and other rooms inside a room, may have theirs beside those of the whole."""
    rooms = {path.parent.relative_to(ROOT) for path in modules(*FOLDERS)}
    files = [path.relative_to(ROOT / "tests") for path in modules("tests") if path.name.startswith("test_")]
    tested = {path.parent for path in files}
    assert tested <= rooms | {Path()}
    without = {room for room in rooms - tested if len(room.parts) < 3 or room.parent not in tested}
    assert not without


def test_test_files_have_names_of_their_own() -> None:
    """pytest knows a file by its name alone."""
    names = [path.name for path in modules("tests") if path.name.startswith("test_")]
    assert len(names) == len(set(names))
