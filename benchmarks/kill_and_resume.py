"""Training runs that are killed at random times and resumed, against runs that are left alone.

A process that has imported everything forks runs and kills each (SIGKILL) after a random part of the time that
it takes. After every kill the last checkpoint must be that of the undisturbed run, to the bit, and never a
damaged one; at its end a run that was killed many times must have all its files but for the seconds in them.
A kill has fallen inside a checkpoint's write if an unfinished file is left, or tensors without their record.

``python -m benchmarks.kill_and_resume --kills 200``
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.runs.assembly import assemble
from clusterproof.neural.runs.configuration import Configuration, configuration_from
from clusterproof.neural.runs.storage.checkpoint import find_checkpoint
from clusterproof.neural.runs.storage.run_folder import CHECKPOINTS, METRICS
from clusterproof.neural.runs.training import train

ALGORITHMS: dict[str, dict[str, Any]] = {
    "cfl-mgd": {"averaging": "model", "local_steps": 2, "participation": 0.5},
    "local": {"participation": 0.5},
    "fpfc": {"local_steps": 2, "strength": 5.0, "start": "own"},
    "gradient-loss": {"empty_cluster": "always"},
    "sofl": {"pretraining": 5},
}
ROUNDS = 12


@dataclass
class Count:
    """What became of the runs of an algorithm."""

    runs: int = 0
    kills: int = 0
    early: int = 0
    inside: int = 0
    same: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(
            *(own + more for own, more in zip(vars(self).values(), vars(other).values(), strict=True))
        )


def configure(name: str) -> Configuration:
    """A run of a second, with a checkpoint a round."""
    return configuration_from(
        {
            "partition": {"clusters": 4, "clients_per_cluster": 5},
            "network": {"hidden": [64]},
            "algorithm": {"name": name, **ALGORITHMS[name]},
            "training": {
                "rounds": ROUNDS,
                "batch_size": 10,
                "checkpoint_every": 1,
                "evaluate_every": 3,
                "step_size_decay": 0.95,
                "threads": 1,
                "device": "cpu",
            },
        }
    )


def start(work: Callable[[], object]) -> int:
    """Do something in a process of its own; give its id."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # of a forked child, which must not go on as the parent; its status tells
        traceback.print_exc()
    finally:
        os._exit(status)


def succeed(work: Callable[[], object]) -> None:
    """Do something in a process of its own, and require that it ends well."""
    _, status = os.waitpid(start(work), 0)
    if status:
        raise RuntimeError(f"a run that nobody killed ended with status {status}")


def sum_of_tensors(record: Path) -> str:
    """SHA-256 of a checkpoint's tensors, as its record has it."""
    return str(json.loads(record.read_text())["tensors_sha256"])


def run_alone(configuration: Configuration, folder: Path, sums: Path) -> None:
    """Carry out a run and keep the sum of the tensors of every round."""
    found: dict[int, str] = {}

    def keep(row: Any) -> None:
        found[row["round"]] = sum_of_tensors(folder / CHECKPOINTS / f"checkpoint-{row['round']:06d}.json")

    train(configuration, out=folder, progress=keep)
    sums.write_text(json.dumps(found))


def compare(folder: Path, alone: Path) -> None:
    """Require that two finished runs have the same files but for seconds and sums over them."""
    import polars

    names = [sorted(str(path.relative_to(one)) for path in one.rglob("*")) for one in (folder, alone)]
    if names[0] != names[1]:
        raise RuntimeError(f"{folder} has {names[0]}, and not {names[1]}")
    for name in names[0]:
        one, other = folder / name, alone / name
        if name.endswith(".json"):
            records = [json.loads(path.read_text()) for path in (one, other)]
            for record in records:
                del record["sha256"], record["metrics"]["seconds"]
            same = records[0] == records[1]
        elif name == METRICS:
            frames = [polars.read_parquet(path).drop("seconds") for path in (one, other)]
            same = frames[0].equals(frames[1])
        else:
            same = one.is_dir() or one.name.startswith(".") or one.read_bytes() == other.read_bytes()
        if not same:
            raise RuntimeError(f"{one} is not as in {other}")


def is_half_written(checkpoints: Path) -> bool:
    """Whether a write of a checkpoint was broken off."""
    records = {path.stem for path in checkpoints.glob("*.json")}
    tensors = {path.stem for path in checkpoints.glob("*.safetensors")}
    return bool(list(checkpoints.glob("*.partial"))) or not tensors <= records


def resume(configuration: Configuration, folder: Path) -> None:
    """Go on with a run, or begin it where nothing is there yet."""
    try:
        train(configuration, out=folder, resume=True)
    except InvalidArgument as error:
        if error.argument != "resume" or "must be the folder of a training run" not in error.rule:
            raise
        train(configuration, out=folder)


def run_and_kill(
    configuration: Configuration,
    folder: Path,
    sums: dict[str, str],
    seconds: float,
    chance: random.Random,
    limit: int,
) -> Count:
    """Kill a run again and again, at most ``limit`` times, until it comes to its end."""
    count = Count(runs=1)
    while True:
        child = start(lambda: resume(configuration, folder))
        if count.kills < limit:
            time.sleep(chance.uniform(0, seconds))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            if status:
                raise RuntimeError(f"a resumed run ended with status {status}")
            return count
        count.kills += 1
        count.inside += is_half_written(folder / CHECKPOINTS)
        stored = find_checkpoint(folder / CHECKPOINTS)
        if stored is None:
            count.early += 1
            count.same += 1
        elif not stored.remarks and (
            not stored.rounds or sums[str(stored.rounds)] == sum_of_tensors(stored.path)
        ):
            count.same += 1


def try_algorithm(name: str, kills: int, chance: random.Random) -> Count:
    """Kill runs of an algorithm a number of times."""
    configuration, count = configure(name), Count()
    assemble(configuration)  # imports and data, once for all processes
    with tempfile.TemporaryDirectory() as scratch:
        alone, sums = Path(scratch) / "alone", Path(scratch) / "sums.json"
        started = time.perf_counter()
        succeed(lambda: run_alone(configuration, alone, sums))
        seconds = time.perf_counter() - started
        known = json.loads(sums.read_text())
        while count.kills < kills:
            folder = Path(scratch) / str(count.runs)
            count += run_and_kill(configuration, folder, known, seconds, chance, kills - count.kills)
            succeed(partial(compare, folder, alone))
    return count


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    chance, total = random.Random(asked.seed), Count()
    print(
        f"{'algorithm':<14} {'runs':>5} {'kills':>6} {'inside a write':>15} {'too early':>10} {'same bits':>10}"
    )
    for index, name in enumerate(ALGORITHMS):
        count = try_algorithm(name, (asked.kills - total.kills) // (len(ALGORITHMS) - index), chance)
        print(
            f"{name:<14} {count.runs:>5} {count.kills:>6} {count.inside:>15} {count.early:>10} {count.same:>10}"
        )
        total += count
    good = total.same == total.kills == asked.kills
    print(
        f"{'PASS' if good else 'FAIL'}  {total.same} of {total.kills} kills left the checkpoint of the undisturbed "
        f"run, {total.inside} fell inside a write; {total.runs} runs ended with its files"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
