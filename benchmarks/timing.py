"""Medians of interleaved timings, so that a busy moment affects all functions alike."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping

REPETITION = 0.02
"""Least duration of a repetition in seconds, so that a short call is timed with warm caches."""


def median_seconds(
    functions: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Time every function ``repeats`` times in interleaved repetitions, after one call to warm up.

    Parameters
    ----------
    functions
        Functions to time, indexed by name.
    repeats
        Number of timed repetitions of each.
    clock
        Clock in seconds; ``time.process_time`` if other processes share the cores.

    Returns
    -------
    dict
        The median over repetitions of the mean duration of a call in seconds, indexed by name.
    """
    found = interleaved_seconds(functions, repeats, clock)
    return {name: statistics.median(values) for name, values in found.items()}


def interleaved_seconds(
    functions: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Return the mean duration of a call in each repetition, indexed by name; see ``median_seconds``."""
    calls = {}
    for name, function in functions.items():
        function()
        calls[name] = max(1, math.ceil(REPETITION / _seconds_a_call(function, 1, clock)))
    repetitions: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            repetitions[name].append(_seconds_a_call(function, calls[name], clock))
    return repetitions


def _seconds_a_call(function: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    started = clock()
    for _ in range(calls):
        function()
    return (clock() - started) / calls


def report_target(name: str, measured: float, target: float, *, at_most: bool = False) -> None:
    """Print one line on whether a target is reached."""
    reached = measured <= target if at_most else measured >= target
    relation = "at most" if at_most else "at least"
    print(f"{'PASS' if reached else 'MISS'}  {name}: {measured:.4g}, target {relation} {target:g}")
