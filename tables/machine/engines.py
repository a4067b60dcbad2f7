"""Engines that run units: processes of this machine, a Dask cluster, jobs of SLURM; one interface."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import psutil

from clusterproof.tables.machine.devices import seeds_together
from clusterproof.tables.machine.source import source_digest
from clusterproof.tables.machine.store import Outcome, Unit
from clusterproof.tables.machine.workers import THREAD_VARIABLES, compute_batch

Answers: TypeAlias = Iterator[tuple[Unit, "Outcome | str"]]
"""Each unit once, in the order in which they end, with its outcome or a line on what went wrong."""


@dataclass(frozen=True)
class Work:
    """What an engine is to run.

    Attributes
    ----------
    place
        ``"module:NAME"`` of the function that takes a unit.
    packages
        Dotted names of the packages that it runs; see ``source_digest``.
    together
        The same as ``place`` of the function that takes units of several seeds, for a GPU to compute in one batch;
        None where there is none.
    """

    place: str
    packages: tuple[str, ...]
    together: str | None = None

    @property
    def source(self) -> tuple[tuple[str, ...], str]:
        """The packages, and the digest of them here."""
        return self.packages, source_digest(self.packages)


class Engine(Protocol):
    """Where units are computed."""

    def compute(self, work: Work, units: Sequence[Unit]) -> Answers:
        """Compute units, the costliest first; one that fails does not stop the others."""


@dataclass(frozen=True)
class LocalProcesses:
    """Processes of this machine, each on one thread: joblib's. Nothing is left running when they end.

    Attributes
    ----------
    workers
        How many.
    gpus
        Each process sees one of them alone, no two the same; all see what is there where 0.
    """

    workers: int
    gpus: int = 0

    def compute(self, work: Work, units: Sequence[Unit]) -> Answers:
        """Compute units; one whose process dies is computed once more, in a process of its own."""
        suspects: deque[Unit] = deque()
        waiting = deque(self._batches(work, units))
        while waiting:
            yield from self._compute_until_one_dies(work, waiting, suspects)
        # a process died: any of those that were then under way may be why
        for unit in suspects:
            alone: deque[Unit] = deque()
            reasons: list[str] = []
            again: deque[tuple[Unit, ...]] = deque([(unit,)])
            yield from LocalProcesses(1, self.gpus)._compute_until_one_dies(work, again, alone, reasons)
            for unfinished in alone:
                yield unfinished, f"its process ended ({'; '.join(reasons)}); out of memory?"

    def _batches(self, work: Work, units: Sequence[Unit]) -> list[tuple[Unit, ...]]:
        """What is computed at a time: seeds together on a GPU, where the work can, else single units."""
        if not self.gpus or work.together is None:
            return [(unit,) for unit in costliest_first(units)]
        return seeds_together(costliest_first(units), self.gpus)

    def _compute_until_one_dies(
        self,
        work: Work,
        waiting: deque[tuple[Unit, ...]],
        suspects: deque[Unit],
        reasons: list[str] | None = None,
    ) -> Answers:
        """Compute until nothing waits or a process dies; units that were then under way become suspects."""
        from joblib.externals.loky import ProcessPoolExecutor

        taken = tempfile.mkdtemp(prefix="clusterproof-gpus-") if self.gpus else ""
        pool = ProcessPoolExecutor(
            min(self.workers, len(waiting)),
            initializer=_begin,
            initargs=(os.getpid(), taken, visible_gpus(self.gpus)),
            env=dict.fromkeys(THREAD_VARIABLES, "1"),
        )
        source = work.source
        running: dict[Future[list[Outcome | str]], tuple[Unit, ...]] = {}
        broken = False
        try:
            while running or (waiting and not broken):
                while waiting and not broken and len(running) < 2 * self.workers:
                    units = waiting.popleft()
                    try:
                        running[pool.submit(compute_batch, work.place, work.together, units, source)] = units
                    except RuntimeError:  # the pool broke since
                        waiting.appendleft(units)
                        broken = True
                done = wait(list(running), return_when=FIRST_COMPLETED).done
                for future in [one for one in running if one in done]:  # a set has no order
                    units = running.pop(future)
                    error = future.exception()
                    if error is None:
                        yield from zip(units, future.result(), strict=True)
                    else:
                        broken = True
                        suspects.extend(units)
                        if reasons is not None:
                            reasons.append(_exit_codes(error))
        finally:
            pool.shutdown(wait=True, kill_workers=True)
            if taken:
                shutil.rmtree(taken, ignore_errors=True)


def costliest_first(units: Sequence[Unit]) -> list[Unit]:
    """Order units so that no long one is left for the end."""
    return sorted(units, key=lambda unit: -unit.cost)


def _exit_codes(error: BaseException) -> str:
    """Say with which status processes died."""
    text = " ".join(str(error).split())
    _, _, codes = text.partition("exit codes of the workers are ")
    return f"exit code {codes.strip('{}')}" if codes else text or type(error).__name__


def visible_gpus(count: int) -> tuple[str, ...]:
    """Names of the first GPUs, as ``CUDA_VISIBLE_DEVICES`` has them here."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [str(number) for number in range(count)] if named is None else named.split(",")
    return tuple(name.strip() for name in names[:count])


def take_gpu(folder: str, names: Sequence[str]) -> str:
    """Take the first GPU that no other process has taken, by a file in a folder that they share."""
    for name in names:
        try:
            (Path(folder) / name.replace("/", "-")).touch(exist_ok=False)
        except FileExistsError:
            continue
        return name
    raise RuntimeError("there are more processes than GPUs")


def _begin(parent: int, folder: str, names: Sequence[str]) -> None:
    """Prepare a worker: a GPU of its own, Ctrl-C reaches the whole group, and the parent ends its workers."""
    if names:  # before torch asks which there are
        os.environ["CUDA_VISIBLE_DEVICES"] = take_gpu(folder, names)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """A killed command leaves no worker behind."""
    while psutil.pid_exists(parent) and os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
