"""Limits on the memory, the time and the executed lines of Python of a computation."""

from __future__ import annotations

import fractions
import importlib
import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar


def total_memory() -> int:
    """Return this machine's memory in bytes, or ``sys.maxsize`` if the system does not report it, as on Windows."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return sys.maxsize


def free_memory() -> int:
    """Return the memory in bytes that is free or can be freed immediately.

    On systems other than Linux, return the total memory.
    """
    with suppress(OSError):
        if found := re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii")):
            return int(found[1]) * 1024
    return total_memory()


@contextmanager
def limited_memory(most: int) -> Iterator[None]:
    """Raise ``MemoryError`` in the block if this process requests more than ``most`` additional bytes.

    The limit has no effect outside Linux: other systems have no such limit, or ignore it.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    data = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    limit = data * resource.getpagesize() + most
    before = resource.getrlimit(resource.RLIMIT_DATA)
    if all(each == resource.RLIM_INFINITY or each > limit for each in before):
        resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


UNRAISABLE = ("__del__", "gc_callback")
"""Names of functions whose exceptions the interpreter discards; it also discards exceptions in callbacks of weak
references."""

AGAIN = 0.01
"""Seconds after which the time limit is checked again if it expired while one of these functions was running."""

LOST = 1.0
"""Seconds after which the exception is raised again, because a callback may have discarded it."""


class TimeLimitExceeded(BaseException):
    """Raised if a computation takes too long.

    It is not an ``Exception``, so that a claim does not catch it by mistake.
    """


def is_lost_in(frame: FrameType | None) -> bool:
    """Return whether the interpreter would discard an exception that is raised in this frame."""
    while frame is not None:
        if (
            frame.f_globals.get("__name__") in ("weakref", "_weakrefset")
            or frame.f_code.co_name in UNRAISABLE
        ):
            return True
        frame = frame.f_back
    return False


