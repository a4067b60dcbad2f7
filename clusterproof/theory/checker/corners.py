"""Instances where a search by simplicity does not look: corners of the ranges, beyond open ends, all magnitudes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.theory.checker.range_ends import Instance, value_of
from clusterproof.theory.checker.ranges import Choice, Integers, Interval, Range, Rationals, Reals
from clusterproof.theory.checker.space import Space

CORNERS = 256
"""Corners that are tried: all of them, or as many drawn ones."""
BEYOND = (10, 100, 1000)
"""Multiples of an open end that are tried."""
DECADE = 10
"""Positive ranges that span this factor are drawn log-uniformly, too."""
FINEST = 1000
"""Largest denominator of a drawn fraction."""


def corners(
    space: Space, stream: np.random.Generator, base: Instance, most: int = CORNERS
) -> Iterator[dict[str, Any]]:
    """Yield the ends of all ranges in every combination, or ``most`` drawn ones; objects are those of ``base``."""
    sides = [
        [0, 1] if isinstance(allowed, Interval) else _choices(allowed) for allowed in space.ranges.values()
    ]
    total = math.prod(len(each) for each in sides)
    if total <= most:
        combinations: Any = itertools.product(*sides)
    else:
        combinations = ([each[int(stream.integers(len(each)))] for each in sides] for _ in range(most))
    for combination in combinations:
        one: dict[str, Any] = {}
        for (name, allowed), side in zip(space.ranges.items(), combination, strict=True):
            one[name] = _end(allowed, one, side) if isinstance(allowed, Interval) else side
            if one[name] is None:
                one[name] = base[name]
        if space.holds(one):
            yield one


def open_ends(space: Space) -> list[tuple[str, int]]:
    """Names of the quantities that have no largest (1) or no smallest (-1) value."""
    found = []
    for name, allowed in space.ranges.items():
        if isinstance(allowed, Interval):
            found += [(name, 1)] * allowed.upwards + [(name, -1)] * allowed.downwards
    return found


def beyond(space: Space, one: Instance, name: str, sign: int, multiple: int) -> dict[str, Any] | None:
    """Move one quantity of an instance beyond its open end; None where that is no instance of the statement."""
    allowed = space.ranges[name]
    assert isinstance(allowed, Interval)
    end = _end(allowed, one, 1 if sign > 0 else 0)
    moved = dict(one) | {name: _cast(allowed, sign * max(abs(end), 1) * multiple)}
    return moved if space.holds(moved) else None


def spread_draws(
    space: Space, stream: np.random.Generator, base: Instance, count: int
) -> Iterator[dict[str, Any]]:
    """Draw instances with the objects of ``base``, alternately uniformly and log-uniformly.

    Log-uniformly where a positive range spans a factor of 10. Fractions have any denominator up to 1000.
    """
    for number in range(count):
        one: dict[str, Any] = {}
        for name, allowed in space.ranges.items():
            drawn = (_spread if number % 2 else evenly)(allowed, one, stream)
            one[name] = base[name] if drawn is None else drawn
        if space.holds(one):
            yield one


def neighbours(space: Space, one: Instance) -> Iterator[dict[str, Any]]:
    """Move one quantity of an instance halfway to each end, or to an end, or to another choice."""
    for name, allowed in space.ranges.items():
        if isinstance(allowed, Interval):
            ends = [_end(allowed, one, side) for side in (0, 1)]
            values = [*ends, *(_cast(allowed, (end + one[name]) / 2) for end in ends)]
        else:
            values = [value for value in _choices(allowed) if value is not None]
        for value in values:
            moved = dict(one) | {name: value}
            if value != one[name] and space.holds(moved):
                yield moved


def toward(space: Space, one: Instance, name: str, side: int, share: Fraction) -> dict[str, Any] | None:
    """Move one quantity a share of the way to its lower (0) or upper (1) end; None where that is no instance."""
    allowed = space.ranges[name]
    if not isinstance(allowed, Interval):
        return None
    moved = dict(one) | {name: _cast(allowed, one[name] + share * (_end(allowed, one, side) - one[name]))}
    return moved if space.holds(moved) else None


def _choices(allowed: Range) -> list[Any]:
    return list(allowed.options) if isinstance(allowed, Choice) else [None]


def _end(allowed: Interval, so_far: Instance, side: int) -> Any:
    """Least (0) or largest (1) value that is tried."""
    return _cast(allowed, value_of((allowed.low, allowed.high)[side], so_far), round_up=side == 0)


def _cast(allowed: Interval, number: Any, *, round_up: bool = False) -> Any:
    """Turn a number into one of the range's kind."""
    if isinstance(allowed, Integers):
        return math.ceil(number) if round_up else math.floor(number)
    return float(number) if isinstance(allowed, Reals) else Fraction(number).limit_denominator(10**9)


def evenly(allowed: Range, so_far: Instance, stream: np.random.Generator) -> Any:
    """Draw a value, of fractions one that need not be listed."""
    if isinstance(allowed, Rationals):
        denominator = int(stream.integers(1, FINEST, endpoint=True))
        every = allowed.multiples(denominator, so_far)
        if every:
            return Fraction(every[int(stream.integers(len(every)))], denominator)
    return allowed.draw(so_far, stream)


def _spread(allowed: Range, so_far: Instance, stream: np.random.Generator) -> Any:
    if isinstance(allowed, Interval):
        low, high = (_end(allowed, so_far, side) for side in (0, 1))
        if low > 0 and high >= DECADE * low:
            value = math.exp(stream.uniform(math.log(low), math.log(high)))
            if isinstance(allowed, Reals | Integers):
                return _cast(allowed, value)
            return max(low, min(high, Fraction(value).limit_denominator(FINEST)))
    return evenly(allowed, so_far, stream)
