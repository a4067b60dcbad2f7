"""Lines that say which test is still running, and what it does, as long as a test takes long."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

PAUSE = 10.0
"""Seconds of a test before its first line, and between two lines."""
doing = ""
"""What the running test is at, such as the third of twelve commands; a test sets it."""


@contextmanager
def watched(name: str, terminal: TextIO, pause: float = PAUSE) -> Iterator[None]:
    """Write lines on a test to a stream as long as it runs."""
    global doing
    started, ended, doing = time.monotonic(), threading.Event(), ""

    def write() -> None:
        while not ended.wait(pause):
            at = f", {doing}" if doing else ""
            terminal.write(f"\n{name}: {time.monotonic() - started:.0f} s so far{at}\n")
            terminal.flush()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()