@contextmanager
def time_limit(seconds: float, *, waiting: bool = False) -> Iterator[None]:
    """Raise ``TimeLimitExceeded`` in the block after ``seconds`` of processor time, or of real time if ``waiting``.

    The limit has no effect outside the main thread and on Windows, where Python has no such timer.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_number: int, frame: FrameType | None) -> None:
        if is_lost_in(frame):
            return
        signal.setitimer(timer, LOST)
        raise TimeLimitExceeded

    timer = signal.ITIMER_REAL if waiting else signal.ITIMER_VIRTUAL
    alarm = signal.SIGALRM if waiting else signal.SIGVTALRM
    before = signal.signal(alarm, stop)
    remaining, _ = signal.setitimer(timer, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(timer, remaining)
        signal.signal(alarm, before)


LAST = 600
"""Seconds of processor time after which an evaluation ends a process that another process has started for it."""
ends_with_evaluation = False
"""Whether an evaluation that takes more than ``LAST`` seconds ends this process."""


@contextmanager
def ending_process() -> Iterator[None]:
    """End this process if it may end, and the block takes more than ``LAST`` seconds of processor time.

    Nothing else interrupts a call of compiled code, or code that catches every exception. Windows has no such limit.
    """
    if not ends_with_evaluation or sys.platform == "win32":
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_CPU)
    limit = math.ceil(time.process_time()) + LAST
    if all(each == resource.RLIM_INFINITY or each > limit for each in before):
        resource.setrlimit(resource.RLIMIT_CPU, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before)


Result = TypeVar("Result")

SAFETY = 20.0
"""Seconds of processor time after which a call is stopped even if it executes no lines of Python."""
MOST_OF_ONE, MOST = 100_000_000, 2_000_000_000
"""Largest numbers of executed lines of Python for one instance (a few seconds) and for one search (about a minute)."""
SPENT, SPENT_ON_ONE = (
    "the search takes more than 2 * 10^9 lines of Python",
    "its evaluation takes more than 10^8 lines of Python",
)
"""Messages if a search, or the evaluation of an instance, exceeds its largest number of lines."""
QUICK = 1.0
"""Seconds of processor time after which an evaluation is restarted, now with its lines counted. No computer executes
``MOST_OF_ONE`` lines in this time. So the speed of the computer does not affect which evaluations are stopped.
"""
EVERY, OFTEN, LONG = 64, 16, 10_000_000
"""The lines of one in ``EVERY`` evaluations are counted; after an evaluation of more than ``LONG`` lines, one in
``OFTEN``.
"""


class TooMuchWork(BaseException):
    """Raised if a computation executes too many lines of Python.

    This class is not an ``Exception``, so a claim's own handlers do not catch it.
    """


@dataclass
class Work:
    """Number of lines of Python that a search has executed.

    An evaluation takes several times as long if its lines are counted. Therefore lines are counted only in some
    evaluations, at irregular intervals. Every other evaluation is assumed to execute as many lines as the last counted
    evaluation. The total is the same on every computer, whether it is busy or not.

    Attributes
    ----------
    spent
        Total number of lines of all evaluations.
    evaluations
        Number of evaluations.
    chosen
        Index of the next evaluation whose lines are counted.
    last, since
        Number of lines of the last counted evaluation, and number of evaluations since then.
    """

    spent: int = 0
    evaluations: int = 0
    chosen: int = 1
    last: int = 0
    since: int = 0

    @property
    def is_spent(self) -> bool:
        """Whether the search has executed its largest number of lines."""
        return self.spent > MOST

    def done(self, evaluate: Callable[[], Result]) -> Result:
        """Call an evaluation, and add the number of its lines.

        Raises
        ------
        TooMuchWork
            If the evaluation executes more than ``MOST_OF_ONE`` lines.
        """
        with ending_process():
            return self._done(evaluate)

    def _done(self, evaluate: Callable[[], Result]) -> Result:
        self.evaluations += 1
        is_chosen = self.evaluations == self.chosen
        if not is_chosen:
            self.spent += self.last
            self.since += 1
            try:
                with time_limit(QUICK):
                    return evaluate()
            except TimeLimitExceeded:
                pass
        left = [MOST_OF_ONE]
        try:
            with limited_lines(MOST_OF_ONE, math.inf) as left:
                return evaluate()
        except TooMuchWork:
            self.spent += MOST_OF_ONE * (not is_chosen)
            raise
        finally:
            if is_chosen:
                used = MOST_OF_ONE - left[0]
                self.spent += used + self.since * (used - self.last) // 2
                self.last, self.since = used, 0
                every = OFTEN if used > LONG else EVERY
                distance = 1 + 37 * self.evaluations % (2 * every - 1)
                self.chosen = self.evaluations + min(distance, self.evaluations)


IMPORTS = (importlib._bootstrap._find_and_load.__code__,)  # type: ignore[attr-defined]  # where each import begins
"""Code of the import system. A module is imported only once, so the lines of imports are not counted or interrupted."""


@contextmanager
def limited_lines(most: int, safety: float = SAFETY) -> Iterator[list[int]]:
    """Raise ``TooMuchWork`` in the block after the functions that it calls have executed ``most`` lines.

    An operation on fractions counts as several lines, in proportion to the time for the greatest common divisor. A call
    that executes no lines is stopped after ``safety`` seconds of processor time. If the block is inside another block
    with a limit, its lines also count for the outer limit, which may be reached first.

    Yields
    ------
    list of int
        A list with one number, the remaining number of lines.
    """
    before = sys.gettrace()
    around: list[int] | None = getattr(before, "left", None)
    least = 0 if around is None else max(0, most - around[0])
    left, imports = [most], [0]

    def after_import(_frame: FrameType, event: str, _argument: Any) -> Any:
        imports[0] -= event == "return"
        return after_import

    def count(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "call" and frame.f_code in IMPORTS:
            imports[0] += 1
            return after_import
        if imports[0]:
            return None
        if event == "line":
            left[0] -= 1
        elif event == "call" and frame.f_code.co_filename == fractions.__file__:
            given = [each for each in frame.f_locals.values() if isinstance(each, fractions.Fraction)]
            bits = [int(each.denominator).bit_length() for each in given]
            left[0] -= sum(bits) // 1000 + (math.prod(bits) // 250_000 if len(bits) > 1 else 0)
        if left[0] < least and not is_lost_in(frame):
            sys.settrace(None)
            raise TooMuchWork
        return count

    vars(count)["left"] = left
    sys.settrace(count)
    try:
        with nullcontext() if math.isinf(safety) else time_limit(safety):
            yield left
    except TimeLimitExceeded as error:
        raise TooMuchWork from error
    except SystemError as error:  # CPython raises this if a recursion becomes too deep inside ``count``
        if "returned a result with an exception set" not in str(error):
            raise
        raise RecursionError("maximum recursion depth exceeded") from error
    finally:
        if around is not None:
            around[0] -= most - left[0]
        sys.settrace(before)
