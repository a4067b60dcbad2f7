"""A default that a class of the user's states is kept by every command, and shown where the run is shown."""

import ast
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import clusterproof
from clusterproof.algorithms import ALGORITHMS
from clusterproof.commands.application import main
from clusterproof.experiments import synthetic_runs
from clusterproof.experiments.run_defaults import PAGES
from clusterproof.neural.configuration import configuration_from
from clusterproof.synthetic import TASKS

KNOWN = sorted(
    {field.name for kind in ALGORITHMS.values() for field in fields(kind)}
    | {*synthetic_runs.ALGORITHM_DEFAULTS, *synthetic_runs.TASK_DEFAULTS}
    | {name for page in PAGES.values() for name in page.settings}
    | {name for task in TASKS for name in synthetic_runs.task_parameters(task)}
)
"""Every name for which some part of the program has a default of its own."""
STATED = {name: (place + 1) / 1024 for place, name in enumerate(KNOWN)}
HEAD = '''
"""An algorithm with a default for everything."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms import Algorithm, State
from clusterproof.common import Randomness


@dataclass(frozen=True, kw_only=True)
class Own(Algorithm[State]):
    """Plain descent."""

    name = "own"
    target = "pooled"
'''
METHODS = """
    def model_count(self, task: Any) -> int:
        return 1

    def initialise(self, models: Any, task: Any) -> State:
        return State(models, None, None)

    def step(self, state: State, task: Any, randomness: Randomness) -> State:
        clients = np.arange(task.clients)
        sums = task.gradient_sums(state.models, clients, 0 * clients, randomness.gradient)
        return State(state.models - 0.01 * sums / task.clients, clients, 0 * clients)
"""


@pytest.fixture
def reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a class with a float parameter of each of the names, and the default of its place."""
    monkeypatch.chdir(tmp_path)
    lines = [f"    {name}: float = {value!r}\n" for name, value in STATED.items()]
    Path("own.py").write_text(HEAD + "".join(lines) + METHODS)
    return "own.py:Own"


def unnamed(text: str) -> list[str]:
    """Return the parameters that a text does not name; how many clients take part is said in a sentence of its own."""
    said = " ".join(text.split()).lower()
    return [name for name in STATED if name.replace("_", " ") not in said and name != "participation"]


def test_it_is_kept_everywhere(reference: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", reference, "--rounds", "2", "--json", "run.json"]) == 0
    page = capsys.readouterr().out
    settings = json.loads(Path("run.json").read_text())["settings"]["algorithm"]
    assert settings == {"algorithm": "own", **STATED}
    assert unnamed(page) == []
    assert configuration_from({"algorithm": {"name": reference}}).algorithm.options == STATED
    made: list[Any] = []
    cls = synthetic_runs.algorithm_class(reference)
    for task in TASKS:
        problem = synthetic_runs.make_task(task, {}, 0)
        made.append(synthetic_runs.make_algorithm(reference, {}, problem))
    assert made == [cls()] * len(TASKS)


def test_the_help_of_a_class_lists_its_parameters_with_their_defaults(
    reference: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    for flag in ("--help", "-h", "--help-all"):
        assert main(["run", reference, flag]) == 0
        lines = capsys.readouterr().out.splitlines()
        for name, value in STATED.items():
            if name in {*synthetic_runs.TASK_DEFAULTS} | {"clusters"}:
                continue  # named like an option of tasks
            option = "--" + name.replace("_", "-")
            of_tasks = any(name in synthetic_runs.task_parameters(task) for task in TASKS)
            assert of_tasks or any(
                f"{option} " in line and f"[default: {value}]" in line for line in lines
            ), name
    assert main(["run", "--help"]) == 0
    assert "scaffold" in capsys.readouterr().out


def test_the_caption_of_its_figure_lists_its_parameters(
    reference: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", reference, "--rounds", "2", "--plot", "run.svg"]) == 0
    (caption,) = re.findall(r"(?s)<dc:description>(.*?)</dc:description>", Path("run.svg").read_text())
    assert unnamed(caption) == []


def read_by_name() -> set[str]:
    """Return the names that some module asks an algorithm for without requiring them."""
    found: set[str] = set()
    for path in Path(clusterproof.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            asks = isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr")
            if asks and isinstance(node.args[1], ast.Constant) and "algorithm" in ast.unparse(node.args[0]):
                found.add(node.args[1].value)
    return found


FOLLOWS = """
    @property
    def dynamics(self) -> Any:
        from clusterproof.algorithms import FedAvg

        return FedAvg(step_size=self.step_size)
"""


@pytest.mark.slow(reason="runs every command of a class")
def test_methods_that_are_called_like_settings_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a class whose dynamics the library knows, and of one of its own."""
    monkeypatch.chdir(tmp_path)
    names = sorted(read_by_name() - {"name", "step_size", "target"})
    assert {"participation", "local_steps", "proximal", "weighting", "momentum"} <= {*names}
    methods = "".join(f"\n    def {name}(self) -> int:\n        return 1\n" for name in names)
    step = METHODS.replace("0.01 *", "self.step_size *")
    for follows in ("", FOLLOWS):
        pages = []
        for name, more in (("plain", ""), ("named", methods)):
            Path(f"{name}.py").write_text(HEAD + "    step_size: float = 0.5\n" + step + follows + more)
            assert main(["run", f"{name}.py:Own", "--task", "quadratic", "--rounds", "3"]) == 0
            pages.append(capsys.readouterr().out)
        assert pages[0] == pages[1]
