"""Units are computed once: in processes, after kills, and on a cluster whose workers die."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import counted_units
import pytest

from clusterproof.common import InvalidArgument
from clusterproof.experiments import units
from clusterproof.experiments.units import Unit, compute

ROOT = Path(__file__).parents[2]


def squares(log: Path, count: int = 6, **settings: Any) -> list[Unit]:
    return [
        Unit(f"square {number}", counted_units.square, {"number": number, "log": str(log), **settings})
        for number in range(count)
    ]


def computed(log: Path) -> Counter[int]:
    return Counter(map(int, log.read_text().split())) if log.exists() else Counter()


def test_results_have_the_units_order_and_a_finished_unit_is_not_computed_again(tmp_path: Path) -> None:
    log, folder = tmp_path / "log", tmp_path / "units"
    wanted = squares(log)
    seen: list[tuple[int, str]] = []
    results, failures = compute(wanted[:4], folder, watch=lambda *state: seen.append(state))
    assert (results, failures) == ([0, 1, 4, 9], [])
    assert [done for done, _ in seen] == [0, 1, 2, 3, 4]
    seen.clear()
    again = compute([*reversed(wanted), wanted[0]], folder, watch=lambda *state: seen.append(state))
    assert again == ([25, 16, 9, 4, 1, 0, 0], [])
    assert [done for done, _ in seen] == [4, 5, 6], "stored units are not handed to workers"
    assert computed(log) == Counter(range(6))


def test_a_worker_looks_before_it_computes(tmp_path: Path) -> None:
    """A worker of Dask may be given a unit that another one has finished before it was lost."""
    (unit,) = squares(tmp_path / "log", 1)
    path = tmp_path / "units" / unit.file
    assert units.store(path, unit) == units.store(path, unit) == (path, 0, "")
    assert computed(tmp_path / "log") == Counter({0: 1})


def test_a_damaged_file_is_computed_again_and_other_settings_are_another_unit(tmp_path: Path) -> None:
    log, folder = tmp_path / "log", tmp_path / "units"
    (unit,) = squares(log, 1)
    compute([unit], folder)
    (path,) = folder.glob("*.json")
    assert json.loads(path.read_text())["settings"] == unit.settings
    twice = path.read_bytes().replace(b"{", b'{"result": 7, ', 1)
    for damaged in (b"{", b"[]", b"{}", b"\xff", b"[" * 10**5, twice):
        path.write_bytes(damaged)
        assert compute([unit], folder) == ([0], [])
    assert computed(log)[0] == 7
    other = Unit(unit.name, unit.function, {**unit.settings, "seconds": 1e-9})
    assert other.file != unit.file
    assert Unit("another name", unit.function, dict(reversed(unit.settings.items()))).file == unit.file


def test_changed_source_makes_another_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (unit,) = squares(tmp_path / "log", 1)
    before = unit.file
    units.source_digest.cache_clear()
    changes = ("clustered.py", "quadratic.py", "client_data.py", "counted_units.py", "numpy", "torch")
    read, files, changed = Path.read_bytes, {before}, ""
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * (path.name == changed))
    version = units.metadata.version
    monkeypatch.setattr(units.metadata, "version", lambda name: version(name) + "#" * (name == changed))
    for changed in changes:  # noqa: B007 - read by both functions
        units.source_digest.cache_clear()
        files.add(unit.file)
    assert len(files) == 1 + len(changes)
    monkeypatch.undo()
    units.source_digest.cache_clear()
    assert unit.file == before
    # a worker with other source computes nothing
    path, result, fault = units.store(tmp_path / "square.0123456789abcdef.json", unit)
    assert result is None
    assert "another version of the source" in fault
    assert not path.exists()


def test_a_failure_costs_no_other_unit_and_is_tried_again(tmp_path: Path) -> None:
    log, folder = tmp_path / "log", tmp_path / "units"
    bad = [Unit("bad", counted_units.fails, {"number": 3}), Unit("end", counted_units.exits, {"number": 4})]
    seen: list[tuple[int, str]] = []
    for _ in range(2):
        wanted = [*bad, *squares(log, 2)]
        results, failures = compute(wanted, folder, watch=lambda *state: seen.append(state))
        assert seen[-1] == (2, "2 failed")
        assert results == [None, None, 0, 1]
        assert failures == ["bad: ValueError: no 3", "end: SystemExit: 4"]
    assert computed(log) == Counter(range(2))


def test_a_unit_goes_on_with_what_it_stored_and_leaves_only_its_result(tmp_path: Path) -> None:
    unit = Unit("parts", counted_units.in_two_parts, {}, resumes=True)
    results, failures = compute([unit], tmp_path / "units")
    assert (results, failures) == ([None], ["parts: RuntimeError: interrupted"])
    assert compute([unit], tmp_path / "units") == (["kept"], [])
    assert [path.name for path in (tmp_path / "units").iterdir()] == [unit.file]


def test_a_result_of_a_worker_without_this_folder_is_stored_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default in the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(units.sys, "platform", "linux")
    monkeypatch.setattr(units, "store", lambda path, unit: (path, 16, ""))
    (unit,) = squares(tmp_path / "log", 1)
    assert compute([unit]) == ([16], [])
    found = units.read(tmp_path / "clusterproof" / "units" / unit.file)
    assert found is not None
    assert found["result"] == 16


def test_a_file_that_is_no_folder_and_a_link_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgument, match="must be a folder that can be written"):
        compute([], tmp_path / "file")
    (unit,) = squares(tmp_path / "log", 1)
    folder = tmp_path / "units"
    folder.mkdir()
    (folder / unit.file).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidArgument, match="not a symbolic link"):
        compute([unit], folder)
    assert not (tmp_path / "elsewhere").exists()


COMMAND = """
import sys
sys.path[:0] = {paths}
from pathlib import Path
from test_units import squares
from clusterproof.experiments.units import compute
if __name__ == "__main__":
    print(compute(squares(Path({log!r}), 8, seconds=0.3), Path({folder!r}), jobs={jobs}))
