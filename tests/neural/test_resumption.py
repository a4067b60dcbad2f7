"""A resumed run is compared with all that a run depends on, a user's code too, and nothing of that may change."""

import hashlib
import importlib
import json
import platform
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_training import TINY

from clusterproof.common import InvalidArgument
from clusterproof.neural.checkpoint import Stored, digest
from clusterproof.neural.configuration import Training, configuration_from
from clusterproof.neural.custom.references import code_sums
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.resumption import kept_choices, record_of
from clusterproof.neural.training import assemble, train

CHOICES = {"device": "cuda", "engine": "vmap", "threads": 3, "test_assignment": "test-loss"}
FREE = {"rounds": 9, "checkpoint_every": 7, "device": "cpu"}
"""Of a resumed run, the rounds may be increased, and the checkpoint interval and the device changed: see ``train``."""
CHANGED = json.loads("""{
    "training": {"seed": 1, "batch_size": 5, "local_unit": "epoch", "step_size_decay": 0.5, "evaluate_every": 2,
                 "test_assignment": "test-loss", "after_local_training": true, "client_metrics": true,
                 "dtype": "float64", "engine": "serial", "threads": 2, "precision": "bf16"},
    "data": {"data_dir": "elsewhere", "crop": 5, "flip": true, "brightness": 0.5, "contrast": 0.5,
             "standardise": true, "augmentation_per": "batch"},
    "partition": {"clusters": 4, "clients_per_cluster": 3, "images": 119, "share": "full"},
    "network": {"hidden": [5]},
    "algorithm": {"step_size": 0.5, "momentum": 0.5, "local_steps": 3, "clusters": 3}}""")
GIVEN = configuration_from(TINY | {"algorithm": {"name": "cfl-mgd", "averaging": "model"}}).sections
BEGUN = Stored(Path("run"), {"configuration": GIVEN, "rounds": 2, "choices": CHOICES}, {})


def resumed_with(section: str, key: str, value: Any) -> tuple[dict[str, Any], list[str]]:
    return kept_choices(configuration_from(GIVEN | {section: GIVEN[section] | {key: value}}), BEGUN)


def test_every_setting_but_three_is_kept() -> None:
    assert {*CHANGED["training"], *FREE} == {entry.name for entry in fields(Training)}
    assert {*CHANGED["data"]} == {"data_dir"} | {entry.name for entry in fields(Preprocessing)}
    for section, key, value in ((name, *pair) for name, table in CHANGED.items() for pair in table.items()):
        with pytest.raises(InvalidArgument, match="when the run started") as refusal:
            resumed_with(section, key, value)
        assert refusal.value.argument == f"{section}.{key}"
    for key, value in FREE.items():
        resumed_with("training", key, value)


def other(array: np.ndarray) -> np.ndarray:
    """The same array but for its last number, which is one of the others."""
    changed = array.copy()
    changed.flat[-1] = changed.flat[np.flatnonzero(array.ravel() != array.flat[-1])[0]]
    return changed


@pytest.mark.parametrize("half", ["train", "test"])
def test_the_record_is_of_every_sample_and_version(half: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(platform, "python_version", lambda: "3.0.1")
    monkeypatch.setattr(np, "__version__", "9.1")
    monkeypatch.setattr(torch, "__version__", "9.2")
    configuration = configuration_from(TINY)
    begun = assemble(configuration)
    clients = replace(getattr(begun.task.partition, half), sizes=np.array([5, 6, 7, 8]))

    def record(clients: Any) -> dict[str, Any]:
        return record_of(configuration, replace(begun.task.partition, **{half: clients}), {})

    kept = record(clients)
    assert kept["versions"] == {"python": "3.0.1", "numpy": "9.1", "torch": "9.2"}
    for name in ("pixels", "indices", "targets", "sizes", "labels"):
        changed = record(replace(clients, **{name: other(getattr(clients, name))}))
        assert [key for key, value in changed.items() if value != kept[key]] == ["samples"], name


def test_a_checksum_is_of_names_types_shapes_and_numbers() -> None:
    zeros = np.zeros((2, 3))
    names = ({"a": zeros}, {"b": zeros}, {"a": zeros[:1], "b": zeros[1:]}, {})
    arrays = ({"a": zeros.T}, {"a": zeros.astype(np.int64)}, {"a": np.eye(2, 3)}, {"a": other(np.eye(2, 3))})
    assert len({digest(each) for each in names + arrays}) == 8


def test_a_folder_of_something_else_is_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ann")
    with pytest.raises(InvalidArgument, match=r"must be empty\. Choose another name"):
        train(configuration_from(TINY), tmp_path, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_code_that_a_user_names_has_a_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept_alone.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("kept_alone")
    names = {
        "data": "kept_alone:x",
        "algorithm": f"{tmp_path / 'kept_alone.py'}:x",
        "network": "kept_alone:x",
    }
    whole = {"kept_alone.py": hashlib.sha256(b"x = 1\n").hexdigest()}
    assert code_sums(names) == {"data": whole, "network": whole, "algorithm": whole}
    assert code_sums({"data": "digits", "algorithm": "ifca", "network": "mlp"}) == {}
