"""Public names: the manuals use no others, each has help of its own, and former ones still work."""

import ast
import builtins
import importlib
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT

import clusterproof
from clusterproof import theorem, theory
from clusterproof.algorithms import ALGORITHMS
from clusterproof.algorithms.storage import load_trace
from clusterproof.synthetic import TASKS

PACKAGES = [
    *("clusterproof", "clusterproof.theorem", "clusterproof.algorithms", "clusterproof.synthetic"),
    *("clusterproof.theory", "clusterproof.theory.certificates", "clusterproof.theory.checker"),
    *("clusterproof.neural", "clusterproof.neural.networks", "clusterproof.figures"),
]
MANUALS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
MANUALS += sorted([*(ROOT / "notes").glob("*.md"), *(ROOT / "examples").glob("*.py")])
MANUALS += sorted((ROOT / "notes/lessons").glob("lesson_*.py"))
SCREENS = 60
"""Lines of two screens."""


def programs(path: Path) -> list[str]:
    """Python of a manual; of CONTRIBUTING.md what stands outside the library."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return [text]
    blocks = re.findall(r"(?ms)^(?:New file `(.+?)`:\n\n)?```python\n(.*?)^```", text)
    return [code for file, code in blocks if "/" not in file or file.startswith("tests/")]


@pytest.mark.parametrize("path", MANUALS, ids=lambda path: path.stem)
def test_manuals_import_public_names_alone(path: Path) -> None:
    made = re.findall(r"(?m)^class (\w+)\(", path.read_text(encoding="utf-8"))  # what a recipe adds
    for node in (node for code in programs(path) for node in ast.walk(ast.parse(code))):
        if isinstance(node, ast.ImportFrom) and re.match(r"clusterproof(?!\.notes\b)", node.module or ""):
            module = importlib.import_module(str(node.module))
            public = (
                *module.__all__,
                *made,
                *(["strategies"] if module.__name__.endswith("synthetic") else []),
            )
            assert [alias.name for alias in node.names if alias.name not in public] == [], node.module


def test_the_public_names_are_what_they_are_where_they_come_from() -> None:
    assert clusterproof.check is theory.check
    assert clusterproof.CFLMGD is ALGORITHMS["cfl-mgd"]
    assert clusterproof.RegressionMixture is TASKS["regression"]
    assert clusterproof.load_trace is load_trace
    assert re.fullmatch(r"\d+\.\d+\.\d+", clusterproof.__version__)
    assert set(theorem.__all__) <= set(clusterproof.__all__)
    for word in theorem.__all__:
        assert getattr(theorem, word) is getattr(clusterproof, word)
    with pytest.raises(AttributeError, match="attribute chekc"):
        clusterproof.chekc  # noqa: B018 - the attribute access is the test


def test_the_former_name_of_the_catalogue_warns() -> None:
    with pytest.warns(DeprecationWarning, match="catalogue"):
        assert clusterproof.claims("ifca") == clusterproof.catalogue("ifca")


@pytest.mark.parametrize("package", PACKAGES)
def test_help_is_about_the_name_and_fits_two_screens(package: str) -> None:
    """Of a class the signature and the docstring, which come before its methods."""
    module = importlib.import_module(package)
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.ismodule(value):
            continue
        shown = pydoc.plain(pydoc.render_doc(value))
        shown = re.sub(r"\(\n(?:    .*\n)+\)", "(...)", shown, count=1)  # Python 3.13: a parameter a line
        head = re.split(r"\n \|  (?:-----|Method resolution|Methods defined|Data)", shown)[0].splitlines()
        words = inspect.getdoc(value) or ""
        assert len(head) <= SCREENS, name
        assert words.split("\n")[0] in "\n".join(head), name
        assert words, name
        assert not words.startswith(f"{name}("), f"{name} has the docstring that a dataclass is given"
        assert inspect.isclass(value) or inspect.isroutine(value) or words != inspect.getdoc(type(value)), (
            name
        )


@pytest.mark.parametrize("package", PACKAGES)
def test_help_refers_to_public_names_alone(package: str) -> None:
    """Classes, and what follows "see" or "as in"; those may be attributes, too."""
    public = {name for each in PACKAGES for name in importlib.import_module(each).__all__} | set(
        dir(builtins)
    )
    module = importlib.import_module(package)
    for name in module.__all__:
        words = inspect.getdoc(value := getattr(module, name)) or ""
        named = re.findall(
            r"``(?!Title|Subject|Description)([A-Z][a-z]\w*)``", words
        )  # those are of a file format
        named += re.findall(r"(?:[Ss]ee|[Aa]s in) ``(\w+)``", words)
        hidden = {each for each in named if each not in public and not hasattr(value, each)}
        assert not hidden, f"{name} refers to {hidden}"


def test_names_are_imported_on_first_use() -> None:
    """``clusterproof.neural`` without torch, ``clusterproof.theorem`` without the theory."""
    code = "import sys, clusterproof, clusterproof.theorem, clusterproof.neural as neural\n"
    code += "clusterproof.__version__; neural.Partition, neural.configuration_from\n"
    code += "assert not {'torch', 'clusterproof.theory', 'matplotlib'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