"""


@pytest.mark.slow(reason="starts worker processes and kills the command")
def test_a_killed_command_that_is_started_again_computes_each_unit_once(tmp_path: Path) -> None:
    log, folder = tmp_path / "log", tmp_path / "units"
    paths = [str(ROOT), str(ROOT / "tests/helpers"), str(ROOT / "tests/experiments")]
    text = COMMAND.format(paths=paths, log=str(log), folder=str(folder), jobs=2)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", text]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        while len(list(folder.glob("*.json"))) < 3:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    finished = {json.loads(path.read_text())["settings"]["number"] for path in folder.glob("*.json")}
    time.sleep(1.5)  # its workers end with it
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert str([number**2 for number in range(8)]) in done.stdout, done.stderr
    assert len(list(folder.glob("*.json"))) == 8
    assert all(computed(log)[number] == 1 for number in finished)
    assert set(computed(log)) == set(range(8))


@pytest.mark.slow(reason="starts a Dask cluster and kills a worker")
def test_on_a_cluster_whose_worker_is_killed_every_unit_is_there_once(tmp_path: Path) -> None:
    distributed: Any = pytest.importorskip("distributed", reason="needs the extra `dask`")
    log, folder = tmp_path / "log", tmp_path / "units"
    killed: list[int] = []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:

        def watch(done: int, _: str) -> None:
            if done >= 2 and not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        wanted = squares(log, 8, seconds=0.2)
        results, failures = compute(wanted, folder, dask=cluster.scheduler_address, watch=watch)
    assert killed
    assert failures == []
    assert results == [number**2 for number in range(8)]
    assert sum(computed(log).values()) <= 9, "at most the killed worker's unit is computed again"


@pytest.mark.slow(reason="a second or more")
def test_a_scheduler_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="needs the extra `dask`")
    monkeypatch.setattr(units, "TIMEOUT", 0.2)
    for address in ("nothing://", "tcp://127.0.0.1:9"):
        with pytest.raises(InvalidArgument, match="must be the address of a Dask scheduler"):
            compute(squares(tmp_path / "log"), tmp_path / "units", dask=address)


def test_without_dask_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InvalidArgument, match=r"needs distributed .* [Ii]nstall the extra `dask`"):
        compute(squares(tmp_path / "log"), tmp_path / "units", dask="tcp://127.0.0.1:1")
