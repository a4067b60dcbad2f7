"""Calls in processes: all answers, what a function raises, and no process that outlives an interrupt."""

import multiprocessing
import os
import time

import pytest

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
