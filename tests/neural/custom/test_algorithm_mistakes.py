"""A mistake in a user's algorithm is refused in one line with the algorithm, the rule or the error, and the place."""

from pathlib import Path

import pytest
import torch
from command_line import refused
from small_training import SMALL, configure

from clusterproof.algorithms import ALGORITHMS, FedAvg
from clusterproof.commands.application import main
from clusterproof.neural.training import train

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
        clients = torch.arange(task.clients)
        return State(state.models, clients, 0 * clients)


@dataclass(frozen=True, kw_only=True)
class Loading(Good):
    def initialise(self, models, task) -> Loaded:
        return Loaded(models, None, None)


def read(dictionary):
    return dictionary["a\\nb"]


@dataclass(frozen=True, kw_only=True)
"""
"""Then comes a class that is wrong, in line 39."""

STEP = "class Own(Good):\n    def step(self, state, task, randomness):\n        "
AFTER = STEP + "clients = torch.arange(task.clients); return State("
MISTAKES: dict[str, tuple[str, list[str]]] = {
    "an error": (STEP + "return {}['a\\nb']", ["raised KeyError: 'a\\nb'", "own.py, line 41"]),
    "an error in a function": (STEP + "return read({})", ["raised KeyError", "own.py, line 35"]),
    "an exit": (STEP + "sys.exit(0)", ["raised SystemExit: 0", "own.py, line 41"]),
    "construction": (
        "class Own(Good):\n    def __post_init__(self):\n        raise ValueError('no\\ngood')",
        ["raised ValueError: no good", "own.py, line 41"],
    ),
    "an error at the start": (
        "class Own(Good):\n    def initialise(self, models, task) -> State:\n        return State(models)",
        ["raised TypeError", "own.py, line 41"],
    ),
    "drawn models of another type": (
        "class Own(Good):\n    def draw_models(self, *rest):\n        return super().draw_models(*rest).double()",
        ["from `draw_models`", "(1, 610) of type float32, not (1, 610) of type float64"],
    ),
    "no model for each client": (
        "class Own(Good):\n    target = 'clients'",
        ["models from `initialise` as a tensor (6, 610) of type float32, not (1, 610)"],
    ),
    "fewer parameters": (
        AFTER + "state.models[:, :3], clients, 0 * clients)",
        ["(1, 610) of type float32, not (1, 3) of type float32"],
    ),
    "numpy": (AFTER + "state.models.numpy(), clients, 0 * clients)", ["not ndarray"]),
    "another personal model": (
        "class Own(Good):\n    has_personal_step = True\n    def personalise(self, points, *rest):\n"
        "        return points[:, :3]",
        ["`personalise` as a tensor (6, 610) of type float32, not (6, 3)"],
    ),
    "no number": (
        AFTER + "state.models * torch.inf, clients, 0 * clients)",
        ["led in round 1 to numbers that are not finite.", "Correct it"],
    ),
    "a function": ("class Spare(Good):\n    pass\n\nOwn = read", ["or a frozen dataclass"]),
    "an abstract class": ("class Own(Algorithm[State]):\n    name = 'own'", ["and all methods of"]),
    "no class of states": (
        "class Own(Good):\n    def initialise(self, models, task) -> object:\n        return State(models, None, None)",
        ["must annotate `initialise`"],
    ),
    "an exit on import": ("class Own(Good):\n    pass\n\nsys.exit(0)", ["SystemExit: 0", "own.py, line 42"]),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(place: Path, code: str) -> str:
    (place / "own.py").write_text(BEGINNING.lstrip("\n") + code + "\n", encoding="utf-8")
    return f"{place / 'own.py'}:Own"


@pytest.mark.parametrize(("code", "parts"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_refused(
    place: Path, capsys: pytest.CaptureFixture[str], code: str, parts: list[str]
) -> None:
    name = write(place, code)
    options = ("--rounds", "2", "--device", "cpu", "--algorithm", "own.py:Own", "--out", "run")
    message = refused(capsys, "train", *SMALL, *options)  # on a GPU torch itself refuses some of them
    assert message.startswith(f"error: --algorithm is '{name}', but it ")
    for part in parts:
        assert part in message


NETWORKS_AND_DATA = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 10)
        self.calls = 0
    def forward(self, images):
        self.calls += 1
        if self.calls > 8:
            raise KeyError("later")
        return self.layer(images.flatten(1))
def network():
    return torch.nn.Linear("a", 3)
def data():
    return {}["b"]
"""


@pytest.mark.parametrize(
    ("option", "name", "parts"),
    [
        ("--network", "Net", ["KeyError: 'later'", "own.py, line 11"]),
        ("--network", "network", ["raised TypeError", "own.py, line 14"]),
        ("--data", "data", ["raised KeyError: 'b'", "own.py, line 16"]),
    ],
)
def test_errors_of_user_supplied_networks_and_data(
    place: Path, capsys: pytest.CaptureFixture[str], option: str, name: str, parts: list[str]
) -> None:
    (place / "own.py").write_text(NETWORKS_AND_DATA)
    small = [part for part in SMALL if part != "--hidden" and part != "8"]
    small = small if option == "--network" else ["--threads", "1"]
    message = refused(capsys, "train", *small, "--rounds", "9", option, f"own.py:{name}", "--out", "run")
    assert message.startswith(f"error: {option} is '{place / 'own.py'}:{name}', but it ")
    for part in parts:
        assert part in message


def test_lack_of_memory_is_no_mistake(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for error in ("MemoryError('too large')", "RuntimeError('cannot allocate memory')"):
        write(place, STEP + f"raise {error}")
        message = refused(capsys, "train", *SMALL, "--algorithm", "own.py:Own", "--out", f"run-{len(error)}")
        assert "out of memory" in message


def test_an_error_of_a_built_in_algorithm_is_a_defect(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("built in")

    monkeypatch.setattr(FedAvg, "step", broken)
    assert main(["train", *SMALL, "--algorithm", "fedavg", "--out", "run"]) == 1
    assert "a defect: KeyError" in capsys.readouterr().err


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_subclass_has_the_bits_of_its_built_in_algorithm(place: Path, name: str) -> None:
    write(place, f"class Own(algorithms.ALGORITHMS[{name!r}]):\n    pass")
    ours, own = (
        train(configure({"name": label, "step_size": 0.1}, rounds=2)).state.models
        for label in (name, "own.py:Own")
    )
    assert torch.equal(ours, own)
