"""``run`` takes a user's algorithm by FILE.py:NAME, and names it in the errors of its code."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import refused

from clusterproof.algorithms import FedAvg, run
from clusterproof.algorithms.storage import load_trace
from clusterproof.commands.application import main
from clusterproof.synthetic import QuadraticMixture

CODE = """
from dataclasses import dataclass
from clusterproof.algorithms import FedAvg, GradientLoss, PerFedAvg, State


@dataclass(frozen=True, kw_only=True)
class Own(FedAvg):
    name = "own"


@dataclass(frozen=True, kw_only=True)
class Grouped(GradientLoss):
    name = "grouped"


@dataclass(frozen=True, kw_only=True)
class Slow(PerFedAvg):
    name = "slow"

    @property
    def dynamics(self):
        return PerFedAvg(step_size=self.step_size)


@dataclass(frozen=True, kw_only=True)
class Writes(Own):
    def step(self, state, task, randomness):
        after = super().step(state, task, randomness)
        state.models[...] = after.models
        return after


@dataclass(frozen=True, kw_only=True)
class Raises(Own):
    def step(self, state, task, randomness):
        return {}["a"]
"""
SMALL = ["--task", "quadratic", "--clients", "4", "--dimension", "2", "--rounds", "3"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(CODE)


@pytest.mark.parametrize("words", [["own.py:Own"], ["--algorithm", "own.py:Own"]])
def test_a_users_class_runs_as_the_built_in_one_that_it_repeats(words: list[str]) -> None:
    assert main(["run", *words, *SMALL, "--step-size", "0.5", "--out", "out", "--json", "run.json"]) == 0
    task = QuadraticMixture.random(clusters=2, clients=4, dimension=2, seed=0)
    start = load_trace("out").models[0]
    expected = run(FedAvg(step_size=0.5), task, rounds=3, initial=start)
    np.testing.assert_array_equal(load_trace("out").models, expected.models)
    record = json.loads(Path("run.json").read_text())
    assert record["rows"] == "pooled model"
    assert record["last_errors"] == pytest.approx(expected.errors[-1])


def test_a_users_class_ends_in_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "own.py:Own", *SMALL]) == 0
    output = capsys.readouterr().out
    assert output.startswith(
        "own on quadratics with known optima\n\nTask      2 clusters: 2 and 2 of m = 4 clients"
    )
    assert "Run       3 rounds, 1 run\nError     largest distance of the model from its optimum: " in output
    assert output.endswith("Theorems\nNone      no theorem of this algorithm\n")
    assert "Groups" not in output
    assert main(["run", "own.py:Grouped", *SMALL]) == 0
    assert "Groups    2, the true ones, from round 1; purity 1\n" in capsys.readouterr().out


def test_a_class_with_the_dynamics_of_another_has_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "own.py:Slow", *SMALL]) == 0
    assert "FO rest   holds: " in capsys.readouterr().out
    assert main(["run", "own.py:Slow", *SMALL, "--inner-step-size", "0.3"]) == 0  # not that of its dynamics
    output = " ".join(capsys.readouterr().out.split())
    assert "does not apply: needs the rounds of per-fedavg with these options, here round 1 is" in output


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("Writes", [], "must leave the state that `step` is given unchanged, and writes into its `models`"),
        ("Raises", [], "raised KeyError: 'a' ("),
        ("Missing", [], "has no attribute 'Missing'"),
        ("Own", ["--momentum", "0.5"], "Unknown option: --momentum"),
    ],
)
def test_mistakes_are_named(
    name: str, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, "run", f"own.py:{name}", *SMALL, *more)
    assert message in said
    assert f"own.py:{name}" in said


MEASURES = """
import numpy as np


def gap(state, task):
    return np.linalg.norm(np.asarray(state.models) - task.optima.mean(axis=0))


def fails(state, task):
    return {}["a"]
"""


def test_recorded_fields_and_a_measure_are_stored_next_to_the_trace() -> None:
    Path("measures.py").write_text(MEASURES)
    options = ["--record", "control, controls", "--measure", "measures.py:gap", "--out", "out"]
    assert main(["run", "scaffold", *SMALL, "--local-steps", "2", *options]) == 0
    trace = load_trace("out")
    assert {name: array.shape for name, array in trace.recorded.items()} == {
        "control": (4, 1, 2),
        "controls": (4, 4, 2),
    }
    mean = trace.recorded["controls"].mean(axis=1, keepdims=True)
    np.testing.assert_allclose(trace.recorded["control"], mean, atol=1e-9)
    assert trace.recorded["controls"][1:].any()
    task = QuadraticMixture.random(clusters=2, clients=4, dimension=2, seed=0)
    distances = np.linalg.norm(trace.models[:, 0] - task.optima.mean(axis=0), axis=-1)
    np.testing.assert_allclose(trace.measured["gap"], distances, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--record models", "--record = 'models': is stored next to the trace; add --out FOLDER"),
        ("--record momentum --out o", "must be a field of State, which has models, clients, assignments"),
        ("--measure gap --out o", "--measure = 'gap': must be MODULE:NAME or FILE.py:NAME"),
        ("--measure measures.py:fails --out o", "--measure = 'measures.py:fails': raised KeyError: 'a' ("),
        ("--measure measures.py:none --out o", "has no attribute 'none'"),
    ],
)
def test_what_cannot_be_recorded_is_named(
    options: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("measures.py").write_text(MEASURES)
    assert message in refused(capsys, "run", "fedavg", *SMALL, *options.split())


def test_an_error_beside_the_named_file_is_the_users_too(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a class that the file imports, none of whose calls is in the named file."""
    Path("other.py").write_text("from own import Raises\n")
    said = refused(capsys, "run", "other.py:Raises", *SMALL)
    assert "raised KeyError: 'a' (" in said
    assert "own.py, line " in said
