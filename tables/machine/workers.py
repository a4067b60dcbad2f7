"""Units of a table in worker processes, each on one thread; nothing is left running when they end."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from clusterproof.tables.machine.store import Outcome, Unit

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""What libraries of linear algebra read when they are loaded."""


def load(place: str) -> Any:
    """Give what ``"module:NAME"`` names."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def compute_units(
    place: str, units: Sequence[Unit], workers: int
) -> Iterator[tuple[Unit, Outcome | str | None]]:
    """Compute units in parallel, the costliest first.

    Parameters
    ----------
    place
        ``"module:NAME"`` of the table, whose ``compute`` every worker calls.
    units
        What to compute.
    workers
        Number of processes.

    Yields
    ------
    tuple
        A unit and None when it is begun; its outcome, or a line on what went wrong, when it is
        finished. One that fails does not stop the others.
    """
    waiting = deque(sorted(units, key=lambda unit: -unit.cost))
    running: dict[Connection, tuple[BaseProcess, Unit]] = {}
    idle: list[tuple[Connection, BaseProcess]] = []
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                unit = waiting.popleft()
                connection, process = idle.pop() if idle else _start_worker(place)
                connection.send(unit)
                running[connection] = process, unit
                yield unit, None
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                process, unit = running.pop(ready)
                try:
                    answer = ready.recv()
                    idle.append((ready, process))
                except (EOFError, OSError):
                    process.join()
                    answer = f"its process ended with status {process.exitcode}; out of memory?"
                yield unit, answer
    finally:
        for process in [process for process, _ in running.values()] + [process for _, process in idle]:
            process.terminate()
            process.join()


def _start_worker(place: str) -> tuple[Connection, BaseProcess]:
    """Start a process that computes the units it is sent."""
    # a fresh interpreter: threads of libraries do not survive a fork, and it loads them on one thread
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    with _one_thread():
        process = context.Process(target=_work, args=(place, theirs), daemon=True)
        process.start()
    theirs.close()
    return ours, process


@contextmanager
def _one_thread() -> Iterator[None]:
    """Set the environment that a worker inherits."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(place: str, connection: Connection) -> None:
    """Answer units until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    compute = load(place).compute
    with suppress(EOFError, OSError):
        while True:
            unit = connection.recv()
            started, used = time.perf_counter(), time.process_time()
            try:
                result = compute(unit)
                answer: Outcome | str = Outcome(
                    result, time.process_time() - used, time.perf_counter() - started
                )
            except Exception as error:  # told to the user with the unit's name
                answer = f"{type(error).__name__}: {' '.join(str(error).split())}"
            connection.send(answer)


def _end_with_parent() -> None:
    """A killed command leaves no worker behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
