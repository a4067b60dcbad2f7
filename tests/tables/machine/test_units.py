"""Units of a table: what is stored and read back, and the processes that compute them."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clusterproof.algorithms import InvalidArgument
from clusterproof.tables.machine import workers
from clusterproof.tables.machine.engines import LocalProcesses, Work
from clusterproof.tables.machine.store import Outcome, Unit, UnitStore, cache_folder

WORK = Work("miniature_table:TABLE.compute", ("clusterproof.tables.machine",))
UNIT = Unit("FPFC, lambda 0.6", 3, {"rounds": 5, "step": 0.1, "path": None})
OUTCOME = Outcome({"score": [0.1, 1 / 3, None], "number": 7}, 1.25, 2.5)


def test_a_unit_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    store = UnitStore.of_table(tmp_path / "new" / "folder", "paper/table-1", 1)
    assert store.read(UNIT) is None
    store.write(UNIT, OUTCOME)
    assert store.read(UNIT) == OUTCOME
    assert [path.parent.name for path in tmp_path.rglob("*.json")] == ["paper-table-1"]
    # what it costs is no part of what it is
    assert store.read(Unit(UNIT.method, UNIT.seed, UNIT.settings, cost=9.0)) == OUTCOME


@pytest.mark.parametrize(
    "other",
    [
        Unit(UNIT.method, 4, UNIT.settings),
        Unit("FPFC, lambda 0.7", 3, UNIT.settings),
        Unit(UNIT.method, 3, {**UNIT.settings, "rounds": 6}),
        Unit(UNIT.method, 3, {**UNIT.settings, "new": 0}),
    ],
)
def test_other_units_are_other_files(tmp_path: Path, other: Unit) -> None:
    store = UnitStore.of_table(tmp_path, "paper/table-1", 1)
    store.write(UNIT, OUTCOME)
    assert store.read(other) is None
    store.write(other, Outcome({}, 0.0, 0.0))
    assert store.read(UNIT) == OUTCOME


def test_units_of_other_tables_and_versions_are_not_read(tmp_path: Path) -> None:
    UnitStore.of_table(tmp_path, "paper/table-1", 1).write(UNIT, OUTCOME)
    assert UnitStore.of_table(tmp_path, "paper/table-1", 2).read(UNIT) is None
    assert UnitStore.of_table(tmp_path, "paper/table-2", 1).read(UNIT) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: b"",
        lambda content: b"[]",
        lambda content: bytes(len(content)),  # a crash of the machine before the disk had it
        lambda content: content[:40] + bytes(len(content) - 40),
        lambda content: b"\xff\xfe",
        lambda content: content.replace(b'"seed": 3', b'"seed": 4'),
        lambda content: content.replace(b'"seconds"', b'"second"'),
        lambda content: content.replace(b"2.5", b'"soon"'),
    ],
)
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, damage) -> None:
    store = UnitStore.of_table(tmp_path, "paper/table-1", 1)
    store.write(UNIT, OUTCOME)
    (path,) = tmp_path.rglob("*.json")
    path.write_bytes(damage(path.read_bytes()))
    assert store.read(UNIT) is None
    store.write(UNIT, OUTCOME)
    assert store.read(UNIT) == OUTCOME


def test_the_disk_is_waited_for_where_a_unit_took_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    store = UnitStore.of_table(tmp_path, "paper/table-1", 1)
    store.write(UNIT, replace(OUTCOME, seconds=0.05))
    assert synced == []
    store.write(UNIT, replace(OUTCOME, seconds=20.0))
    assert len(synced) == 1
    assert store.read(UNIT) == replace(OUTCOME, seconds=20.0)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidArgument, match=r"out = .*file.*: must be a folder"):
        UnitStore.of_table(tmp_path / "file", "paper/table-1", 1)


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "clusterproof" / "tables"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "clusterproof" / "tables"


@pytest.mark.slow(reason="kills a process")
def test_workers_compute_the_costliest_first_on_one_thread_and_survive_each_other() -> None:
    common = {"rounds": 2}
    units = [
        Unit("slow", 0, common, cost=1.0),
        Unit("slow", 1, {**common, "fault": "slow,seed1"}, cost=2.0),
        Unit("slow", 2, {**common, "fault": "slow,seed2", "dies": True}, cost=3.0),
        Unit("slow", 3, common, cost=4.0),
    ]
    found = list(LocalProcesses(1).compute(WORK, units))
    # two are with the worker when one kills it: both are tried once more by themselves, after the others
    assert [unit.seed for unit, _ in found] == [3, 0, 2, 1]
    answers = {unit.seed: answer for unit, answer in found}
    assert answers[1] == "RuntimeError: no luck"
    assert "its process ended" in answers[2]
    assert "9" in answers[2]
    for seed in (0, 3):
        outcome = answers[seed]
        assert isinstance(outcome, Outcome)
        assert set(outcome.result["threads"]) == {"1"}
        json.dumps(outcome.result)


def test_a_worker_whose_libraries_are_loaded_is_held_to_one_thread() -> None:
    """Dask's workers have numpy before they see a unit: what the environment says then comes too late."""
    from threadpoolctl import threadpool_info, threadpool_limits

    with threadpool_limits(2):
        workers.ready.cache_clear()
        assert isinstance(
            workers.compute_unit(WORK.place, Unit("slow", 0, {"rounds": 2}), WORK.source), Outcome
        )
        assert {library["num_threads"] for library in threadpool_info()} == {1}
