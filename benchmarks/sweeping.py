"""Resilience of a sweep when its workers are killed.

Run ``python -m benchmarks.sweeping`` (``--kills 20``): a Dask scheduler with several worker processes of this machine,
one of which is killed repeatedly, compared with the same sweep in one process.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from clusterproof.experiments.progress import Progress
from clusterproof.experiments.runner import Dask, Execution, run_units
from clusterproof.experiments.store import Outcome, UnitStore
from clusterproof.experiments.sweeps.plan import Plan, read_plan
from clusterproof.experiments.sweeps.result import sweep_frame

SWEEP = """
measure = ["error", "purity"]
rounds = 150
every = 50
seeds = {seeds}
settings = {{ clients = 60, dimension = 20, samples = 200, data = "fresh" }}
grid = {{ algorithm = ["ifca", "cfl-mgd", "fpfc"], separation = [1.0, 2.0] }}
"""


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
    """Run the sweep of the command line."""
    parser = argparse.ArgumentParser(description="A sweep whose workers are killed")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=(os.cpu_count() or 1) + 1)
    given = parser.parse_args()
    return 0 if kills(given.kills, given.workers) else 1


if __name__ == "__main__":
    sys.exit(main())
