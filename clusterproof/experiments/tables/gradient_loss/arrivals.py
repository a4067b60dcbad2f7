"""First iterations at which curves reach a goal, and savings relative to another curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Arrivals: TypeAlias = tuple[int | None, ...]
"""First iteration at which each run reaches the goal, counted from 1; None if it never does."""


@dataclass(frozen=True)
class Savings:
    """Savings of a method relative to a baseline, by run.

    Attributes
    ----------
    baseline, proposed
        First iterations at the goal of the baseline and of the method, on the same seeds.
    rounds
        Number of iterations of the runs.
    """

    baseline: Arrivals
    proposed: Arrivals
    rounds: int

    @property
    def values(self) -> tuple[float, ...]:
        """Savings in per cent, for the runs in which the baseline, the method or both reach the goal."""
        pairs = zip(self.baseline, self.proposed, strict=True)
        return tuple(self._saved(*pair) for pair in pairs if any(pair))

    @property
    def seeds(self) -> tuple[int, ...]:
        """Index of the run of each value."""
        pairs = zip(self.baseline, self.proposed, strict=True)
        return tuple(seed for seed, pair in enumerate(pairs) if any(pair))

    @property
    def most(self) -> tuple[float, ...]:
        """Largest possible savings in per cent, 1 - 2 / T, as both methods have the same first iteration."""
        return tuple(100 * max(0.0, 1 - 2 / arrival) for arrival in self.baseline if arrival is not None)

    @property
    def exact(self) -> bool:
        """Whether every run of both methods reaches the goal."""
        return None not in self.baseline and None not in self.proposed

    def _saved(self, baseline: int | None, proposed: int | None) -> float:
        """Return the savings in per cent of the baseline's iterations, negative if more are needed."""
        return 100 * (1 - counted(proposed, self.rounds) / counted(baseline, self.rounds))


def first_hit(values: Sequence[float], goal: float) -> int | None:
    """First iteration, counted from 1, with a value of at least ``goal``; None if there is none."""
    hits = np.flatnonzero(np.asarray(values) >= goal)
    return int(hits[0]) + 1 if len(hits) else None


def first_held(values: Sequence[float], goal: float, length: int) -> int | None:
    """Return the first iteration, from 1, that starts ``length`` values in a row of at least ``goal``."""
    if len(values) < length:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(np.asarray(values), length)
    return first_hit(windows.min(axis=1).tolist(), goal)


def counted(arrival: int | None, rounds: int) -> float:
    """Return the iteration of an arrival; ``rounds + 1`` if the run never reaches the goal."""
    return float(rounds + 1 if arrival is None else arrival)
