"""Worker processes that end when the process that started them ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from clusterproof.common import limits

PARENT_DEATH_SIGNAL = 1
"""The option PR_SET_PDEATHSIG of Linux's prctl."""
Answer = TypeVar("Answer")


def in_processes(
    function: Callable[..., Answer], calls: Iterable[tuple[Any, ...]], jobs: int
) -> Iterator[Answer]:
    """Call a function in ``jobs`` processes, and yield each result when it is ready.

    Raises
    ------
    Exception
        Any error of the function, or ``concurrent.futures.process.BrokenProcessPool`` if a process was lost.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    context = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=end_with, initargs=(os.getpid(),)) as pool:
        futures = [pool.submit(function, *call) for call in calls]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:  # also after Ctrl-C, since calls in progress may take minutes
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            raise


def end_with(parent: int) -> None:
    """End this process when the process ``parent``, which started it, ends, or at once if it has already ended.

    The process also ends if an evaluation takes too long; see ``limits.ending_process``.
    """
    limits.ends_with_evaluation = True
    if (
        sys.platform == "linux"
    ):  # this works even while a call of compiled code keeps the thread below waiting
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
