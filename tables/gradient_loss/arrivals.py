"""When a curve arrives at a goal, and which share of another curve's iterations that saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Arrivals: TypeAlias = tuple[int | None, ...]
"""Iteration at which each run arrives, counted from 1; None for one that never does."""


@dataclass(frozen=True)
class Savings:
    """What a method saves of a baseline's iterations, run by run.

    Attributes
    ----------
    baseline, proposed
        Arrivals of both on the same seeds.
    rounds
        Iterations that were run.
    """

    baseline: Arrivals
    proposed: Arrivals
    rounds: int

    @property
    def values(self) -> tuple[float, ...]:
        """Per cent, of the runs in which at least one of the two arrives."""
        pairs = zip(self.baseline, self.proposed, strict=True)
        return tuple(self._saved(*pair) for pair in pairs if any(pair))

    @property
    def seeds(self) -> tuple[int, ...]:
        """Which run each of the values is of."""
        pairs = zip(self.baseline, self.proposed, strict=True)
        return tuple(seed for seed, pair in enumerate(pairs) if any(pair))

    @property
    def most(self) -> tuple[float, ...]:
        """Per cent that can be saved where the first iteration is the baseline's own and it arrives."""
        return tuple(most_saved(each) for each in self.baseline if each is not None)

    @property
    def exact(self) -> bool:
        """Whether all runs arrive."""
        return None not in self.baseline and None not in self.proposed

    @property
    def words(self) -> str:
        """Run by run, such as "67, at least 90"."""
        parts = []
        for pair in zip(self.baseline, self.proposed, strict=True):
            bound = "at least " if pair[0] is None else "at most " if pair[1] is None else ""
            parts.append(f"{bound}{self._saved(*pair):.0f}" if any(pair) else "unknown")
        return ", ".join(parts)

    def _saved(self, baseline: int | None, proposed: int | None) -> float:
        return saved(counted(baseline, self.rounds), counted(proposed, self.rounds))


def first_hit(values: Sequence[float], goal: float) -> int | None:
    """First iteration, counted from 1, with a value of at least ``goal``; None where there is none."""
    hits = np.flatnonzero(np.asarray(values) >= goal)
    return int(hits[0]) + 1 if len(hits) else None


def first_held(values: Sequence[float], goal: float, length: int) -> int | None:
    """First of ``length`` iterations in a row, counted from 1, with values of at least ``goal``."""
    if len(values) < length:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(np.asarray(values), length)
    return first_hit(windows.min(axis=1).tolist(), goal)


def counted(arrival: int | None, rounds: int) -> float:
    """Iterations that an arrival counts as: one more than were run where there was none."""
    return float(rounds + 1 if arrival is None else arrival)


def saved(baseline: float, proposed: float) -> float:
    """Per cent of the baseline's iterations that are saved, negative where more are needed."""
    return 100 * (1 - proposed / baseline)


def most_saved(baseline: float) -> float:
    """Per cent that can be saved at all where the first iteration is the baseline's own: 1 - 2 / T."""
    return 100 * max(0.0, 1 - 2 / baseline)


def in_words(arrivals: Sequence[int | None]) -> str:
    """Arrivals one after the other, such as "2, 17, never"."""
    return ", ".join("never" if arrival is None else str(arrival) for arrival in arrivals)
