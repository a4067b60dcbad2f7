"""Folders of runs that version 0.2.0 wrote before its storage was rewritten are read, and resumed to the same run.

They were made on another machine: metrics are compared with a tolerance that follows from double precision.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars
import pytest
from checkout import ROOT
from tolerance import assert_close

from clusterproof.experiments.diagnosis import Diagnostician
from clusterproof.neural.runs.storage.checkpoint import find_checkpoint
from clusterproof.neural.runs.storage.run_folder import stored_configuration
from clusterproof.neural.runs.training import train

# torch's own, when it derives forwards for the first time
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

SAVED = ROOT / "tests/saved_files/training_runs"


def metrics(folder: Path) -> polars.DataFrame:
    """Metrics by their present names."""
    frame = polars.read_parquet(folder / "metrics.parquet").drop("seconds")
    return frame.rename({"right": "correct_model"}, strict=False)


def assert_same_metrics(found: polars.DataFrame, expected: polars.DataFrame) -> None:
    assert found.schema == expected.schema
    for name in expected.columns:
        assert_close(found[name].cast(float).fill_null(-1), expected[name].cast(float).fill_null(-1))


@pytest.mark.parametrize("algorithm", ["cfl-mgd", "fpfc"])
def test_a_stopped_run_ends_as_the_run_that_was_not_stopped(algorithm: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(SAVED / algorithm / "stopped", folder)
    stored = find_checkpoint(folder / "checkpoints")
    assert stored is not None
    assert (stored.rounds, stored.remarks) == (6, ())
    result = train(stored_configuration(folder), out=folder, resume=True, observer=Diagnostician)
    assert result.complete
    assert_same_metrics(metrics(folder), metrics(SAVED / algorithm / "finished"))
    if algorithm == "cfl-mgd":
        assert_same_diagnosis(folder)


def assert_same_diagnosis(folder: Path) -> None:
    found, expected = (
        json.loads((path / "diagnosis.json").read_text()) for path in (folder, SAVED / "cfl-mgd/finished")
    )
    assert found["settings"]["algorithm"] == expected["settings"]["algorithm"]
    rows = {
        row["name"]: row for row in expected["hypotheses"]
    }  # more of them, whose samples moved the stream
    for row in found["hypotheses"]:
        assert [row[name] for name in ("statement", "answer", "scope")] == [
            rows[row["name"]][name] for name in ("statement", "answer", "scope")
        ]
    assert_close(found["start_distances"], expected["start_distances"])
    for observation, saved in zip(found["observations"], expected["observations"], strict=True):
        assert observation["round"] == saved["round"]
        for cluster, before in zip(observation["clusters"], saved["clusters"], strict=True):
            assert_close(cluster["curvature"]["value"], before["curvature"]["value"])
            assert_close(cluster["gaps"]["value"], before["gaps"]["value"])


def test_a_finished_run_takes_more_rounds(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(SAVED / "cfl-mgd/finished", folder)
    configuration = stored_configuration(folder)
    assert train(configuration, out=folder, resume=True, observer=Diagnostician).complete
    longer = replace(
        configuration, training=replace(configuration.training, rounds=9, step_size_decay=0.9, diagnose=False)
    )
    assert train(longer, out=folder, resume=True, observer=Diagnostician).complete
    assert_same_metrics(metrics(folder).head(8), metrics(SAVED / "cfl-mgd/finished"))
    assert metrics(folder)["round"].to_list() == list(range(1, 10))
