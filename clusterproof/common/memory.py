"""Memory of this machine, and a limit on what a computation takes of it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def total_memory() -> int:
    """Bytes of memory; ``sys.maxsize`` where the system does not say, as on Windows."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return sys.maxsize


def free_memory() -> int:
    """Bytes of memory that are free or can be freed at once; all where the system is not Linux."""
    with suppress(OSError):
        if found := re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii")):
            return int(found[1]) * 1024
    return total_memory()


@contextmanager
def limited_memory(most: int) -> Iterator[None]:
    """Raise ``MemoryError`` in the block where this process asks for ``most`` bytes more than it has.

    Without effect outside of Linux, where other systems have no such limit, or do not keep it.
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
