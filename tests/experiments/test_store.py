"""Finished units on disk: what is read back, what is another unit, and what is damaged."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clusterproof.algorithms import InvalidArgument
from clusterproof.experiments import store as module
from clusterproof.experiments.store import Outcome, Unit, UnitStore, cache_folder

UNIT = Unit("FPFC, lambda 0.6", 3, {"rounds": 5, "step": 0.1, "path": None})
OUTCOME = Outcome({"score": [0.1, 1 / 3, None], "number": 7}, 1.25, 2.5)


def compute(unit: Unit) -> None:
    """Stands for what computes units."""


def other(unit: Unit) -> None:
    """Another function."""


def test_a_unit_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    store = UnitStore.open(tmp_path / "new" / "folder", compute)
    assert store.read(UNIT) is None
    store.write(UNIT, OUTCOME)
    # what it costs, where it keeps files and the order of its settings are no part of what it is
    turned = dict(reversed(UNIT.settings.items()))
    assert store.read(replace(UNIT, cost=9.0, folder="x", settings=turned)) == OUTCOME
    assert [path.name for path in tmp_path.rglob("*.json")] == [f"FPFC-lambda-0.6.3.{store.key(UNIT)}.json"]


@pytest.mark.parametrize(
    "unit",
    [
        replace(UNIT, seed=4),
        replace(UNIT, method="FPFC, lambda 0.7"),
        replace(UNIT, settings={**UNIT.settings, "rounds": 6}),
        replace(UNIT, settings={**UNIT.settings, "new": 0}),
    ],
)
def test_other_units_are_other_files(tmp_path: Path, unit: Unit) -> None:
    store = UnitStore.open(tmp_path, compute)
    store.write(UNIT, OUTCOME)
    assert store.read(unit) is None
    store.write(unit, Outcome({}, 0.0, 0.0))
    assert store.read(UNIT) == OUTCOME


def test_units_of_other_functions_and_other_source_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    UnitStore.open(tmp_path, compute).write(UNIT, OUTCOME)
    assert UnitStore.open(tmp_path, other).read(UNIT) is None
    monkeypatch.setattr(module, "source_digest", lambda name: "0" * 16)
    assert UnitStore.open(tmp_path, compute).read(UNIT) is None


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
def test_a_damaged_file_is_computed_again(tmp_path: Path, damage) -> None:
    store = UnitStore.open(tmp_path, compute)
    store.write(UNIT, OUTCOME)
    (path,) = tmp_path.glob("*.json")
    path.write_bytes(damage(path.read_bytes()))
    assert store.read(UNIT) is None
    store.write(UNIT, OUTCOME)
    assert store.read(UNIT) == OUTCOME


def test_the_disk_is_waited_for_if_a_unit_took_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    store = UnitStore.open(tmp_path, compute)
    for seconds, count in ((0.05, 0), (20.0, 1)):
        store.write(UNIT, replace(OUTCOME, seconds=seconds))
        assert len(synced) == count


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidArgument, match=r"out = .*file.*: must be a folder"):
        UnitStore.open(tmp_path / "file", compute)


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "clusterproof" / "units"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "clusterproof" / "units"
