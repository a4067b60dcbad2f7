"""Threads of a CPU that each compute a part of the clients, with one thread of the libraries.

Products of one client are too small to share out well, and the bits of a sum then hang on the number of
threads. A client that is computed by one thread has the same bits wherever that runs.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from functools import cache
from threading import Barrier
from typing import TypeVar

import torch
from threadpoolctl import ThreadpoolController

Part = TypeVar("Part")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Part], None], parts: Sequence[Part], threads: int) -> None:
    """Do work on each part in so many threads, and return when all have ended.

    Raises
    ------
    Exception
        What the first part that failed has raised, after the others have ended too.
    """
    crew = _crew(min(threads, len(parts)))
    tasks = [crew.submit(copy_context().run, work, part) for part in parts]
    wait(tasks)
    for task in tasks:
        task.result()


def in_turn(
    work: Callable[[Part], Result], parts: Sequence[Part], threads: int, ahead: int
) -> Iterator[Result]:
    """Do work on each part in so many threads, and give the results in the order of the parts.

    No thread waits for another as long as ``ahead`` parts at most are begun whose results nobody has taken.

    Raises
    ------
    Exception
        What the first part that failed has raised, after those that were begun have ended too.
    """
    crew = _crew(min(threads, len(parts)))
    begun: deque[Future[Result]] = deque()
    try:
        for part in parts:
            begun.append(crew.submit(copy_context().run, work, part))
            if len(begun) == ahead:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        wait(begun)


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Let torch compute with that many threads where it is called from the thread that asks for it."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def numpy_on_one_thread() -> AbstractContextManager[object]:
    """Let numpy's products use the thread that calls them, and no more."""
    limit: AbstractContextManager[object] = libraries().limit(limits=1, user_api="blas")
    return limit


@cache
def _crew(size: int) -> ThreadPoolExecutor:
    """Start threads in which torch computes with one thread; the number of threads here stays."""
    before = torch.get_num_threads()
    everybody = Barrier(size)

    def begin(_: int) -> None:
        torch.get_num_threads()  # a thread's first question takes the number of all: not after the next line
        torch.set_num_threads(1)
        everybody.wait()  # so that none takes the turn of another

    crew = ThreadPoolExecutor(size, thread_name_prefix="clients")
    list(crew.map(begin, range(size)))
    torch.set_num_threads(before)  # torch also notes the last number for threads yet to come
    return crew


if hasattr(os, "register_at_fork"):  # a forked process has the crew's queue, but not its threads
    os.register_at_fork(after_in_child=_crew.cache_clear)


@cache
def libraries() -> ThreadpoolController:
    """The libraries of linear algebra that are loaded; looking for them takes milliseconds."""
    import scipy.linalg  # noqa: F401 - whose library compiled loops use, and which would come too late otherwise

    return ThreadpoolController()
