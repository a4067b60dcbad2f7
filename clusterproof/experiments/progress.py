"""How far a run or a computation of many units is, and how long the rest takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

PAUSE, MINUTE = 10.0, 60.0
"""Seconds between two lines: at least, and at most as long as units end."""


@dataclass
class Progress:
    """Counts of units, and what is left of their cost.

    Attributes
    ----------
    total, stored
        Number of units, and of those that were stored at the start.
    cost
        Of those to be computed, all together.
    clock
        Returns seconds.
    """

    total: int
    stored: int
    cost: float
    clock: Callable[[], float] = time.monotonic
    failed: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Start the clock."""
        self.done, self._spent = self.stored, 0.0
        self._started = self._last = self.clock()
        self._tenths = 10 * self.done // max(1, self.total)

    def add(self, cost: float, failed: bool) -> None:
        """Count a unit that has ended."""
        self.failed += failed
        self.done += not failed
        self._spent += cost

    @property
    def text(self) -> str:
        """Done, failed, and the time that is left, estimated by the cost of what has ended."""
        left = ""
        if self._spent:
            seconds = (self.clock() - self._started) * max(0.0, self.cost - self._spent) / self._spent
            left = f", {duration(seconds)} left"
        return f"{self.done} of {self.total} done, {self.failed} failed{left}"

    @property
    def due(self) -> bool:
        """Whether a line is due where there is no bar: at each tenth, and each minute, but not at once."""
        now, tenths = self.clock(), 10 * (self.done + self.failed) // max(1, self.total)
        if now - self._last < PAUSE or (tenths == self._tenths and now - self._last < MINUTE):
            return False
        self._last, self._tenths = now, tenths
        return True


@dataclass
class RoundLines:
    """Lines on the rounds of a run, for the log of a process without a terminal.

    Attributes
    ----------
    total
        Number of rounds.
    interval
        Seconds between two lines, at least.
    clock
        Returns seconds.
    """

    total: int
    interval: float = 30.0
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        """Start the clock."""
        self._started = self._last = self.clock()
        self._before: int | None = None

    def line(self, done: int, words: str) -> str | None:
        """Return the round, the words and the time left, or None within the interval.

        Parameters
        ----------
        done
            Number of finished rounds; a resumed run begins with more than one.
        words
            Metrics of the round.
        """
        if self._before is None and done:
            self._before = done - 1
        now = self.clock()
        if now - self._last < self.interval:
            return None
        self._last = now
        left = ""
        if self._before is not None and self._before < done < self.total:
            seconds = (now - self._started) * (self.total - done) / (done - self._before)
            left = f", {duration(seconds)} left"
        return f"round {done} of {self.total}, {words}{left}"


def duration(seconds: float) -> str:
    """Write a time in the unit that suits it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
