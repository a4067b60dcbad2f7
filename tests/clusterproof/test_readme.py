"""The README's Python example does what the README says."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from clusterproof.commands.application import main

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs() -> None:
    example = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)[-1]
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert names["trace"].errors.shape == (51, 1000, 2)


def test_it_is_short_and_shows_a_figure() -> None:
    assert len(TEXT.splitlines()) < 200
    assert re.search(r"!\[[^\]]+\]\(notes/stored/figures/[\w-]+\.svg\)", TEXT)


def test_the_recipe_of_a_theorem_of_ones_own_does_what_it_says(
    registry: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = (ROOT / "notes/your-own-theorem.md").read_text(encoding="utf-8")
    (file,) = re.findall(r"```python\n(.*?)```", recipe, flags=re.DOTALL)
    Path("my_paper.py").write_text(file, encoding="utf-8")
    lines = re.findall(r"(?m)^\$ clusterproof (.*)$", recipe)
    assert len(lines) == 4
    said = ""
    for line in lines:
        assert main(shlex.split(line)) == 0, line
        said += capsys.readouterr().out
    assert "at step = 1, rounds = 1: 1 > 0.5" in said
    assert "holds on all 440 instances of the grid; sharp within" in said
    assert "from clusterproof import load_claims, replay" in said
    Path("my_paper.py").write_text(file.replace("floor=step / 2)", "floor=step)"), encoding="utf-8")
    assert main(["check", "--module", "my_paper.py", "--against", "report.json"]) == 1
    assert "my-paper/theorem-3: was violated, is consistent" in capsys.readouterr().err
