"""The limit on work: lines of Python, whatever a function catches, and the same each time."""

import sys
from contextlib import suppress

import pytest

from clusterproof.common.limits import TooMuchWork, limited_lines


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
