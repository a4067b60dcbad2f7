"""The memory of this machine, as the kernel says it; none where the system says nothing."""

import os
import re
import sys
from pathlib import Path

import pytest

from clusterproof.common.limits import free_memory, limited_memory, total_memory


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_it_is_what_the_kernel_counts() -> None:
    sizes = dict(re.findall(r"(?m)^(\w+): +(\d+) kB", Path("/proc/meminfo").read_text()))
    assert total_memory() == int(sizes["MemTotal"]) * 1024
    # other processes take and free some in between
    assert abs(free_memory() / 1024 - int(sizes["MemAvailable"])) < 0.1 * int(sizes["MemTotal"])


def test_there_is_no_limit_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert total_memory() == sys.maxsize


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not limit memory")
def test_a_block_may_take_so_much_and_no_more() -> None:
    with limited_memory(2**28):
        assert len(bytes(2**27)) == 2**27
        with pytest.raises(MemoryError):
            bytes(2**29)
        with limited_memory(2**30), pytest.raises(MemoryError):  # within another one no more
            bytes(2**29)
    assert len(bytes(2**29)) == 2**29
