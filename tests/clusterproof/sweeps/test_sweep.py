"""Sweeps: what a file asks for, the one table, going on, failures, progress, and a cluster whose workers die."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import polars
import pytest
from command_line import ROOT, refused

from clusterproof.algorithms import ALGORITHMS, InvalidArgument
from clusterproof.commands.application import main
from clusterproof.sweeps import measures
from clusterproof.sweeps.plan import read_plan
from clusterproof.sweeps.result import sweep_frame
from clusterproof.tables.machine.engines import Work
from clusterproof.tables.machine.execution import Execution
from clusterproof.tables.machine.progress import Progress
from clusterproof.tables.machine.source import source_digest
from clusterproof.tables.machine.store import Outcome, Unit, UnitStore
from clusterproof.tables.machine.workers import compute_unit

FILE = """
measure = ["error", "purity"]
rounds = 4
every = 2
seeds = 2
settings = { clients = 8, dimension = 3 }
grid = { algorithm = ["ifca", "cfl-mgd"], momentum = [0.0, 0.5] }
random = { draws = 2, seed = 1, separation = { low = 1.0, high = 4.0, scale = "log" } }
"""


def write(folder: Path, text: str = FILE) -> Path:
    file = folder / "sweep.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_plan_has_each_run_once(tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path))
    # ifca has no momentum: of four combinations three are left, each with two draws and two seeds
    assert len(plan.units) == 3 * 2 * 2
    assert {unit.settings["options"].get("momentum") for unit in plan.units if unit.method == "ifca"} == {
        None
    }
    drawn = [
        {unit.settings["options"]["separation"] for unit in plan.units if unit.method == name}
        for name in ("ifca", "cfl-mgd")
    ]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 2
    assert all(1 <= value <= 4 for value in drawn[0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "missing required field `measure`"),
        ("measure = []", "must be names, none twice"),
        ('measure = ["eror"]', "the nearest are error"),
        ('measure = ["error"]\nround = 3', "unknown field `round`"),
        ('measure = ["error"]\nseeds = 0', "seeds = 0"),
        ('measure = ["error"]\nseeds = [1, 1]', "none twice"),
        ('measure = ["error"]\n[grid]\nmomentun = [1]', "the nearest are momentum"),
        ('measure = ["error"]\n[grid]\nmomentum = []', "give every list a value"),
        ('measure = ["error"]\n[grid]\nmomentum = ["much"]', "momentum = 'much': has another type"),
        ('measure = ["error"]\n[grid]\nstrength = [1.0]', "is not an option of any algorithm"),
        ('measure = ["error"]\n[grid]\nrho = [1.0]\n[settings]\nrho = 1', "rho"),
        ('measure = ["error"]\n[random]\nnoise = { low = 2, high = 1 }', "with low < high"),
        ('measure = ["error"]\n[random]\nnoise = { low = 0, high = 1, scale = "log" }', "with low < high"),
        ("measure = [", "must be a sweep's file"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, "sweep", str(write(tmp_path, text)), "--out", str(tmp_path / "out.parquet"))
    assert words in message
    assert not (tmp_path / "out.parquet").exists()


def serial(file: Path) -> polars.DataFrame:
    plan = read_plan(file)
    found = Execution({n: Outcome(measures.compute(unit), 0, 0) for n, unit in enumerate(plan.units)})
    return sweep_frame(plan, found)


def test_a_sweep_is_one_tidy_table_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out, parts = write(tmp_path), tmp_path / "out.parquet", tmp_path / "parts"
    command = ["sweep", str(file), "--out", str(out), "--parts", str(parts), "--jobs", "2"]
    assert main([*command, "--plot", str(tmp_path / "plot.svg")]) == 0
    assert "12 of 12 runs, 12 of them now, 0 failed" in capsys.readouterr().out
    assert (tmp_path / "plot.svg").read_text(encoding="utf-8").count("<svg") == 1
    frame = polars.read_parquet(out)
    assert frame.equals(serial(file))
    assert frame.columns == [
        "algorithm", "task", "clients", "dimension", "separation", "momentum", "seed", "round", "replicate",
        "error", "purity",
    ]  # fmt: skip
    assert frame["round"].unique().sort().to_list() == [0, 2, 4]
    assert frame.filter(polars.col("round") == 0)["purity"].null_count() == 12  # nobody has chosen yet
    first = out.read_bytes()
    sorted(parts.glob("*.json"))[0].unlink()
    sorted(parts.glob("*.json"))[1].write_bytes(b"{")  # half of a file, as a crash of the machine leaves it
    assert main(command) == 0
    assert "12 of 12 runs, 2 of them now" in capsys.readouterr().out
    assert out.read_bytes() == first


def test_a_failed_run_is_named_with_its_settings_and_costs_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'measure = ["error"]\nrounds = 2\nsettings = { clients = 6 }\ngrid = { models = [2, 7] }'
    command = ["sweep", str(write(tmp_path, text)), "--out", str(tmp_path / "out.parquet"), "--jobs", "1"]
    assert main([*command, "--parts", str(tmp_path / "parts")]) == 1
    output, errors = capsys.readouterr()
    assert "1 of 2 runs, 1 of them now, 1 failed" in output
    assert "failed: algorithm cfl-mgd, task regression, clients 6, models 7, seed 0, rounds 2: " in errors
    assert "must be at most the number of clients (6)" in errors
    assert polars.read_parquet(tmp_path / "out.parquet")["models"].to_list() == [2]


def test_the_digest_is_of_all_source_that_a_run_imports() -> None:
    """What a fresh process has loaded after runs of every algorithm and task, from the files that are digested."""
    code = (
        "import sys; from clusterproof.sweeps.measures import compute, MEASURES; "
        "from clusterproof.tables.machine.store import Unit\n"
        "common = dict(rounds=2, replicates=None, every=None, measure=list(MEASURES))\n"
        f"for name in {sorted(ALGORITHMS)!r}:\n"
        "    compute(Unit(name, 0, {**common, 'task': 'quadratic', 'options': {'clients': 6, 'dimension': 2}}))\n"
        "print(*(n for n in sys.modules if n.startswith('clusterproof.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    aside = (
        "clusterproof.commands",
        "clusterproof.sweeps",
        "clusterproof.tables",
        "clusterproof.tables.machine",
    )
    aside += ("clusterproof.tables.machine.store",)  # no part of what comes out
    unknown = [
        name
        for name in done.stdout.split()
        if name not in aside and not any(f"{name}.".startswith(f"{known}.") for known in measures.PACKAGES)
    ]
    assert unknown == []


def test_other_source_is_another_digest_and_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "some_source"
    package.mkdir()
    (package / "__init__.py").write_text("def compute(unit):\n    return {'value': 1}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    source_digest.cache_clear()
    before = source_digest(("some_source",))
    unit = Unit("any", 0)
    answer = compute_unit("some_source:compute", unit, (("some_source",), before))
    assert isinstance(answer, Outcome)
    (package / "added.py").write_text("x = 1\n", encoding="utf-8")
    source_digest.cache_clear()
    after = source_digest(("some_source",))
    assert after != before
    refused_unit = compute_unit("some_source:compute", unit, (("some_source",), before))
    assert f"the worker has another source ({after}, not {before})" in str(refused_unit)
    stores = [UnitStore.open(tmp_path / "units", {"source": digest}) for digest in (before, after)]
    stores[0].write(unit, answer)
    assert stores[1].read(unit) is None


def test_stored_parts_of_tables_keep_their_names() -> None:
    """A file of an earlier version of this package is still found."""
    store = UnitStore(Path(), {"table": "fpfc/table-1", "version": 3})
    unit = Unit("FPFC, lambda 0.6", 3, {"rounds": 5, "step": 0.1, "path": None})
    assert store.path_of(unit).name == "FPFC-lambda-0.6-seed-3-49b608cb7150daf4.json"


def test_progress_counts_and_estimates_and_speaks_now_and_then() -> None:
    now = [0.0]
    progress = Progress(12, 2, 20.0, lambda: now[0])
    assert progress.text == "2 of 12 done, 0 failed"
    spoken = []
    for number in range(10):
        now[0] += 4.0
        progress.add(2.0, failed=number == 4)
        if progress.due:
            spoken.append(progress.text)
    # at most one in ten seconds, and at a new tenth alone
    assert spoken[0] == "5 of 12 done, 0 failed, 28 s left"
    assert spoken[1] == "7 of 12 done, 1 failed, 16 s left"
    assert len(spoken) == 3
    assert progress.text == "11 of 12 done, 1 failed, 0 s left"


def test_more_than_one_place_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["sweep", str(write(tmp_path)), "--out", str(tmp_path / "o.parquet")]
    assert "cannot be combined with --jobs" in refused(capsys, *command, "--jobs", "2", "--dask", "tcp://x:1")
    assert "must be an integer, at least 1" in refused(capsys, *command, "--jobs", "0")


@pytest.mark.slow(reason="starts a Dask cluster and kills workers")
def test_on_a_cluster_whose_workers_are_killed_the_table_is_the_serial_one(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra `dask`")
    from benchmarks.sweeping import SWEEP, under_fire

    file = write(tmp_path, SWEEP.format(seeds=1))
    plan = read_plan(file)
    found, killed = under_fire(plan, tmp_path / "units", workers=2, kills=2)
    assert killed == 2
    assert found.failures == []
    assert sweep_frame(plan, found).equals(serial(file))


def test_a_result_that_dies_with_its_worker_is_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the news that a unit is finished and a look at it, its worker may die: Dask says that it is pending."""
    pytest.importorskip("distributed", reason="needs the extra `dask`")
    import distributed

    from clusterproof.tables.machine import dask_engine

    class Future:
        def __init__(self, number: int, *looks: str) -> None:
            self.key, self.looks, self.number = f"unit-{number}", list(looks), number

        @property
        def status(self) -> str:
            return self.looks[0]

        def result(self, timeout: float) -> Outcome:
            if self.status == "finished" and self.looks[1:]:
                raise TimeoutError
            assert self.status == "finished"
            return Outcome({"number": self.number}, 0.0, 0.0)

    class Completed(list[Future]):
        def __init__(self, futures: list[Future], loop: object) -> None:
            super().__init__(futures)

        def __iter__(self) -> Iterator[Future]:
            while self:
                yield self.pop(0)

        def add(self, future: Future) -> None:
            if future.looks[1:]:
                future.looks.pop(0)
            self.append(future)

    futures = iter(
        [
            Future(0, "pending", "finished"),
            Future(1, "lost", "pending", "finished", "never seen"),
            Future(2, "finished"),  # in place of the one before
            Future(3, "cancelled"),
        ]
    )
    client = SimpleNamespace(loop=None, submit=lambda *_, **__: next(futures))
    monkeypatch.setattr(distributed, "as_completed", Completed)
    work = Work("clusterproof.sweeps.measures:compute", ("clusterproof.sweeps.measures",))
    found = list(dask_engine.compute_on(client, work, [Unit("a", 0), Unit("a", 1)], "tcp://x:1"))
    assert [(unit.seed, answer.result["number"]) for unit, answer in found] == [(0, 0), (1, 2)]
    with pytest.raises(InvalidArgument, match="lost its scheduler"):
        list(dask_engine.compute_on(client, work, [Unit("a", 2)], "tcp://x:1"))


