"""Values of a range: simple values, corners, random values, and values that a reader types."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import gcd
from typing import Any

from clusterproof.checker.kernel import Refused
from clusterproof.checker.kernel.evaluation import OutOfFuel, spend
from clusterproof.checker.kernel.numbers import write
from clusterproof.checker.kernel.ranges import Choice, Instance, Interval, Range, Tuples, value_of

FAR = {True: 96, False: 8}
"""How far values are tried in a direction in which the range has no end, for integers (True) and fractions (False)."""
SIMPLE = 30
"""Largest |p| + q of the fractions p/q that count as simple."""
DENOMINATOR = 12
"""Largest denominator of random fractions."""
STEP = 20
"""Largest number of steps to compute the next value of a quantity."""
LONGEST = 200
"""Largest number of entries of a typed sequence."""
NUMBER = re.compile(r"-?[0-9]{1,40}(/[0-9]{1,40}|\.[0-9]{1,40})?", re.ASCII)
"""Pattern of a number that a reader may type."""


def ends_tried(allowed: Interval, so_far: Instance) -> tuple[Any, Any]:
    """Return the smallest and the largest value to try.

    Raises
    ------
    Refused
        If there is no value between the ends.
    """
    low, high = allowed.ends(so_far)
    far = FAR[allowed.integers]
    first = low if low is not None else min(high or 0, 0) - far
    last = high if high is not None else max(low or 0, 0) + far
    if allowed.integers:
        first, last = -(-first // 1), last // 1
    if first > last:
        raise Refused(f"no number is from {first} to {last}")
    return first, last


def length_of(allowed: Tuples, so_far: Instance) -> int:
    """Return the number of entries.

    Raises
    ------
    Refused
        If the number is negative, or too large for the page.
    """
    length = int(value_of(allowed.length, so_far))
    if not 0 <= length <= LONGEST:
        raise Refused(f"a sequence of {length} entries: 0 to {LONGEST} can be tried here")
    return length


# ---- simple values first


def simple_first(allowed: Range, so_far: Instance) -> Iterator[Any]:
    """Yield values of a range, the simplest first: 0, 1, -1, 2, 1/2, ..., and options in their order."""
    if type(allowed) is Choice:
        yield from allowed.options
    elif type(allowed) is Tuples:
        places = range(length_of(allowed, so_far))
        for found in simplest_together(dict.fromkeys(places, allowed.entries), so_far):
            yield tuple(found[place] for place in places)
    elif type(allowed) is Interval:
        low, high = ends_tried(allowed, so_far)
        if not allowed.integers:
            yield from _fractions(Fraction(low), Fraction(high))
            return
        start = min(max(0, low), high)
        for away in range(max(high - start, start - low) + 1):
            yield from (n for n in dict.fromkeys((start + away, start - away)) if low <= n <= high)


def _fractions(low: Fraction, high: Fraction) -> Iterator[Fraction]:
    simple = (
        Fraction(p, below)
        for size in range(1, SIMPLE + 1)
        for below in range(1, size + 1)
        for p in dict.fromkeys((size - below, below - size))
        if gcd(p, below) == 1
    )
    between = (low + (high - low) * Fraction(part, DENOMINATOR) for part in range(DENOMINATOR + 1))
    seen = set()
    for each in itertools.chain(simple, (low, high), between):
        if low <= each <= high and each not in seen:
            seen.add(each)
            yield each


def simplest_together(ranges: Mapping[Any, Range], so_far: Instance) -> Iterator[dict[Any, Any]]:
    """Yield values of several ranges, ordered by the sum of their positions, until the limit on steps is reached."""
    for total in itertools.count():
        found = None
        try:
            for found in _of_total([*ranges], ranges, dict(so_far), total):
                yield {name: found[name] for name in ranges}
        except OutOfFuel:
            return
        if found is None:
            return


def _of_total(
    names: list[Any], ranges: Mapping[Any, Range], so_far: dict[Any, Any], total: int
) -> Iterator[dict[Any, Any]]:
    if not names:
        yield from [so_far] if total == 0 else []
        return
    spend(STEP)
    first, *others = names
    try:
        for place, value in enumerate(itertools.islice(simple_first(ranges[first], so_far), total + 1)):
            yield from _of_total(others, ranges, {**so_far, first: value}, total - place)
    except Refused:  # no value comes after these
        return


# ---- other values


def corner(allowed: Range, so_far: Instance, upper: bool) -> Any:
    """Return the smallest or largest value to try, the first or last option, or a sequence of such values."""
    if type(allowed) is Choice:
        return allowed.options[-upper]
    if type(allowed) is Tuples:
        return (corner(allowed.entries, so_far, upper),) * length_of(allowed, so_far)
    assert type(allowed) is Interval
    end = ends_tried(allowed, so_far)[upper]
    return end if allowed.integers else Fraction(end)


def drawn(allowed: Range, so_far: Instance, stream: random.Random) -> Any:
    """Draw a value: most integers lie near the lower end, and fractions have small denominators."""
    if type(allowed) is Choice:
        return stream.choice(allowed.options)
    if type(allowed) is Tuples:
        return tuple(drawn(allowed.entries, so_far, stream) for _ in range(length_of(allowed, so_far)))
    assert type(allowed) is Interval
    low, high = ends_tried(allowed, so_far)
    if allowed.integers:
        width = high - low
        return low + stream.randint(0, min(width, 2 ** stream.randint(1, max(1, width.bit_length()))))
    below = stream.randint(1, DENOMINATOR)
    first, last = -(-low * below // 1), high * below // 1
    if first > last:
        return low + Fraction(stream.randint(0, below), below) * (high - low)
    return Fraction(stream.randint(first, last), below)


# ---- what a reader chooses


def code_of(value: Any) -> Any:
    """Write a value as in evidence."""
    return [write(each) for each in value] if type(value) is tuple else write(value)


def typed(allowed: Range, said: Any, so_far: Instance) -> Any:
    """Return the value of a range that is nearest to the reader's choice, or the simplest value without a choice.

    Parameters
    ----------
    allowed
        The range.
    said
        An int, a text such as ``"1/2"``, ``"0.5"`` or, for a sequence, ``"1, 1/2"``; an option; or None.
    so_far
        Earlier quantities.

    Raises
    ------
    Refused
        If the text is not a number; the message states what to type.
    """
    if type(allowed) is Choice:
        known = [each for each in allowed.options if write(each) == said and type(write(each)) is type(said)]
        return (known or allowed.options)[0]
    if said is None:
        return next(simple_first(allowed, so_far))
    if type(allowed) is Tuples:
        parts = [part for part in said.split(",") if part.strip()] if type(said) is str else said
        length = length_of(allowed, so_far)
        known = [typed(allowed.entries, part, so_far) for part in parts[:length]]
        known += [typed(allowed.entries, None, so_far)] * (length - len(known))
        return tuple(known)
    assert type(allowed) is Interval
    if not NUMBER.fullmatch(str(said).strip()) or re.search(r"/0+$", str(said)):
        raise Refused(f"{str(said)[:40]!r} is no number: type 1/2, 0.5 or 3")
    low, high = allowed.ends(so_far)
    value = Fraction(str(said).strip())
    if allowed.integers:
        value = Fraction(value // 1)
    value = value if low is None else max(value, Fraction(low if not allowed.integers else -(-low // 1)))
    value = value if high is None else min(value, Fraction(high if not allowed.integers else high // 1))
    return int(value) if allowed.integers else value
