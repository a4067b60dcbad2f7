"""The recipes of CONTRIBUTING.md work in a copy of the repository: their files are discovered, tested and lint-free."""

import re
import shlex
from pathlib import Path

import pytest
from checkout import ROOT, copied, done, environment

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"(?ms)^## \d\. (.*?)\n(.*?)(?=^## |\Z)", TEXT))
BLOCK = r"(?ms)^(?:New file|In) `(.+?)`(?:, below `(.+?)`)?:\n\n```(?:python|text)\n(.*?)^```$"

EXPECTED_OUTPUT = {
    "clusterproof show baselines/one-cluster": "If all clients are identical",
    "clusterproof check baselines/one-cluster": "1 consistent",
    "clusterproof claims --paper ten-lines": "ten-lines/line-10",
    "clusterproof check --paper ten-lines": "9 consistent, 1 violated",
    "clusterproof run damped-fedavg": "damped-fedavg on regression",
    "clusterproof run ifca --task sphere": "ifca on sphere",
    "clusterproof figures step-size": "figures-out/step-size.svg",
    "clusterproof data list": "parity",
    "clusterproof train --data parity": "cfl-mgd on parity, rotated-groups, linear",
}
"""Text that a command prints, by the beginning of its line."""

pytestmark = pytest.mark.slow(reason="follows the recipes in a copy of the repository")


def apply(tree: Path, recipe: str) -> list[Path]:
    """Apply a recipe to a tree; return the files that it adds or changes."""
    touched = []
    for name, anchor, content in re.findall(BLOCK, RECIPES[recipe]):
        path = tree / name
        if not anchor:
            path.parent.mkdir(exist_ok=True)
            assert not path.exists(), name
            path.write_text(content, encoding="utf-8")
            touched.append(path)
            continue
        lines = path.read_text(encoding="utf-8").split("\n")
        assert lines.count(anchor) == 1, (name, anchor)
        lines.insert(lines.index(anchor) + 1, content.removesuffix("\n"))
        path.write_text("\n".join(lines), encoding="utf-8")
        touched.append(path)
    return touched


@pytest.fixture(scope="module")
def recipe_tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[Path]]:
    """Return an installed copy with all recipes applied, its interpreter, and the files that the recipes changed."""
    tree = copied(tmp_path_factory.mktemp("checkout") / "tree")
    python = environment(tmp_path_factory.mktemp("environment"), "--editable", tree)
    touched = [path for recipe in RECIPES for path in apply(tree, recipe)]
    return tree, python, touched


@pytest.mark.parametrize("recipe", RECIPES)
def test_commands_of_a_recipe_find_its_files(recipe_tree: tuple[Path, Path, list[Path]], recipe: str) -> None:
    tree, python, _ = recipe_tree
    for line in re.findall(r"(?m)^\$ (.*)$", RECIPES[recipe]):
        words = shlex.split(line)
        if words[0] == "clusterproof":
            output = done([python, "-m", *words], tree)
        else:
            assert words[:3] == [".venv/bin/python", "-m", "pytest"]
            output = done([python, *words[1:], "-n", "0"], tree)
            assert re.search(r"[1-9]\d* passed", output), output
        for start, text in EXPECTED_OUTPUT.items():
            assert not line.startswith(start) or text in output, output


def test_every_expected_output_has_a_command() -> None:
    assert [start for start in EXPECTED_OUTPUT if f"\n$ {start}" not in TEXT] == []


def test_recipes_pass_the_tests_of_the_registries(
    recipe_tree: tuple[Path, Path, list[Path]],
) -> None:
    tree, python, _ = recipe_tree
    done([python, "-m", "pytest", "-n", "0", "tests/clusterproof/test_registries.py"], tree)


def test_recipes_are_lint_free(recipe_tree: tuple[Path, Path, list[Path]]) -> None:
    tree, python, touched = recipe_tree
    done([python, "-m", "ruff", "check", *touched], tree)
    done([python, "-m", "ruff", "format", "--check", *touched], tree)
