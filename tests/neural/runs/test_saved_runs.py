"""Folders of runs that version 0.2.0 wrote before its storage was rewritten are read, and resumed to the same run.

Keys that are gone were removed from them by hand, and a column and the engine renamed. They were made on another
machine: metrics are compared with a tolerance that follows from double precision.
"""

import shutil
from dataclasses import replace
from pathlib import Path

import polars
import pytest
from checkout import ROOT
from tolerance import assert_close

from clusterproof.neural.runs.storage.checkpoint import find_checkpoint
from clusterproof.neural.runs.storage.run_folder import stored_configuration
from clusterproof.neural.runs.training import train

# torch's own, when it derives forwards for the first time
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

SAVED = ROOT / "tests/saved_files/training_runs"


def metrics(folder: Path) -> polars.DataFrame:
    return polars.read_parquet(folder / "metrics.parquet").drop("seconds")


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
    assert stored.rounds == 6
    result = train(stored_configuration(folder), out=folder, resume=True)
    assert result.complete
    assert_same_metrics(metrics(folder), metrics(SAVED / algorithm / "finished"))


def test_a_finished_run_takes_more_rounds(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(SAVED / "cfl-mgd/finished", folder)
    configuration = stored_configuration(folder)
    assert train(configuration, out=folder, resume=True).complete
    longer = replace(configuration, training=replace(configuration.training, rounds=9, step_size_decay=0.9))
    assert train(longer, out=folder, resume=True).complete
    assert_same_metrics(metrics(folder).head(8), metrics(SAVED / "cfl-mgd/finished"))
    assert metrics(folder)["round"].to_list() == list(range(1, 10))
