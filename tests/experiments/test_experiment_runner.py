"""What is computed, in which order, and what is counted, stored and said; dying processes, Dask and SLURM."""

import os
import shlex
import signal
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import miniature_table
import pytest
from joblib.externals.loky import process_executor
from threadpoolctl import threadpool_info, threadpool_limits

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.validation import require
from clusterproof.experiments import runner
from clusterproof.experiments.progress import Progress
from clusterproof.experiments.runner import Answers, Dask, Function, Processes, Slurm, run_units
from clusterproof.experiments.store import Outcome, Unit, UnitStore

UNITS = [
    Unit(name, seed, {"rounds": 2}, cost=cost)
    for name, seed, cost in (("a", 0, 1.0), ("a", 1, 2.0), ("b", 0, 4.0), ("b", 1, 8.0))
]


@dataclass
class Made:
    """Returns made answers in the reverse order, and remembers what it was given."""

    answers: dict[str, Outcome | str]
    given: list[Unit] = field(default_factory=list)

    def compute(self, function: Function, units: Sequence[Unit]) -> Answers:
        self.given += units
        for unit in reversed(units):
            yield unit, self.answers[unit.name]


def square(unit: Unit) -> dict[str, object]:
    """A unit that may raise."""
    if unit.seed == 13:
        raise RuntimeError("no\nluck")
    return {"value": unit.seed**2, "threads": [library["num_threads"] for library in threadpool_info()]}


def test_what_is_stored_is_not_computed_again_and_everything_is_counted(tmp_path: Path) -> None:
    """Of four units two are stored; of the others one fails."""
    store = UnitStore.open(tmp_path, square)
    outcomes = [Outcome({"value": index}, 1.0, 2.0) for index in range(4)]
    for index in (0, 2):
        store.write(UNITS[index], outcomes[index])
    engine = Made({"a, seed 1": outcomes[1], "b, seed 1": "no luck"})
    texts: list[str] = []

    def watch(progress: Progress) -> None:
        assert progress.cost == 10.0  # 2 + 8 are to be computed
        texts.append(progress.text.partition(" failed")[0])

    units = [*UNITS[:3], replace(UNITS[3], folder="kept")]
    execution = run_units(square, units, store, engine, watch)
    assert [unit.name for unit in engine.given] == ["b, seed 1", "a, seed 1"], "the costliest first"
    assert execution.outcomes == {index: outcomes[index] for index in (0, 1, 2)}
    assert [(unit.name, line) for unit, line in execution.failures] == [("b, seed 1", "no luck")]
    assert (execution.computed, execution.unstored) == (2, [])
    assert texts == ["2 of 4 done, 0", "3 of 4 done, 0", "3 of 4 done, 1"]
    assert (store.read(UNITS[1]), store.read(UNITS[3])) == (outcomes[1], None)
    assert [unit.folder for unit in engine.given] == ["kept", f"{store.folder / store.key(UNITS[1])}.run"]
    again = run_units(square, UNITS[:3], store, Made({}), lambda progress: None)
    assert (again.computed, list(again.outcomes)) == (0, [0, 1, 2])


def test_what_cannot_be_stored_is_there_all_the_same(tmp_path: Path) -> None:
    store = UnitStore.open(tmp_path / "parts", square)
    store.folder.rmdir()
    store.folder.touch()
    engine = Made({"a, seed 0": Outcome({}, 1.0, 1.0)})
    execution = run_units(square, UNITS[:1], store, engine, lambda progress: None)
    assert list(execution.outcomes) == [0]
    assert [line.partition(":")[0] for line in execution.unstored] == ["a, seed 0"]


def test_a_worker_whose_libraries_are_loaded_is_held_to_one_thread_and_other_source_is_not_run() -> None:
    """Dask's workers have numpy before they see a unit: what the environment says then comes too late."""
    digest = runner.source_digest(square.__module__)
    with threadpool_limits(2):
        runner.limit_threads.cache_clear()
        answer = runner.compute_unit(square, Unit("a", 3), digest)
        assert isinstance(answer, Outcome)
        assert (answer.result["value"], set(answer.result["threads"])) == (9, {1})
    assert runner.compute_unit(square, Unit("a", 13), digest) == "RuntimeError: no luck"
    refused = runner.compute_unit(square, Unit("a", 3), "0123")
    assert refused == f"the worker has another source ({digest}, not 0123); install this version there"


