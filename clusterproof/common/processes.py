"""Worker processes that end when the process that started them ends."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

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
    """End this process when the process ``parent``, which started it, ends, or at once if it has already ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
