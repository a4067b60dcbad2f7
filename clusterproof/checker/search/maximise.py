"""Search for instances closer to the bound: change arrays entry by entry, refine numbers, and try very large values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from clusterproof.checker.claims.ranges import Interval, Rationals, Reals
from clusterproof.checker.claims.values import FARTHEST
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.checker.search.state import Tried

FAR = (10, 100, 1000)
"""Multiples of the end of the first search range to which the search moves an unbounded quantity."""
HALVINGS = 60
"""Number of times that the step size of a quantity is halved, starting from the width of its range."""
SLOWING, DOUBLINGS = 0.8, 10
"""Ratio of successive increments below which growth counts as slowing down, and number of extrapolated doublings."""


def change_entries(tried: Tried, line: str, evaluations: int) -> None:
    """Change the entries of vectors and sequences one by one, as long as the ratio of a line to its bound increases.

    The search starts at the tightest instance. It then starts again with each extreme value of each array.

    Parameters
    ----------
    tried
        The state of the search, to which the results are added.
    line
        Name of the line.
    evaluations
        Largest number of instances to evaluate.
    """
    findings, space = tried.lines[line], tried.space
    if findings.found or findings.tightest is None or findings.used == 0:
        return
    used: dict[str, float] = {}

    def evaluate(instance: dict[str, Any]) -> float:
        """Return the ratio of the line to its bound, or -1 if the instance breaks a hypothesis."""
        key = space.key(instance)
        if key not in used:
            evaluation = tried.evaluation(instance) if space.holds(instance) else None
            judged = None if evaluation is None else evaluation.judged.get(line)
            used[key] = -1.0 if judged is None else judged.used
        return used[key]

    def is_open() -> bool:
        return len(used) < evaluations and tried.is_open and findings.found is None

    for start in _starts(tried, findings.tightest.instance):
        best, most, improved = start, evaluate(start), True
        while improved and is_open():
            improved, place, moves = False, 0, space.changes(best)
            while is_open() and (move := next(moves, None)) is not None:
                place += 1
                if evaluate(move) > most:
                    best, most, improved = move, evaluate(move), True
                    moves = itertools.islice(space.changes(best), place, None)


def _starts(tried: Tried, first: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield first
    for name in tried.space.several:
        for value in list(tried.space.extremes(name, first)):
            yield tried.space.fit({**first, name: value})


def refine(tried: Tried, line: str, evaluations: int) -> None:
    """Change each quantity of the tightest instance by smaller and smaller steps, as long as the ratio increases.

    Each step is half of the previous step. The result is within 2^-60, relative to the range, of a point at which the
    two sides are closest, which random draws do not reach.
    """
    findings, space = tried.lines[line], tried.space
    names = [name for name, each in space.ranges.items() if isinstance(each, Rationals | Reals)]
    if findings.found or findings.tightest is None or not names or not 0 < findings.used < 1:
        return
    best, most, left = findings.tightest.instance, findings.used, evaluations
    ends = {name: each.tried_ends(best) for name, each in space.ranges.items() if isinstance(each, Interval)}
    tried.probing, tried.asking = True, (line,) if findings.unanswered == 0 else ()
    for size, name in itertools.product(range(2, HALVINGS), names):
        improved = True
        while improved:
            improved = False
            for sign in (1, -1):
                low, high = ends[name]
                moved = space.fit({**best, name: best[name] + sign * (high - low) / 2**size})
                if left <= 0 or not tried.is_open or findings.found:
                    break
                if not space.holds(moved) or moved[name] == best[name]:
                    continue
                left -= 1
                evaluation = tried.evaluation(moved)
                judged = None if evaluation is None else evaluation.judged.get(line)
                if judged is not None and judged.used > most:
                    best, most, improved = moved, judged.used, True
    tried.probing, tried.asking = False, ()


def go_far(tried: Tried, line: str) -> None:
    """Try very large values of each unbounded quantity; if their evaluation is too slow, extrapolate the ratio."""
    findings, space = tried.lines[line], tried.space
    if findings.found or findings.tightest is None:
        return
    start, coverage = findings.tightest.instance, tried.coverage
    for name, allowed in _open_ranges(space.ranges):
        # another quantity may have caused the work that stopped the previous attempt
        before, coverage.farthest = coverage.farthest, FARTHEST
        for multiple in (each for each in FAR if each <= coverage.farthest):
            for sign in [1] * (allowed.high is None) + [-1] * (allowed.low is None):
                far = space.at_multiple(start, name, sign * multiple)
                if far is not None:
                    tried.evaluate_within_limit(far)
        coverage.farthest = min(before, coverage.farthest)
        if (
            allowed.high is None
            and coverage.reached.get(name, 0) < FAR[1] // 2
            and _grows(tried, line, start, name)
        ):
            findings.grows = name


def _open_ranges(ranges: Mapping[str, Any]) -> Iterator[tuple[str, Interval]]:
    for name, allowed in ranges.items():
        if isinstance(allowed, Interval) and None in (allowed.low, allowed.high):
            yield name, allowed


def _grows(tried: Tried, line: str, start: Instance, name: str) -> bool:
    """Return whether the ratio to the bound grows so steadily with a quantity that an extrapolation exceeds 1."""
    ratios = []
    for share in (8, 4, 2, 1):
        instance = tried.space.at_multiple(start, name, Fraction(1, share))
        evaluation = None if instance is None else tried.conclude(instance)
        if evaluation is None or line not in evaluation.judged:
            return False
        ratios.append(evaluation.judged[line].used)
    steps = [after - before for before, after in itertools.pairwise(ratios)]
    if not all(step > 0 for step in steps) or any(b < SLOWING * a for a, b in itertools.pairwise(steps)):
        return False
    growth = steps[-1] / steps[-2]
    return ratios[-1] + sum(steps[-1] * growth**n for n in range(1, DOUBLINGS + 1)) > 1