class Unreadable:
    """Settings that can be sent and not be read."""

    def __reduce__(self) -> tuple[type[int], tuple[str]]:
        return int, ("no number",)


FUNCTION: Any = shlex.join
"""Never called; of a small module, whose digest takes no time."""


class AnswersAtOnce:
    """An executor that keeps what it was made with and given, and answers at once; two units end its process."""

    made: ClassVar[list["AnswersAtOnce"]] = []

    def __init__(self, workers: int, **options: Any) -> None:
        self.workers, self.options, self.given, self.ended = workers, options, [], []
        self.made.append(self)

    def submit(self, function: Any, *given: Any) -> Future[Outcome]:
        self.given.append((function, *given))
        future: Future[Outcome] = Future()
        faults = {13: "ended: {EXIT(9)}", 14: "unreadable"}
        if (seed := given[1].seed) in faults:
            future.set_exception(process_executor.BrokenProcessPool(faults[seed]))
        else:
            future.set_result(Outcome({"seed": seed}, 0, 0))
        return future

    def shutdown(self, **options: Any) -> None:
        self.ended.append(options)


def test_each_process_has_one_thread_and_its_gpu_and_a_dead_one_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three GPUs, of which two are used; whose process ended is named, and the next unit is begun on the same GPU."""
    monkeypatch.setattr(process_executor, "ProcessPoolExecutor", AnswersAtOnce)
    monkeypatch.setattr(AnswersAtOnce, "made", [])
    units = [Unit("a", seed) for seed in (0, 13, 2, 3, 14, 5)]
    answers = list(Processes(2, ("4", "GPU-a/b", "7")).compute(FUNCTION, units))
    assert sorted(unit.seed for unit, _ in answers) == [0, 2, 3, 5, 13, 14]
    found = {
        unit.seed: answer.result["seed"] if isinstance(answer, Outcome) else answer
        for unit, answer in answers
    }
    assert found.pop(13) == "its process ended (exit code EXIT(9)); out of memory?"
    assert found.pop(14) == "BrokenProcessPool: unreadable"
    assert found == {seed: seed for seed in (0, 2, 3, 5)}
    source = runner.source_digest(FUNCTION.__module__)
    sent = {(*given[:2], given[3]) for one in AnswersAtOnce.made for given in one.given}
    assert sent == {(runner.compute_unit, FUNCTION, source)}
    assert {one.workers for one in AnswersAtOnce.made} == {1}
    threads = dict.fromkeys((*runner.THREAD_VARIABLES, "NUMBA_NUM_THREADS"), "1")
    visible = [one.options["env"].pop("CUDA_VISIBLE_DEVICES") for one in AnswersAtOnce.made]
    assert all(one.options["env"] == threads for one in AnswersAtOnce.made)
    assert visible[:2] == ["4", "GPU-a/b"]
    last = [gpu for gpu, one in zip(visible, AnswersAtOnce.made, strict=True) if one.ended]
    assert set(visible) == {"4", "GPU-a/b"}
    assert len(set(last)) == len(last) < len(visible)
    assert all(one.ended in ([], [{"kill_workers": True}]) for one in AnswersAtOnce.made)
    faults = [one.given[-1][2].seed for one in AnswersAtOnce.made if not one.ended]
    assert sorted(faults) == [13, 14]


@pytest.mark.slow(reason="starts processes")
def test_a_unit_that_its_process_cannot_read_is_named_and_costs_no_other() -> None:
    units = [Unit("slow", seed, {"rounds": 2}) for seed in range(3)]
    units[1] = Unit("slow", 1, {"rounds": Unreadable()})
    answers = {unit.seed: answer for unit, answer in Processes(1).compute(miniature_table.compute, units)}
    assert str(answers.pop(1)).startswith("BrokenProcessPool: ")
    assert sorted(answers) == [0, 2]
    assert not any(isinstance(answer, str) for answer in answers.values())


@pytest.mark.slow(reason="kills processes")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_unit_whose_process_dies_is_named_and_costs_no_other(jobs: int) -> None:
    common = {"rounds": 2}
    units = [Unit("slow", seed, common) for seed in range(6)]
    units[1] = Unit("slow", 1, {**common, "fault": "slow,seed1"})
    units[2] = Unit("slow", 2, {**common, "fault": "slow,seed2", "dies": True})
    answers = {unit.seed: answer for unit, answer in Processes(jobs).compute(miniature_table.compute, units)}
    assert answers[1] == "RuntimeError: no luck"
    assert answers[2] == "its process ended (exit code EXIT(9)); out of memory?"
    for seed in (0, 3, 4, 5):
        outcome = answers[seed]
        assert isinstance(outcome, Outcome)
        assert set(outcome.result["threads"]) == {"1"}


# ------------------------------------------------------------------ GPUs


def visible(unit: Unit) -> dict[str, object]:
    """Which GPU a process sees; it waits until the other has begun."""
    folder = Path(unit.settings["folder"])
    (folder / unit.method).touch()
    while len(list(folder.iterdir())) < 2:
        time.sleep(0.005)
    return {"visible": os.environ.get("CUDA_VISIBLE_DEVICES")}


@pytest.mark.slow(reason="starts worker processes")
def test_processes_see_one_gpu_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    units = [Unit(name, 0, {"folder": str(tmp_path)}) for name in ("one", "two")]
    answers = [answer for _, answer in Processes(2, ("3", "GPU-a/b")).compute(visible, units)]
    assert {answer.result["visible"] for answer in answers if isinstance(answer, Outcome)} == {"3", "GPU-a/b"}


# ------------------------------------------------------------------ Dask and SLURM


@pytest.fixture
def scheduler() -> str:
    """A Dask cluster in this process."""
    distributed = pytest.importorskip("distributed", reason="needs the extra `dask`")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


def test_a_cluster_computes_more_units_than_it_holds_and_names_what_fails(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "IN_FLIGHT", 3)
    units = [Unit("a", seed) for seed in range(20)]
    answers = {unit.seed: answer for unit, answer in Dask(scheduler).compute(square, units)}
    assert answers.pop(13) == "RuntimeError: no luck"
    values = {seed: answer.result["value"] for seed, answer in answers.items() if isinstance(answer, Outcome)}
    assert values == {seed: seed**2 for seed in range(20) if seed != 13}


def test_a_lost_scheduler_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra `dask`")
    future = SimpleNamespace(key="k", status="cancelled")
    client = SimpleNamespace(loop=None, submit=lambda *_, **__: future)
    monkeypatch.setattr(distributed, "as_completed", lambda *_, **__: iter([(future, CancelledError())]))
    with pytest.raises(InvalidArgument, match="lost its scheduler"):
        list(runner._compute_on(client, square, [Unit("a", 2)], "tcp://x:1"))


def test_what_a_slurm_job_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script that would be submitted; nothing is."""
    dask = pytest.importorskip("dask", reason="needs the extra `dask`")
    interrupt = signal.getsignal(signal.SIGINT)
    jobqueue = require("slurm", 1, "dask_jobqueue")
    assert signal.getsignal(signal.SIGINT) is interrupt
    assert runner.slurm_settings() == {"cores": 1, "memory": "4GB", "processes": 1}
    with dask.config.set({"jobqueue.slurm.cores": 4, "jobqueue.slurm.queue": "long"}):
        assert runner.slurm_settings() == {"cores": 4, "memory": "4GB", "processes": 1}
        job = jobqueue.slurm.SLURMJob("tcp://10.0.0.1:8786", "w", **runner.slurm_settings())
        script = job.job_script()
    assert "#SBATCH -p long" in script
    assert "#SBATCH --cpus-per-task=4" in script
    assert "tcp://10.0.0.1:8786" in script
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InvalidArgument, match="no `sbatch` here"):
        next(Slurm(3).compute(square, UNITS))