def test_a_scheduler_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed", reason="needs the extra `dask`")
    command = ["sweep", str(write(tmp_path)), "--out", str(tmp_path / "o.parquet")]
    command += ["--parts", str(tmp_path / "parts")]
    assert "must be the address of a Dask scheduler" in refused(capsys, *command, "--dask", "nothing://")


@pytest.mark.slow(reason="starts jobs")
@pytest.mark.skipif(os.name != "posix", reason="starts jobs by bash")
def test_slurm_jobs_by_a_queue_that_starts_them_here(tmp_path: Path) -> None:
    """In place of SLURM a script that runs what it is given: the jobs that are asked for are real ones."""
    pytest.importorskip("dask_jobqueue", reason="needs the extra `dask`")
    queue = tmp_path / "bin"
    queue.mkdir()
    for name, text in {
        # it keeps a copy, as SLURM does: the original is removed at once
        "sbatch": 'cp "$1" "$JOBS/job"\nsetsid bash "$JOBS/job" >"$JOBS/log" 2>&1 &\n'
        'echo $! >>"$JOBS/jobs"\necho "Submitted batch job $!"',
        "scancel": 'for job in "$@"; do kill -- "-$job"; done',
    }.items():
        script = queue / name
        script.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    file, out = write(tmp_path), tmp_path / "out.parquet"
    environment = {**os.environ, "PATH": f"{queue}{os.pathsep}{os.environ['PATH']}", "JOBS": str(tmp_path)}
    environment["DASK_JOBQUEUE__SLURM__INTERFACE"] = "lo"
    command = [sys.executable, "-m", "clusterproof", "sweep", str(file), "--out", str(out), "--slurm", "1"]
    done = subprocess.run(
        [*command, "--parts", str(tmp_path / "parts")],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "jobs").read_text(encoding="utf-8").split()) == 1
    assert polars.read_parquet(out).equals(serial(file))


def test_without_slurm_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dask_jobqueue", reason="needs the extra `dask`")
    monkeypatch.setenv("PATH", "")
    command = ["sweep", str(write(tmp_path)), "--out", str(tmp_path / "o.parquet")]
    assert "there is no `sbatch` here" in refused(
        capsys, *command, "--slurm", "3", "--parts", str(tmp_path / "parts")
    )


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from clusterproof.commands import engine

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InvalidArgument, match=r"needs Dask .* install the extra `dask`"):
        engine.choose("jobs", None, "tcp://127.0.0.1:1", None)
