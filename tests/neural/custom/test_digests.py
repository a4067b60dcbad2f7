"""A run with user-supplied code is resumed with the same code, wherever it is; changed code is refused by its name."""

import hashlib
import importlib
import shutil
import sys
from pathlib import Path

import pytest
import torch

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.checkpoint import stored_configuration
from clusterproof.neural.configuration import Configuration, configuration_from
from clusterproof.neural.custom.digests import code_sums
from clusterproof.neural.custom.references import import_place
from clusterproof.neural.training import TrainingResult, train

MINE = """
from dataclasses import dataclass

from clusterproof.algorithms import FedAvg

from kept_helper.steps import factor


@dataclass(frozen=True, kw_only=True)
class Mine(FedAvg):
    name = "mine"

    def step(self, state, task, randomness):
        from kept_late import unchanged

        return unchanged(super().step(state, task, randomness))
"""


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    (tmp_path / "kept_helper").mkdir()
    (tmp_path / "kept_helper" / "__init__.py").write_text("from .base import ONE\n", encoding="utf-8")
    (tmp_path / "kept_helper" / "base.py").write_text("ONE = 1\n", encoding="utf-8")
    (tmp_path / "kept_helper" / "steps.py").write_text("from . import ONE as factor\n", encoding="utf-8")
    (tmp_path / "kept_late.py").write_text("def unchanged(state):\n    return state\n", encoding="utf-8")
    (tmp_path / "not_imported.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return configuration_from(
        {
            "partition": {"clusters": 2, "clients_per_cluster": 2, "images": 120},
            "network": {"hidden": [4]},
            "algorithm": {"name": "mine.py:Mine"},
            "training": {"rounds": 3, "checkpoint_every": 1, "threads": 1},
        }
    )


def resumed(folder: Path, name: str = "mine.py:Mine") -> TrainingResult:
    return train(stored_configuration(folder, code={"algorithm": name}), out=folder, resume=True)


def test_a_moved_run_is_resumed_with_the_code_that_is_named_again(
    configuration: Configuration, tmp_path: Path
) -> None:
    whole = train(configuration, out="whole").state.models
    train(configuration, out="run", stop=lambda: True)
    assert {path.name for path in Path("run").iterdir()} == {path.name for path in Path("whole").iterdir()}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("run", "mine.py", "kept_helper", "kept_late.py"):
        shutil.move(name, elsewhere / name)
    with pytest.raises(InvalidArgument, match=r"is code, .* then add --algorithm"):
        stored_configuration(elsewhere / "run")
    result = resumed(elsewhere / "run", "elsewhere/mine.py:Mine")
    assert (result.complete, result.remarks) == (True, ())
    assert torch.equal(result.state.models, whole)


@pytest.mark.parametrize("name", ["mine.py", "kept_late.py", "kept_helper/base.py"])
def test_changed_code_is_refused(configuration: Configuration, tmp_path: Path, name: str) -> None:
    train(configuration, out="run", stop=lambda: True)
    with (tmp_path / name).open("a") as file:
        file.write("\n")
    with pytest.raises(InvalidArgument, match=f"is another code, in {name}") as refusal:
        resumed(Path("run"))
    assert refusal.value.argument == "algorithm.name"


def test_the_files_that_are_imported_have_sums(configuration: Configuration, tmp_path: Path) -> None:
    names = {"data": "digits", "network": "mlp", "algorithm": "mine.py:Mine"}
    helpers = [f"kept_helper/{name}.py" for name in ("__init__", "base", "steps")]
    assert code_sums(names) == {
        f"algorithm {name}": hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        for name in ("mine.py", "kept_late.py", *helpers)
    }


def test_only_modules_that_a_user_names_have_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept_alone.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("kept_alone")
    names = {"data": "kept_alone:x", "partition": "classes", "algorithm": "ifca", "network": "kept_alone:x"}
    assert code_sums(names) == {"network": hashlib.sha256(b"x = 1\n").hexdigest()}


def test_modules_are_looked_for_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With their neighbours, as a script is that stands there."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "kept_beside.py").write_text("VALUE = 7\n", encoding="utf-8")
    (tmp_path / "kept_here.py").write_text("from kept_beside import VALUE\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert import_place("kept_here").VALUE == 7
