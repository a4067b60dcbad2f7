"""Calls in processes: all answers, what a function raises, and no process that outlives an interrupt."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterproof.common import limits
from clusterproof.common.processes import in_processes

pytestmark = pytest.mark.slow(reason="starts processes")


def test_answers_come_from_other_processes() -> None:
    answers = dict(zip(range(4), sorted(in_processes(pow, [(n, 2) for n in range(4)], 2)), strict=True))
    assert answers == {0: 0, 1: 1, 2: 4, 3: 9}
    assert os.getpid() not in set(in_processes(os.getpid, [()] * 3, 2))
    with pytest.raises(ZeroDivisionError):
        list(in_processes(divmod, [(1, 0)], 1))


def test_an_interrupt_does_not_wait_for_what_has_begun() -> None:
    before = set(multiprocessing.active_children())  # of other tests
    answers = in_processes(time.sleep, [(0,), (60,), (60,)], 2)
    next(answers)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        answers.throw(KeyboardInterrupt())
    assert time.monotonic() - began < 30
    while set(multiprocessing.active_children()) - before:  # which are ending
        assert time.monotonic() - began < 30
        time.sleep(0.05)


ENDLESS = """
import os, sys
from clusterproof.common import limits, processes

processes.end_with(os.getppid())
limits.LAST = int(sys.argv[1])
print("ready", flush=True)
limits.Work().done(lambda: sum(range(10**13)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_a_call_of_compiled_code_that_never_ends_ends_its_process() -> None:
    done = subprocess.run([sys.executable, "-c", ENDLESS, "1"], timeout=300, check=False)
    assert done.returncode == -signal.SIGXCPU
    assert not limits.ends_with_evaluation  # here, where no other process started this one for it


STARTING = """
import subprocess, sys

with subprocess.Popen([sys.executable, "-c", sys.argv[1], "600"], stdout=subprocess.PIPE, text=True) as inner:
    print(inner.pid, inner.stdout.readline(), flush=True)
    sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such signal")
def test_compiled_code_ends_with_the_process_that_started_it() -> None:
    command = [sys.executable, "-c", STARTING, ENDLESS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as outer:
        assert outer.stdout is not None
        inner = int(outer.stdout.readline().split()[0])
        outer.kill()
    end = time.monotonic() + 60
    while is_running(inner):
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """Return whether a process exists that has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False
