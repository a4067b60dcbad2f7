"""The checkout as a developer has it: installed once, and every file found by Python and by static tools."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import CLEAN, copied, done, environment

pytestmark = [
    pytest.mark.slow(reason="installs a copy of the repository"),
    pytest.mark.skipif(shutil.which("make") is None, reason="there is no make"),
]

PYRIGHT = next(
    (
        found
        for name in ("pyright", "basedpyright")
        if (found := shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent)))
    ),
    None,
)

EDITED = """
import clusterproof.theory
from clusterproof import check
from clusterproof.theory.new_paper.lemma_1 import RADIUS

reveal_type(RADIUS)
reveal_type(check)
reveal_type(clusterproof.theory.assert_holds)
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("checkout") / "tree")


@pytest.fixture(scope="module")
def python(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with an editable install; files are new after it."""
    place = environment(tmp_path_factory.mktemp("environment"), "--editable", tree)
    for folder, content in {
        "clusterproof/theory/new_paper": {"__init__.py": "", "lemma_1.py": "RADIUS = 0.25\n"},
        "clusterproof/algorithms": {"new_algorithm.py": ""},
        "clusterproof/commands": {"new_command.py": ""},
    }.items():
        (tree / folder).mkdir(exist_ok=True)
        for name, text in content.items():
            (tree / folder / name).write_text(text)
    return place


def test_a_new_file_is_importable_without_reinstalling(python: Path, tmp_path: Path) -> None:
    names = ("theory.new_paper.lemma_1", "algorithms.new_algorithm", "commands.new_command")
    for name in names:
        done([python, "-c", f"import clusterproof.{name}"], tmp_path)


@pytest.mark.skipif(PYRIGHT is None, reason="pyright is not installed: pip install pyright")
@pytest.mark.parametrize("folder", ["clusterproof/theory", "clusterproof/commands", "tests/theory"])
def test_an_editor_finds_every_name(python: Path, tree: Path, folder: str) -> None:
    assert PYRIGHT is not None
    (tree / folder / "edited.py").write_text(EDITED)
    command = [PYRIGHT, "--pythonpath", str(python), f"{folder}/edited.py"]
    output = subprocess.run(command, capture_output=True, text=True, cwd=tree, env=CLEAN).stdout
    assert "0 errors" in output
    assert 'Type of "RADIUS" is "float"' in output
    assert 'Type of "check" is "(claim_id: str' in output
    assert "-> None" in output
    assert "Unknown" not in output
