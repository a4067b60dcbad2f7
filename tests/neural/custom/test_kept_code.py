"""A run keeps the user's files: it is moved and resumed, and changed code is refused by its name."""

import hashlib
import importlib
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.custom.kept_code import code_sums, user_files
from clusterproof.neural.custom.references import import_place
from clusterproof.neural.runs.configuration import Configuration, configuration_from
from clusterproof.neural.runs.resumption import compare_code
from clusterproof.neural.runs.storage.run_folder import stored_configuration
from clusterproof.neural.runs.training import TrainingResult, train

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
LAST = Path("checkpoints") / "checkpoint-000003.safetensors"


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


def resumed(folder: Path, rounds: int = 3) -> TrainingResult:
    stored = stored_configuration(folder, trust=True)
    return train(replace(stored, training=replace(stored.training, rounds=rounds)), out=folder, resume=True)


def test_the_files_that_are_imported_are_kept(configuration: Configuration) -> None:
    train(configuration, out="run", stop=lambda: True)
    kept = {path.relative_to("run/code").as_posix() for path in Path("run/code").rglob("*.py")}
    helpers = {f"kept_helper/{name}.py" for name in ("__init__", "base", "steps")}
    assert kept == {"mine.py", "kept_late.py", *helpers}
    assert 'name = "code/mine.py:Mine"' in Path("run/configuration.toml").read_text(encoding="utf-8")


def test_a_moved_run_is_resumed_without_the_original(configuration: Configuration, tmp_path: Path) -> None:
    train(configuration, out="whole")
    train(configuration, out="run", stop=lambda: True)
    shutil.move("run", tmp_path / "elsewhere" / "moved")
    Path("mine.py").unlink()
    result = resumed(tmp_path / "elsewhere" / "moved")
    assert (result.complete, result.remarks) == (True, ())
    with pytest.raises(InvalidArgument, match="--trust"):
        stored_configuration(tmp_path / "elsewhere" / "moved")
    assert (tmp_path / "elsewhere/moved" / LAST).read_bytes() == (Path("whole") / LAST).read_bytes()
    Path("elsewhere/moved/configuration.toml").unlink()  # the checkpoint has it, too
    with pytest.raises(InvalidArgument, match="--trust"):
        stored_configuration(tmp_path / "elsewhere" / "moved")
    assert resumed(tmp_path / "elsewhere" / "moved").complete


def test_the_original_may_change_and_is_named(configuration: Configuration, tmp_path: Path) -> None:
    train(configuration, out="run", stop=lambda: True)
    (tmp_path / "mine.py").write_text(MINE + "\n\nANOTHER = 1\n", encoding="utf-8")
    for _ in range(2):  # and again when the run has gone on
        (remark,) = resumed(Path("run")).remarks
        assert remark.startswith(f"{tmp_path / 'mine.py'} has changed since the run was begun")
    with pytest.raises(
        InvalidArgument,
        match=r"needs .*mine\.py as it was when.* run's copy, --algorithm run/code/mine\.py:Mine,",
    ):
        train(
            replace(configuration, training=replace(configuration.training, rounds=4)), out="run", resume=True
        )


@pytest.mark.parametrize("name", ["mine.py", "kept_helper/base.py"])
def test_a_changed_copy_is_refused(configuration: Configuration, tmp_path: Path, name: str) -> None:
    train(configuration, out="run", stop=lambda: True)
    with (tmp_path / "run" / "code" / name).open("a") as file:
        file.write("\n")
    with pytest.raises(InvalidArgument, match=f"needs .*run/code/{name} as it was when the run was begun"):
        resumed(Path("run"))


def test_two_files_of_one_name_are_refused(configuration: Configuration, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.py").write_text("x = 1\n", encoding="utf-8")
    names = {"data": "other/mine.py:x", "algorithm": "mine.py:Mine"}
    with pytest.raises(InvalidArgument, match="has the name of another file"):
        user_files(names)
    (tmp_path / "other" / "mine.py").write_text(MINE, encoding="utf-8")
    assert "code/mine.py" in user_files(names)


def test_only_modules_that_a_user_names_have_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept_alone.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("kept_alone")
    names = {"data": "kept_alone:x", "partition": "classes", "algorithm": "ifca", "network": "kept_alone:x"}
    assert code_sums(names) == {"network": hashlib.sha256(b"x = 1\n").hexdigest()}


def test_a_run_of_version_0_1_has_a_sum_of_its_file_by_section(
    configuration: Configuration, tmp_path: Path
) -> None:
    whole = hashlib.sha256(MINE.encode()).hexdigest()
    for key, digest in (("algorithm", whole), ("algorithm", "0" * 64), ("network", whole)):
        stored: Any = SimpleNamespace(
            settings={"code": {key: digest}}, path=tmp_path / "run" / "checkpoints" / "x.json"
        )
        if (key, digest) == ("algorithm", whole):
            assert compare_code(configuration, stored) == []
            continue
        with pytest.raises(InvalidArgument, match=f"SHA-256 {digest[:16]}") as refusal:
            compare_code(configuration, stored)
        assert refusal.value.argument == f"{key}.name"


def test_modules_are_looked_for_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With their neighbours, as a script is that stands there."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "kept_beside.py").write_text("VALUE = 7\n", encoding="utf-8")
    (tmp_path / "kept_here.py").write_text("from kept_beside import VALUE\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert import_place("kept_here").VALUE == 7
