"""Memory of this machine, and a limit on the memory of a computation."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def total_memory() -> int:
    """Return this machine's memory in bytes, or ``sys.maxsize`` if the system does not report it, as on Windows."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return sys.maxsize


def free_memory() -> int:
    """Return the memory in bytes that is free or can be freed at once; outside Linux, the total memory."""
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
