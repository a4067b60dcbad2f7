"""A limit on the work of an evaluation in lines of Python: the same on a loaded machine and on an idle one."""

from __future__ import annotations

import fractions
import importlib
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from clusterproof.common.time_limit import TimeLimitExceeded, is_lost_in, time_limit

Result = TypeVar("Result")

SAFETY = 20.0
"""Seconds of processor time after which a single call that executes no lines of Python is stopped, too."""
MOST_OF_ONE, MOST = 100_000_000, 2_000_000_000
"""Lines of Python that one instance, and one search, may take: seconds, and about a minute."""
SPENT, SPENT_ON_ONE = (
    "the search takes more than 2 * 10^9 lines of Python",
    "its evaluation takes more than 10^8 lines of Python",
)
"""What is said of a search, and of an instance, that takes more."""
QUICK = 1.0
"""Seconds of processor time after which an evaluation is begun again, with its lines counted.

No machine executes ``MOST_OF_ONE`` lines in it, so its speed does not decide which evaluations are stopped.
"""
EVERY, OFTEN, LONG = 64, 16, 10_000_000
"""Lines are counted at one of so many evaluations, and at one of fewer where they take more than ``LONG`` lines."""


class TooMuchWork(BaseException):
    """The computation took more lines; no ``Exception``, so that a statement's own handlers do not catch it."""


@dataclass
class Work:
    """The lines of Python that a search has taken.

    Counting takes several times as long as an evaluation. So some are counted, at uneven distances, and between two of
    these the lines are taken to change evenly. The sum is the same on every machine, loaded or idle.

    Attributes
    ----------
    spent
        Lines of all evaluations.
    evaluations
        Number of these.
    chosen
        Number of the next evaluation that is counted.
    last, since
        Lines of the last one that was counted, and number of those since.
    """

    spent: int = 0
    evaluations: int = 0
    chosen: int = 1
    last: int = 0
    since: int = 0

    @property
    def is_spent(self) -> bool:
        """Whether the search has taken all the lines that it may."""
        return self.spent > MOST

    def done(self, evaluate: Callable[[], Result]) -> Result:
        """Call an evaluation, and count it.

        Raises
        ------
        TooMuchWork
            If it takes more than ``MOST_OF_ONE`` lines.
        """
        self.evaluations += 1
        is_chosen = self.evaluations == self.chosen
        if not is_chosen:
            self.spent += self.last
            self.since += 1
            try:
                with time_limit(QUICK):
                    return evaluate()
            except TimeLimitExceeded:
                pass
        left = [MOST_OF_ONE]
        try:
            with limited_lines(MOST_OF_ONE, math.inf) as left:
                return evaluate()
        except TooMuchWork:
            self.spent += MOST_OF_ONE * (not is_chosen)
            raise
        finally:
            if is_chosen:
                used = MOST_OF_ONE - left[0]
                self.spent += used + self.since * (used - self.last) // 2
                self.last, self.since = used, 0
                every = OFTEN if used > LONG else EVERY
                distance = 1 + 37 * self.evaluations % (2 * every - 1)
                self.chosen = self.evaluations + min(distance, self.evaluations)


IMPORTS = (importlib._bootstrap._find_and_load.__code__,)  # type: ignore[attr-defined]  # where each import begins
"""An import is made once, by whoever is first: its lines are not counted, and it is not left in the middle."""


@contextmanager
def limited_lines(most: int, safety: float = SAFETY) -> Iterator[list[int]]:
    """Raise ``TooMuchWork`` in the block after ``most`` lines of the functions that it calls.

    An operation of fractions counts as the lines that take as long as its greatest common divisor. A single call that
    executes no lines is stopped after ``safety`` seconds of processor time.

    Yields
    ------
    list of int
        A single number, the lines that are left.
    """
    left, imports = [most], [0]

    def after_import(_frame: FrameType, event: str, _argument: Any) -> Any:
        imports[0] -= event == "return"
        return after_import

    def count(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "call" and frame.f_code in IMPORTS:
            imports[0] += 1
            return after_import
        if imports[0]:
            return None
        if event == "line":
            left[0] -= 1
        elif event == "call" and frame.f_code.co_filename == fractions.__file__:
            given = [each for each in frame.f_locals.values() if isinstance(each, fractions.Fraction)]
            bits = [int(each.denominator).bit_length() for each in given]
            left[0] -= sum(bits) // 1000 + (math.prod(bits) // 250_000 if len(bits) > 1 else 0)
        if left[0] < 0 and not is_lost_in(frame):
            sys.settrace(None)
            raise TooMuchWork
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        with nullcontext() if math.isinf(safety) else time_limit(safety):
            yield left
    except TimeLimitExceeded as error:
        raise TooMuchWork from error
    except SystemError as error:  # what CPython makes of a recursion that becomes too deep in ``count``
        if "returned a result with an exception set" not in str(error):
            raise
        raise RecursionError("maximum recursion depth exceeded") from error
    finally:
        sys.settrace(before)
