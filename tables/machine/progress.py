"""How far a computation of many units is: how many are done, how many failed, and how long the rest takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

PAUSE = 10.0
"""Seconds before the first line, and between two, at least: what is quick says nothing."""

MINUTE = 60.0
"""Seconds between two lines at most, as long as units end."""


@dataclass
class Progress:
    """Counts of units, and what is left of their cost.

    Attributes
    ----------
    total
        How many units there are.
    stored
        How many of them were there from the start.
    cost
        Of those to be computed, all together.
    clock
        Gives seconds.
    """

    total: int
    stored: int
    cost: float
    clock: Callable[[], float] = time.monotonic
    done: int = field(init=False)
    failed: int = field(init=False, default=0)
    _spent: float = field(init=False, default=0.0)
    _last: tuple[float, int] = field(init=False)

    def __post_init__(self) -> None:
        """Start the clock."""
        self.done = self.stored
        self._started = self.clock()
        self._last = (self._started, self._tenth)

    def add(self, cost: float, failed: bool) -> None:
        """Count a unit that has ended."""
        self.failed += failed
        self.done += not failed
        self._spent += cost

    @property
    def seconds_left(self) -> float | None:
        """Estimate by the cost of what has ended; None before anything has."""
        if not self._spent:
            return None
        return (self.clock() - self._started) * max(0.0, self.cost - self._spent) / self._spent

    @property
    def text(self) -> str:
        """Done, failed, and the time that is left."""
        left = self.seconds_left
        shown = "" if left is None else f", {duration(left)} left"
        return f"{self.done} of {self.total} done, {self.failed} failed{shown}"

    @property
    def due(self) -> bool:
        """Whether a line is due where there is no bar: at each tenth, and each minute, but not at once."""
        now, tenth = self.clock(), self._tenth
        since = now - self._last[0]
        if since < PAUSE or (tenth == self._last[1] and since < MINUTE):
            return False
        self._last = (now, tenth)
        return True

    @property
    def _tenth(self) -> int:
        return 10 * (self.done + self.failed) // max(1, self.total)


def duration(seconds: float) -> str:
    """Write a time in the unit that suits it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
