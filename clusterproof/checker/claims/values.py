"""Random values of one range, near its ends and beyond them, and simpler values of one quantity."""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.claims.ranges import Choice, Integers, Interval, Range, Rationals, Reals
from clusterproof.checker.kernel.ranges import Instance

END, BEYOND, NEAR = 0.35, 0.10, 0.25
"""Probabilities to draw an end, a value beyond an open end, or a value near an end."""
FARTHEST = 1000.0
"""Multiple of an open end up to which values are drawn."""
NEAREST = 1e-6
"""Smallest distance between an end and a value drawn near this end, relative to the width of the range."""
SMALL = 1e-2
"""A drawn float above this size becomes a fraction with a small denominator, and a smaller one a short decimal."""
LEAST = math.ulp(0.0)
"""Smallest positive float."""
FLOAT_BITS = sys.float_info.max_exp - 1
"""Every integer with at most this number of bits can be converted to a float."""


def draw_value(
    allowed: Range, so_far: Instance, stream: np.random.Generator, farthest: float = FARTHEST
) -> Any:
    """Draw a value of a range; return None if the range is empty.

    Parameters
    ----------
    allowed, so_far
        The range, and the values of all earlier quantities.
    stream
        Random generator.
    farthest
        Largest drawn value beyond an open end, as a multiple of this end.
    """
    if not isinstance(allowed, Interval):
        return allowed.draw(so_far, stream)
    low, high = allowed.tried_ends(so_far)
    if low > high:
        return None
    kind, side = stream.random(), int(stream.integers(2))
    if kind < END:
        return (low, high)[side]
    signs = [-1] * (allowed.low is None) + [1] * (allowed.high is None)
    if kind < END + BEYOND and signs and farthest > 1:
        sign = signs[int(stream.integers(len(signs)))]
        end = high if sign > 0 else low
        unit = _unit(end)
        distance = max(float(abs(end) / unit), 1) * (farthest ** stream.random() - 1)
        neighbour = (
            int(stream.integers(2)) if isinstance(allowed, Integers) else 0
        )  # odd and even integers are equally likely
        return allowed.cast(end + sign * unit * _exactly(allowed, distance)) + sign * neighbour
    if kind < END + BEYOND + NEAR and high > low:
        distance = _distance(allowed, high - low, stream)
        return min(max(allowed.cast(low + distance if side == 0 else high - distance), low), high)
    return allowed.draw(so_far, stream)


def draw_near(allowed: Interval, value: Any, so_far: Instance, stream: np.random.Generator) -> Any:
    """Draw a number at a log-uniform distance from another number; the result may lie outside the range."""
    low, high = allowed.tried_ends(so_far)
    if high <= low:
        return draw_value(allowed, so_far, stream)
    sign = 1 if stream.integers(2) else -1
    return allowed.cast(value + sign * _distance(allowed, high - low, stream), up=sign > 0)


def _distance(allowed: Interval, width: Any, stream: np.random.Generator) -> Any:
    """Draw a log-uniform distance, at most the width of a range."""
    unit = _unit(width)
    most = float(width / unit)
    least = 1.0 if isinstance(allowed, Integers) else max(NEAREST * most, LEAST)
    return unit * _exactly(allowed, math.exp(stream.uniform(math.log(least), math.log(max(most, least)))))


def _unit(number: Any) -> int:
    """Return 1 for a number that fits into a float, otherwise a power of two by which to divide the number first."""
    return 1 << max(int(abs(number)).bit_length() - FLOAT_BITS, 0)


def _exactly(allowed: Interval, value: float) -> Any:
    """Convert a float to the number type of the range, so that additions in the range are not rounded."""
    if isinstance(allowed, Reals):
        return value
    return Fraction(value).limit_denominator(10**6) if abs(value) > SMALL else Fraction(f"{value:.4g}")


DIGITS = 16
"""Number of powers 10, 100, ... up to which the search limits the denominator of a simpler fraction."""
SIMPLER = 50
"""Largest number of simpler values of a quantity that the search tries."""


def simpler_values(allowed: Range, value: Any, so_far: Instance) -> list[Any]:
    """Return values of a quantity that are simpler than the given one, the simplest first."""
    if allowed.drawn:
        return []
    if isinstance(allowed, Reals):
        rounded = [
            0.0,
            1.0,
            -1.0,
            *allowed.tried_ends(so_far),
            *(float(f"{value:.{d}g}") for d in (1, 2, 3, 6)),
        ]
        return [each for each in dict.fromkeys(rounded) if len(repr(each)) < len(repr(value))]
    listed = allowed.values(so_far) or ()
    first = list(itertools.takewhile(lambda each: each != value, itertools.islice(listed, SIMPLER)))
    if isinstance(allowed, Integers) and (len(first) == SIMPLER or not listed):
        low = allowed.tried_ends(so_far)[0]
        first += [low + (value - low) // share for share in (16, 8, 4, 2)]
        first += [value - (value - low) // 2**power for power in range(2, 40)] + [value - 1, value - 2]
        first = [each for each in dict.fromkeys(first) if each != value and each >= low]
    if isinstance(allowed, Rationals):
        powers = [Fraction(10) ** -k for k in range(1, DIGITS)]
        first += [value.limit_denominator(10**k) for k in range(1, DIGITS)] + [
            sign * p for p in powers for sign in (1, -1)
        ]
        first = [each for each in dict.fromkeys(first) if each != value]
    return first


def bits(allowed: Range, value: Any) -> float:
    """Return the approximate number of bits needed to store a value."""
    if isinstance(allowed, Choice):
        return allowed.options.index(value) / len(allowed.options)
    if isinstance(allowed, Reals):
        return 3.3 * len(repr(value))
    if isinstance(allowed, Interval):
        return bits_of_number(value)
    return len(str(allowed.encode(value)))


def bits_of_number(value: Any) -> float:
    """Return the approximate number of bits needed to store an exact number."""
    exact = Fraction(value)
    return 2 * math.log2(exact.denominator) + math.log2(1 + abs(exact.numerator)) + 0.5 * (exact < 0)
