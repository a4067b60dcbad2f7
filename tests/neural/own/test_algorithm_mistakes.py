"""A mistake in a user's own algorithm is said in a line that names the algorithm, the rule and the place."""

from pathlib import Path

import pytest
from command_line import refused
from planting import planted
from small_training import SMALL, configure

from clusterproof.algorithms import ALGORITHMS, FedAvg
from clusterproof.commands.application import main
from clusterproof.neural.runs.training import train

BEGINNING = """
import sys
from dataclasses import dataclass, replace
import torch
from clusterproof import algorithms
from clusterproof.algorithms import Algorithm, FedAvg, State


@dataclass(frozen=True)
class Loaded(State):
    more: object = None


@dataclass(frozen=True, kw_only=True)
class Good(Algorithm[State]):
    name = "good"

    def model_count(self, task):
        return 1

    def initialise(self, models, task) -> State:
        return State(models, None, None)

    def step(self, state, task, randomness):
        everybody = torch.arange(task.clients)
        return State(state.models, everybody, 0 * everybody)


@dataclass(frozen=True, kw_only=True)
class Loading(Good):
    def initialise(self, models, task) -> Loaded:
        return Loaded(models, None, None)


def ask(dictionary):
    return dictionary["a\\nb"]


@dataclass(frozen=True, kw_only=True)
"""
"""Then comes a class that is wrong, in line 39."""

