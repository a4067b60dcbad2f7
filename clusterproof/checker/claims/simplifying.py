"""Simpler values of a single quantity, and the number of bits that a value takes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

from clusterproof.checker.claims.ranges import Choice, Integers, Interval, Range, Rationals, Reals
from clusterproof.checker.kernel.ranges import Instance

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
