"""Overhead of running units, and resilience of a sweep when its workers are killed.

Run ``python -m benchmarks.sweeping overhead`` (``--units 10000``), or ``kills`` (``--kills 20``): a Dask scheduler
with several worker processes of this machine, one of which is killed repeatedly, compared with the same sweep in one
process.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from clusterproof.experiments.progress import Progress
from clusterproof.experiments.runner import Dask, Execution, Processes, run_units
from clusterproof.experiments.store import Outcome, Unit, UnitStore
from clusterproof.experiments.sweeps.plan import Plan, read_plan
from clusterproof.experiments.sweeps.result import sweep_frame

SECONDS = 0.05
ALLOWED = 0.15

SWEEP = """
measure = ["error", "purity"]
rounds = 150
every = 50
seeds = {seeds}
settings = {{ clients = 60, dimension = 20, samples = 200, data = "fresh" }}
grid = {{ algorithm = ["ifca", "cfl-mgd", "fpfc"], separation = [1.0, 2.0] }}
"""


def run_busy(unit: Unit) -> dict[str, float]:
    """Compute for about as long as the unit says."""
    return {"sum": turn(int(unit.settings["turns"]), unit.seed)}


def turn(turns: int, seed: int) -> float:
    """Do a piece of work a number of times."""
    values = np.random.default_rng(seed).standard_normal(1000)
    for _ in range(turns):
        values = np.tanh(values + 0.1)
    return float(values.sum())


def overhead(count: int, workers: int) -> bool:
    """Compare the time of many short units with that of the same work in bare loops, before and after.

    Processor time, of this process and of the workers together, is printed next to it: where other programs compute on
    the machine, it says more than the time that passed, on which the verdict rests.
    """
    started = time.process_time()
    turn(20_000, 0)
    turns = round(20_000 * SECONDS / (time.process_time() - started))
    share = max(1, count // 10 // workers)
    bare = [bare_seconds(turns, share, workers)]
    from benchmarks.sweeping import run_busy  # under its own name, not as __main__, for the workers

    units = [Unit("busy", seed, {"turns": turns}) for seed in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        store = UnitStore.open(Path(folder), run_busy)
        started, used = time.perf_counter(), processor_seconds()
        execution = run_units(run_busy, units, store, Processes(workers), lambda _: None)
        spent = [workers * (time.perf_counter() - started), processor_seconds() - used]
    bare.append(bare_seconds(turns, share, workers))
    assert len(execution.outcomes) == count, execution.failures[:3]
    print(f"{count} units on {workers} processes: {spent[0] / workers:.1f} s")
    ratios = []
    for kind, total, before, after in zip(("time", "processor time"), spent, *bare, strict=True):
        ratios.append(total / count / ((before + after) / 2) - 1)
        print(
            f"{kind} of a unit and a process: {1e3 * total / count:.1f} ms; in bare loops {1e3 * before:.1f} ms "
            f"before, {1e3 * after:.1f} ms after; overhead {ratios[-1]:.1%}"
        )
    passed = ratios[0] < ALLOWED
    print(f"{'PASS' if passed else 'FAIL'}  overhead {ratios[0]:.1%}, allowed {ALLOWED:.0%}")
    return passed


def processor_seconds() -> float:
    """Processor time of this process, and of those that it has started and that have ended."""
    usages = [resource.getrusage(kind) for kind in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def bare_seconds(turns: int, count: int, workers: int) -> tuple[float, float]:
    """Time and processor time of one of ``count`` pieces of work in each of several processes at once.

    What they import is left out.
    """
    code = (
        "import time; from benchmarks.sweeping import turn; turn(10, 0); "
        "started, used = time.perf_counter(), time.process_time(); "
        f"[turn({turns}, seed) for seed in range({count})]; "
        "print(time.perf_counter() - started, time.process_time() - used)"
    )
    command = [sys.executable, "-c", code]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(workers)]
    spent = [list(map(float, process.communicate()[0].split())) for process in running]
    passed, used = np.mean(spent, axis=0) / count
    return float(passed), float(used)


def serially(plan: Plan) -> Execution:
    """Compute a plan in this process, one unit after the other."""
    execution = Execution()
    for number, unit in enumerate(plan.units):
        execution.outcomes[number] = Outcome(plan.compute(unit), 0.0, 0.0)
    return execution


def under_fire(plan: Plan, folder: Path, workers: int, kills: int) -> tuple[Execution, int]:
    """Compute a plan on a Dask cluster of this machine, and kill a worker now and again.

    Kills are spread over the units, not over time, so that there are as many on a slow machine as on a fast one.

    Returns
    -------
    tuple
        What came of it, and how many workers were killed while they had a unit to compute.
    """
    from distributed import LocalCluster

    apart = max(1, len(plan.units) // (kills + 1))
    killed: list[int] = []
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:

        def watch(progress: Progress) -> None:
            ended = progress.done - progress.stored
            if len(killed) < kills and ended >= apart * (len(killed) + 1) and ended < len(plan.units):
                kill_busy_worker(cluster, killed)

        store = UnitStore.open(folder, plan.compute)
        execution = run_units(plan.compute, plan.units, store, Dask(cluster.scheduler_address), watch)
    return execution, len(killed)


def kill_busy_worker(cluster: Any, killed: list[int]) -> None:
    """Kill a worker's process that has a unit to compute, if there is one; its nanny starts another."""
    workers = list(cluster.scheduler.workers.items())  # the scheduler changes them meanwhile
    busy = {address for address, worker in workers if worker.processing}
    alive = [nanny for nanny in cluster.workers.values() if nanny.pid and nanny.pid not in killed]
    victims = [nanny.pid for nanny in alive if nanny.worker_address in busy]
    if victims:
        victim = random.Random(len(killed)).choice(victims)
        os.kill(victim, 9)
        killed.append(victim)


def kills(wanted: int, workers: int) -> bool:
    """Compare a sweep with killed workers with the serial one, row by row."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sweep.toml"
        file.write_text(SWEEP.format(seeds=max(2, wanted // 2)))
        plan = read_plan(file)
        started = time.perf_counter()
        execution, count = under_fire(plan, Path(folder) / "units", workers, wanted)
        elapsed = time.perf_counter() - started
        same = sweep_frame(plan, execution).equals(sweep_frame(plan, serially(plan)))
    print(
        f"{len(plan.units)} units on {workers} Dask workers, of which one with units under way was killed "
        f"{count} times: {elapsed:.0f} s"
    )
    print(f"{len(execution.failures)} units failed; rows {'as' if same else 'NOT as'} in the serial sweep")
    passed = same and count >= wanted and not execution.failures
    print("PASS" if passed else "FAIL")
    return passed


def main() -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description="Sweeps: overhead, and kills")
    parser.add_argument("what", choices=("overhead", "kills"))
    parser.add_argument("--units", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    chosen: dict[str, Callable[[], bool]] = {
        "overhead": lambda: overhead(given.units, given.workers),
        "kills": lambda: kills(given.kills, given.workers + 1),
    }
    return 0 if chosen[given.what]() else 1


if __name__ == "__main__":
    sys.exit(main())
