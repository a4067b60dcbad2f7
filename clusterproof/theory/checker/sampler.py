"""Instances of a statement: all, drawn at the ends of their ranges and within, drawn again, simplified."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.theory.checker.range_ends import Instance, value_of
from clusterproof.theory.checker.ranges import Choice, Integers, Interval, Range, Rationals, Reals
from clusterproof.theory.checker.space import Space

END, BEYOND, NEAR = 0.35, 0.10, 0.25
"""Shares of the values at an end of a range, beyond an open one and near an end; the others are uniform or listed."""
FARTHEST = 1000
"""Multiple of an open end up to which values are drawn."""
NEAREST = 1e-6
"""Of a range's width: the least distance from an end that is drawn."""
FINEST = 1000
"""Largest denominator of a fraction that is drawn uniformly."""
SIMPLER = 50
"""Simpler values of a quantity that are tried."""


def draw(space: Space, stream: np.random.Generator, farthest: float = FARTHEST) -> dict[str, Any] | None:
    """Draw an instance, each quantity on its own; None where an earlier quantity leaves a later one no value."""
    return again(space, stream, {}, list(space.ranges), farthest)


def again(
    space: Space, stream: np.random.Generator, one: Instance, names: Sequence[str], farthest: float = FARTHEST
) -> dict[str, Any] | None:
    """Draw some quantities of an instance again; None where that is no instance of the ranges."""
    moved: dict[str, Any] = {}
    for name, allowed in space.ranges.items():
        moved[name] = _value(allowed, moved, stream, farthest) if name in names else one[name]
        if moved[name] is None:
            return None
    return moved if space.holds(moved) else None


def named_in(space: Space, hypothesis: str) -> list[str]:
    """Quantities that the words of a hypothesis name; all of them where it names none."""
    words = set(re.findall(r"\w+", hypothesis))
    return [name for name in space.ranges if name.rstrip("_") in words] or list(space.ranges)


def ends(allowed: Interval, so_far: Instance) -> tuple[Any, Any]:
    """Least and largest value of a range that is tried."""
    return _cast(allowed, value_of(allowed.low, so_far), round_up=True), _cast(
        allowed, value_of(allowed.high, so_far)
    )


def evenly(allowed: Range, so_far: Instance, stream: np.random.Generator) -> Any:
    """Draw a value uniformly, of fractions one that need not be listed."""
    if isinstance(allowed, Rationals):
        denominator = int(stream.integers(1, FINEST, endpoint=True))
        every = allowed.multiples(denominator, so_far)
        if every:
            return Fraction(every[int(stream.integers(len(every)))], denominator)
    return allowed.draw(so_far, stream)


def _value(allowed: Range, so_far: Instance, stream: np.random.Generator, farthest: float) -> Any:
    if not isinstance(allowed, Interval):
        return allowed.draw(so_far, stream)
    low, high = ends(allowed, so_far)
    if low > high:
        return None
    kind, side = stream.random(), int(stream.integers(2))
    if kind < END:
        return (low, high)[side]
    open_sides = [sign for sign, is_open in ((-1, allowed.downwards), (1, allowed.upwards)) if is_open]
    if kind < END + BEYOND and open_sides and farthest > 1:
        sign = open_sides[int(stream.integers(len(open_sides)))]
        end = max(abs(high if sign > 0 else low), 1)
        far = float(end) * (farthest ** stream.random() - 1)  # from the end itself on
        return _cast(allowed, (high if sign > 0 else low) + sign * _number(allowed, far)) + sign * isinstance(
            allowed, Integers
        ) * int(stream.integers(2))
    if kind < END + BEYOND + NEAR and high > low:
        width = float(high - low)
        least = 1.0 if isinstance(allowed, Integers) else NEAREST * width
        distance = _number(allowed, math.exp(stream.uniform(math.log(least), math.log(max(width, least)))))
        value = _cast(allowed, low + distance if side == 0 else high - distance)
        return min(max(value, low), high)
    return allowed.draw(so_far, stream) if stream.random() < 0.5 else evenly(allowed, so_far, stream)


def _number(allowed: Interval, value: float) -> Any:
    """Turn a float into a number that can be added to those of a range without rounding these."""
    if isinstance(allowed, Reals):
        return value
    return Fraction(value).limit_denominator(10**6)


def _cast(allowed: Interval, number: Any, *, round_up: bool = False) -> Any:
    """Turn a number into one of the range's kind."""
    if isinstance(allowed, Integers):
        return math.ceil(number) if round_up else math.floor(number)
    return float(number) if isinstance(allowed, Reals) else Fraction(number).limit_denominator(10**9)


def times_end(space: Space, one: Instance, name: str, multiple: int | Fraction) -> dict[str, Any] | None:
    """Move a quantity to a multiple of its upper end, or of its lower one if negative; None if that is no instance."""
    allowed = space.ranges[name]
    assert isinstance(allowed, Interval)
    low, high = ends(allowed, one)
    value = (
        high * multiple if multiple > 0 and high else max(abs(high if multiple > 0 else low), 1) * multiple
    )
    moved = dict(one) | {name: _cast(allowed, value)}
    return moved if space.holds(moved) else None


def corners(space: Space) -> Iterator[dict[str, Any]]:
    """Yield the ends of all ranges and the options of all choices in every combination."""

    def extend(one: dict[str, Any], names: Sequence[str]) -> Iterator[dict[str, Any]]:
        if not names:
            if space.holds(one):
                yield one
            return
        allowed = space.ranges[names[0]]
        values: Sequence[Any] = allowed.values(one)
        if isinstance(allowed, Interval):
            values = tuple(dict.fromkeys(ends(allowed, one)))
        for value in values:
            yield from extend(one | {names[0]: value}, names[1:])

    if all(isinstance(allowed, Interval | Choice) for allowed in space.ranges.values()):
        yield from extend({}, list(space.ranges))


def simpler(allowed: Range, one: Instance, name: str) -> list[Any]:
    """Values of a quantity that are simpler than its own, the simplest first."""
    value = one[name]
    if isinstance(allowed, Reals):
        low, high = ends(allowed, one)
        rounded = [0.0, 1.0, -1.0, low, high, *(float(f"{value:.{digits}g}") for digits in (1, 2, 3, 6))]
        return [each for each in dict.fromkeys(rounded) if len(repr(each)) < len(repr(value))]
    found = list(
        itertools.takewhile(lambda each: each != value, itertools.islice(allowed.values(one), SIMPLER))
    )
    if isinstance(allowed, Integers) and len(found) == SIMPLER:
        low = ends(allowed, one)[0]
        found += [low + (value - low) // part for part in (16, 8, 4, 2)]
        found += [value - (value - low) // 2**power for power in range(2, 40)]  # halves what is left to go
        found.append(value - 1)
        found = [each for each in dict.fromkeys(found) if each != value]
    return found


def complexity(space: Space, one: Instance) -> float:
    """Bits, about, that write an instance: what simplifying makes less at each step."""
    return sum(_bits(allowed, one[name], one) for name, allowed in space.ranges.items())


def _bits(allowed: Range, value: Any, one: Instance) -> float:
    if isinstance(allowed, Choice):
        return allowed.options.index(value) / len(allowed.options)
    if isinstance(allowed, Reals):
        return 3.3 * len(repr(value))
    if isinstance(allowed, Interval):
        exact = Fraction(value)
        return 2 * math.log2(exact.denominator) + math.log2(1 + abs(exact.numerator)) + 0.5 * (exact < 0)
    return len(str(allowed.encode(value)))
