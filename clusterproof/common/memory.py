"""Memory of this machine."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
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
