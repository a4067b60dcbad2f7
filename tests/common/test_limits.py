"""Limits of time, of lines of Python and of memory stop a computation, and not where the exception would be lost."""

import gc
import os
import re
import signal
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path

import pytest

from clusterproof.common.limits import (
    TimeLimitExceeded,
    TooMuchWork,
    free_memory,
    limited_lines,
    limited_memory,
    time_limit,
    total_memory,
)

needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no such timer")


def busy(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(10_000))  # reading the clock takes the system's time, which is not limited


@needs_timer
def test_what_takes_longer_is_stopped_and_nothing_afterwards() -> None:
    handler = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(TimeLimitExceeded), time_limit(0.02):
        busy(60)
    with time_limit(60):
        busy(0.02)
    busy(0.05)
    assert signal.getsignal(signal.SIGVTALRM) is handler


@needs_timer
def test_an_object_that_is_deleted_meanwhile_is_deleted_to_the_end() -> None:
    deleted = []

    class Large:
        def __del__(self) -> None:
            busy(0.1)
            deleted.append(True)

    def use() -> None:
        Large()
        busy(60)

    with pytest.raises(TimeLimitExceeded), time_limit(0.02):
        use()
    assert deleted == [True]


@needs_timer
def test_a_weak_reference_that_ends_meanwhile_is_removed_to_the_end() -> None:
    gc.collect()  # what other tests have left is not deleted within the limit
    removed = []

    class Slow(set[object]):
        def discard(self, item: object) -> None:
            busy(0.1)
            removed.append(item)

    known = weakref.WeakSet[type]()
    known.data = Slow()  # type: ignore[attr-defined]
    known.add(type("Short", (), {}))

    def use() -> None:
        gc.collect()
        busy(60)

    with pytest.raises(TimeLimitExceeded), time_limit(0.02):
        use()
    assert len(removed) == 1


@needs_timer
@pytest.mark.slow(reason="a second or more")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_that_a_callback_loses_is_raised_again() -> None:
    class Short:
        pass

    objects = [Short()]
    reference = weakref.ref(objects[0], lambda _: busy(0.1))

    def use() -> None:
        objects.clear()
        busy(60)

    with pytest.raises(TimeLimitExceeded), time_limit(0.02):
        use()
    assert reference() is None


@needs_timer
def test_waiting_is_stopped_if_it_counts() -> None:
    handler = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TimeLimitExceeded), time_limit(0.02, waiting=True):
        time.sleep(60)
    assert signal.getsignal(signal.SIGALRM) is handler


def endless() -> None:
    while True:
        with suppress(Exception):
            sum(n for n in range(100))


def lines_of(count: int) -> int:
    with limited_lines(10_000) as left:
        total = 0
        for n in range(count):
            total += helper(n)
    return 10_000 - left[0]


def helper(n: int) -> int:
    return n * n


def test_endless_work_is_stopped_though_the_function_catches_exceptions() -> None:
    with pytest.raises(TooMuchWork), limited_lines(1000):
        endless()
    assert sys.gettrace() is None


def test_each_line_of_a_called_function_counts() -> None:
    assert lines_of(7) == lines_of(7)
    assert lines_of(100) - lines_of(7) == 93


def test_what_a_limit_counts_counts_for_the_limit_around_it() -> None:
    with limited_lines(10_000) as left:
        lines_of(0)
        start = left[0]
        lines_of(100)
    assert start - left[0] >= 300  # of the loop two lines each, and one of ``helper``
    with pytest.raises(TooMuchWork), limited_lines(500), limited_lines(10**9):
        endless()
    assert sys.gettrace() is None


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
