"""A limit on the work of an evaluation in lines of Python: the same on a loaded machine and on an idle one."""

from __future__ import annotations

import fractions
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from clusterproof.common.time_limit import TimeLimitExceeded, time_limit

SAFETY = 20.0
"""Seconds of processor time after which a single call that executes no lines of Python is stopped, too."""


class TooMuchWork(BaseException):
    """The computation took more lines; no ``Exception``, so that a statement's own handlers do not catch it."""


@contextmanager
def limited_lines(most: int) -> Iterator[list[int]]:
    """Raise ``TooMuchWork`` in the block after ``most`` lines of the functions that it calls.

    An operation of fractions counts as the lines that take as long as its greatest common divisor.

    Yields
    ------
    list of int
        A single number, the lines that are left.
    """
    left = [most]

    def count(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            left[0] -= 1
        elif event == "call" and frame.f_code.co_filename == fractions.__file__:
            given = [each for each in frame.f_locals.values() if isinstance(each, fractions.Fraction)]
            bits = [each.denominator.bit_length() for each in given]
            left[0] -= sum(bits) // 1000 + (math.prod(bits) // 250_000 if len(bits) > 1 else 0)
        if left[0] < 0:
            sys.settrace(None)
            raise TooMuchWork
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        with time_limit(SAFETY):
            yield left
    except TimeLimitExceeded as error:
        raise TooMuchWork from error
    finally:
        sys.settrace(before)
