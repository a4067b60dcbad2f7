"""What running units costs beside the units, and whether a sweep survives the death of its workers.

Run ``python -m benchmarks.sweeping overhead`` (``--units 10000``), or ``kills`` (``--kills 20``): a Dask scheduler
with several worker processes of this machine, one of which is killed again and again, beside the same sweep done
serially in one process.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from clusterproof.sweeps import measures
from clusterproof.sweeps.plan import Plan, read_plan
from clusterproof.sweeps.result import sweep_frame
from clusterproof.tables.machine.dask_engine import DaskCluster
from clusterproof.tables.machine.engines import LocalProcesses, Work
from clusterproof.tables.machine.execution import Execution, run_units
from clusterproof.tables.machine.progress import Progress
from clusterproof.tables.machine.store import Outcome, Unit, UnitStore

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


def busy(unit: Unit) -> dict[str, float]:
    """Compute for about as long as the unit says."""
    return {"sum": turn(int(unit.settings["turns"]), unit.seed)}


def turn(turns: int, seed: int) -> float:
    """Do a piece of work a number of times."""
    values = np.random.default_rng(seed).standard_normal(1000)
    for _ in range(turns):
        values = np.tanh(values + 0.1)
    return float(values.sum())


def overhead(count: int, workers: int) -> bool:
    """Set the time of many short units against that of the same work in bare loops, before and after."""
    started = time.perf_counter()
    turn(20_000, 0)
    turns = round(20_000 * SECONDS / (time.perf_counter() - started))
    share = max(1, count // 10 // workers)
    bare = [bare_seconds(turns, share, workers)]
    units = [Unit("busy", seed, {"turns": turns}) for seed in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        store = UnitStore.open(Path(folder), {})
        started = time.perf_counter()
        found = run_units(
            Work("benchmarks.sweeping:busy", ("benchmarks.sweeping",)),
            units,
            store,
            LocalProcesses(workers),
            lambda _: None,
        )
        elapsed = time.perf_counter() - started
    bare.append(bare_seconds(turns, share, workers))
    assert len(found.outcomes) == count, found.failures[:3]
    each = [1000 * seconds / share for seconds in bare]
    ratio = elapsed * workers / count / (sum(bare) / 2 / share) - 1
    print(
        f"{count} units on {workers} processes: {elapsed:.1f} s, {1000 * elapsed * workers / count:.1f} ms a unit"
    )
    print(f"bare loops in as many processes: {each[0]:.1f} ms a unit before, {each[1]:.1f} ms after")
    passed = ratio < ALLOWED
    print(f"{'PASS' if passed else 'FAIL'}  overhead {ratio:.1%}, allowed {ALLOWED:.0%}")
    return passed


def bare_seconds(turns: int, count: int, workers: int) -> float:
    """Mean time of ``count`` pieces of work in each of several processes at once, without what they import."""
    code = (
        "import time; from benchmarks.sweeping import turn; turn(10, 0); started = time.perf_counter(); "
        f"[turn({turns}, seed) for seed in range({count})]; print(time.perf_counter() - started)"
    )
    command = [sys.executable, "-c", code]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(workers)]
    return float(np.mean([float(process.communicate()[0]) for process in running]))


def serially(plan: Plan) -> Execution:
    """Compute a plan in this process, one unit after the other."""
    found = Execution()
    for number, unit in enumerate(plan.units):
        found.outcomes[number] = Outcome(measures.compute(unit), 0.0, 0.0)
    return found


def under_fire(plan: Plan, folder: Path, workers: int, kills: int, pause: float) -> tuple[Execution, int]:
    """Compute a plan on a Dask cluster of this machine, and kill a worker every few moments.

    Returns
    -------
    tuple
        What came of it, and how many workers were killed while units were still to be done.
    """
    from distributed import LocalCluster

    done = threading.Event()
    killed: list[int] = []
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        hunter = threading.Thread(target=hunt, args=(cluster, kills, pause, done, killed))

        def watch(progress: Progress) -> None:
            if progress.done == progress.stored and not hunter.is_alive():
                hunter.start()

        store = UnitStore.open(folder, {"source": "under fire"})
        work = Work("clusterproof.sweeps.measures:compute", measures.PACKAGES)
        found = run_units(work, plan.units, store, DaskCluster(cluster.scheduler_address), watch)
        done.set()
        hunter.join()
    return found, len(killed)


def hunt(cluster: Any, kills: int, pause: float, done: threading.Event, killed: list[int]) -> None:
    """Kill the process of a worker, wait for its nanny to start another, and so on."""
    choose = random.Random(0)
    while len(killed) < kills and not done.wait(pause):
        alive = [nanny.pid for nanny in cluster.workers.values() if nanny.pid and nanny.pid not in killed]
        if alive:
            victim = choose.choice(alive)
            os.kill(victim, 9)
            killed.append(victim)


def kills(wanted: int, workers: int) -> bool:
    """Set a sweep under fire against the serial one, row for row."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sweep.toml"
        file.write_text(SWEEP.format(seeds=max(2, 2 * wanted)))
        plan = read_plan(file)
        started = time.perf_counter()
        found, count = under_fire(plan, Path(folder) / "units", workers, wanted, 1.5)
        elapsed = time.perf_counter() - started
        same = sweep_frame(plan, found).equals(sweep_frame(plan, serially(plan)))
    print(f"{len(plan.units)} units on {workers} workers, {count} of them killed meanwhile: {elapsed:.0f} s")
    print(f"{len(found.failures)} units failed; rows {'as' if same else 'NOT as'} in the serial sweep")
    passed = same and count >= wanted and not found.failures
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
