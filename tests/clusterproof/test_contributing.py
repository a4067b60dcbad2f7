"""The recipes of CONTRIBUTING.md, followed in a copy of the repository: what they add is found, tested and clean."""

import re
import shlex
from pathlib import Path

import pytest
from checkout import ROOT, copied, done, environment

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"(?ms)^## \d\. (.*?)\n(.*?)(?=^## |\Z)", TEXT))
BLOCK = r"(?ms)^(?:New file|In) `(.+?)`(?:, below `(.+?)`)?:\n\n```(?:python|text)\n(.*?)^```$"

ANSWERS = {
    "clusterproof show baselines/one-cluster": "Where all clients are alike",
    "clusterproof check baselines/one-cluster": "1 consistent",
    "clusterproof claims --paper ten-lines": "ten-lines/line-10",
    "clusterproof check --paper ten-lines": "9 consistent, 1 violated",
    "clusterproof run damped-fedavg": "damped-fedavg on regression",
    "clusterproof run ifca --task sphere": "ifca on sphere",
    "clusterproof figures step-size": "figures-out/step-size.svg",
    "clusterproof data list": "parity",
    "clusterproof train --data parity": "cfl-mgd on parity, rotated-groups, linear",
}
"""Output of commands by how their lines begin."""

pytestmark = pytest.mark.slow(reason="follows the recipes in a copy of the repository")


def apply(tree: Path, recipe: str) -> list[Path]:
    """Follow a recipe; give the files that it adds and changes."""
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
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[Path]]:
    """A copy in which all recipes were followed after it was installed, its interpreter, what they touched."""
    tree = copied(tmp_path_factory.mktemp("checkout") / "tree")
    python = environment(tmp_path_factory.mktemp("environment"), "--editable", tree)
    touched = [path for recipe in RECIPES for path in apply(tree, recipe)]
    return tree, python, touched


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_commands_of_a_recipe_find_what_it_adds(
    place: tuple[Path, Path, list[Path]], recipe: str
) -> None:
    tree, python, _ = place
    for line in re.findall(r"(?m)^\$ (.*)$", RECIPES[recipe]):
        words = shlex.split(line)
        if words[0] == "clusterproof":
            output = done([python, "-m", *words], tree)
        else:
            assert words[:3] == [".venv/bin/python", "-m", "pytest"]
            output = done([python, *words[1:], "-n", "0"], tree)
            assert re.search(r"[1-9]\d* passed", output), output
        for start, answer in ANSWERS.items():
            assert not line.startswith(start) or answer in output, output


def test_every_answer_is_asked_for() -> None:
    assert [start for start in ANSWERS if f"\n$ {start}" not in TEXT] == []


def test_what_the_recipes_add_passes_the_tests_of_the_registries(
    place: tuple[Path, Path, list[Path]],
) -> None:
    tree, python, _ = place
    done([python, "-m", "pytest", "-n", "0", "tests/clusterproof/test_registries.py"], tree)


def test_what_the_recipes_add_is_clean(place: tuple[Path, Path, list[Path]]) -> None:
    tree, python, touched = place
    done([python, "-m", "ruff", "check", *touched], tree)
    done([python, "-m", "ruff", "format", "--check", *touched], tree)