STEP = "class Own(Good):\n    def step(self, state, task, randomness):\n        "
AFTER = STEP + "everybody = torch.arange(task.clients); return State("
LOADED = (
    "class Own(Loading):\n    def step(self, state, task, randomness):\n"
    "        return Loaded(state.models, torch.arange(task.clients), torch.zeros(task.clients).int(), "
)
MISTAKES: dict[str, tuple[str, list[str]]] = {
    "an error": (STEP + "return {}['a\\nb']", ["raised KeyError: 'a\\nb', in `step` (", "own.py, line 41"]),
    "an error in a function": (STEP + "return ask({})", ["raised KeyError", "own.py, line 35"]),
    "an error in ours": (STEP + "return task.losses(state, 1, 2)", ["raised ", "own.py, line 41"]),
    "an exit": (STEP + "sys.exit(0)", ["raised SystemExit: 0", "own.py, line 41"]),
    "construction": (
        "class Own(Good):\n    def __post_init__(self):\n        raise ValueError('no\\ngood')",
        ["raised ValueError: no good, in its construction", "own.py, line 41"],
    ),
    "an error at the start": (
        "class Own(Good):\n    def initialise(self, models, task) -> State:\n        return State(models)",
        ["raised TypeError", "in `initialise`", "own.py, line 41"],
    ),
    "an error of a property": (
        "class Own(Good):\n    @property\n    def has_personal_step(self):\n        return self.nothing",
        ["raised AttributeError", "in `has_personal_step`", "own.py, line 42"],
    ),
    "an error in draws": (
        "class Own(Good):\n    def draw_models(self, task, shape, randomness):\n        return 1 / 0",
        ["raised ZeroDivisionError", "in `draw_models`", "own.py, line 41"],
    ),
    "draws in another type": (
        "class Own(Good):\n    def draw_models(self, *rest):\n        return super().draw_models(*rest).double()",
        ["in `draw_models`", "(1, 610) of type float32, and gave (1, 610) of type float64"],
    ),
    "draws of numpy": (
        "class Own(Good):\n    def draw_models(self, *rest):\n        return super().draw_models(*rest).numpy()",
        ["in `draw_models`", "gave ndarray"],
    ),
    "no models": (
        "class Own(Good):\n    def model_count(self, task):\n        return 0",
        ["`model_count`, and gave 0"],
    ),
    "half a model": (
        "class Own(Good):\n    def model_count(self, task):\n        return 1.5",
        ["`model_count`, and gave 1.5"],
    ),
    "no model for each client": (
        "class Own(Good):\n    target = 'clients'",
        ["models in `initialise` as a tensor (6, 610) of type float32, and gave (1, 610)"],
    ),
    "nothing": (STEP + "return None", ["must give a State in `step`, and gave NoneType"]),
    "another state": (
        STEP + "return Loaded(state.models, None, None)",
        ["must give a State in `step`, and gave Loaded"],
    ),
    "a state of a number": (LOADED + "0.5)", ["in `step`", "a state cannot hold a float"]),
    "fewer parameters": (
        AFTER + "state.models[:, :3], everybody, 0 * everybody)",
        ["(1, 610) of type float32, and gave (1, 3) of type float32"],
    ),
    "another type": (
        AFTER + "state.models.double(), everybody, 0 * everybody)",
        ["of type float32, and gave (1, 610) of type float64"],
    ),
    "numpy": (AFTER + "state.models.numpy(), everybody, 0 * everybody)", ["gave ndarray"]),
    "no clients": (AFTER + "state.models, None, None)", ["`clients` in `step`", "gave NoneType"]),
    "no assignments": (AFTER + "state.models, everybody, None)", ["`assignments` in `step`", "NoneType"]),
    "real clients": (AFTER + "state.models, everybody / 1, 0 * everybody)", ["gave (6,) of type float32"]),
    "a client too many": (AFTER + "state.models, everybody + 1, 0 * everybody)", ["from 0 to 5, and gave 6"]),
    "a cluster too many": (AFTER + "state.models, everybody, everybody)", ["from -1 to 0, and gave 1"]),
    "fewer assignments": (
        AFTER + "state.models, everybody, 0 * everybody[:3])",
        ["each of the 6 `clients` in `step`, and gave 3"],
    ),
    "another personal model": (
        "class Own(Good):\n    has_personal_step = True\n    def personalise(self, points, *rest):\n"
        "        return points[:, :3]",
        ["`personalise` as a tensor (6, 610) of type float32, and gave (6, 3)"],
    ),
    "no number": (
        AFTER + "state.models * torch.inf, everybody, 0 * everybody)",
        ["led in round 1 to numbers that are not finite, in the server's model", "mend it"],
    ),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(place: Path, code: str) -> str:
    (place / "own.py").write_text(BEGINNING.lstrip("\n") + code + "\n", encoding="utf-8")
    return f"{place / 'own.py'}:Own"


@pytest.mark.parametrize(("code", "parts"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_the_algorithms(
    place: Path, capsys: pytest.CaptureFixture[str], code: str, parts: list[str]
) -> None:
    name = write(place, code)
    message = refused(capsys, "train", *SMALL, "--rounds", "2", "--algorithm", "own.py:Own", "--out", "run")
    assert message.startswith(f"clusterproof: --algorithm = '{name}': ")
    for part in parts:
        assert part in message


def test_an_exit_while_a_file_is_imported_is_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(place, "class Own(Good):\n    pass\n\nsys.exit(0)")
    message = refused(capsys, "train", *SMALL, "--rounds", "1", "--algorithm", "own.py:Own", "--out", "run")
    assert "must be importable (SystemExit: 0)" in message


def test_want_of_memory_is_no_mistake(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for error in ("MemoryError('too large')", "RuntimeError('cannot allocate memory')"):
        write(place, STEP + f"raise {error}")
        message = refused(capsys, "train", *SMALL, "--algorithm", "own.py:Own", "--out", f"run-{len(error)}")
        assert "out of memory" in message


def test_what_ours_raise_is_a_defect(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object) -> None:
        raise KeyError("ours")

    with planted(FedAvg, "step", broken):
        assert main(["train", *SMALL, "--algorithm", "fedavg", "--out", "run"]) == 1
    assert "a defect: KeyError" in capsys.readouterr().err


def test_a_mistake_in_a_file_is_told_its_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(place, STEP + "return None")
    (place / "run.toml").write_text('[training]\nrounds = 1\n[algorithm]\nname = "own.py:Own"\n')
    message = refused(capsys, "train", "--config", "run.toml", "--trust", "--out", "run")
    assert message.startswith("clusterproof: run.toml, line 4, [algorithm] name = ")


def test_the_client_that_goes_wrong_is_found_behind_what_catches_errors(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The round is carried out again with a task that stops it from inside."""
    code = """class Own(FedAvg):
    def step(self, state, task, randomness):
        try:
            return super().step(state, task, randomness)
        except Exception:
            everybody = torch.arange(task.clients)
            models = state.models * torch.nan
            return replace(state, models=models, clients=everybody, assignments=0 * everybody)
"""
    write(place, code)
    huge = ["--step-size", "1e38", "--local-steps", "3"]
    message = refused(capsys, "train", *SMALL, "--algorithm", "own.py:Own", *huge, "--out", "run")
    assert "--step-size = 1e+38: led in round 1" in message
    assert "the model of client 0" in message


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_of_ours_has_the_same_bits_as_ones_own(place: Path, name: str) -> None:
    kind = ALGORITHMS[name].__name__
    write(place, f"class Own(algorithms.{kind}):\n    pass")
    for label, run in ((name, "ours"), ("own.py:Own", "own")):
        train(configure({"name": label, "step_size": 0.1}, rounds=2), out=place / run)
    ours, own = (
        (place / run / "checkpoints" / "checkpoint-000002.safetensors").read_bytes()
        for run in ("ours", "own")
    )
    assert ours == own
