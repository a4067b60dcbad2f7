"""Stop a computation after some seconds of processor time or of wall-clock time."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

UNRAISABLE = ("__del__", "gc_callback")
"""Names of functions whose exceptions the interpreter discards; it also discards exceptions in callbacks of weak
references."""

AGAIN = 0.01
"""Seconds until the next check of the time, if one of these functions was running."""

LOST = 1.0
"""Seconds until the exception is raised again, in case a callback discarded it."""


class TimeLimitExceeded(BaseException):
    """The computation took too long. This class is not an ``Exception``, so a claim's own handlers do not catch it."""


def is_lost_in(frame: FrameType | None) -> bool:
    """Return whether an exception in this frame would be lost, because the interpreter calls one of its callers."""
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
