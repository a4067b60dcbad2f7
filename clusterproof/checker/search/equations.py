"""Instances that meet an equation: a quantity is solved for, or a line through another instance is followed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from clusterproof.checker.claims.ranges import Rationals
from clusterproof.checker.real_numbers.evaluation import residual
from clusterproof.checker.search.state import Tried

AT_ONCE = 3
"""Equations that are solved one after the other."""
FOLLOWED = 0.7
"""Share of the instances that are found on a line through another one, where there is one."""
DIRECTIONS = (-3, -2, -1, 1, 2, 3, 4, 5)
"""Numerators and denominators of the slopes of lines."""

Gap = Callable[[dict[str, Any]], Fraction]


def solve(tried: Tried, stream: np.random.Generator, wanted: int) -> None:
    """Evaluate instances that meet the equations among the hypotheses.

    A drawn fraction meets an equation with probability 0. So the difference of its sides is evaluated at a few values
    of one quantity. If it is a polynomial of degree 1, or of degree 2 with a root in fractions, the quantity is that
    root. If its degree is 2, as that of a circle, a line through an instance that meets it meets it at one other
    fraction.

    Parameters
    ----------
    tried
        What is found is joined to it.
    stream
        Random numbers.
    wanted
        Instances that are to be found.
    """
    space = tried.space
    names = [name for name, allowed in space.ranges.items() if isinstance(allowed, Rationals)]
    if not names or all(residual(tried.statement, one) is None for _, one in tried.outside[:10]):
        return
    before = tried.instances
    for _ in range(2 * wanted):
        if not tried.is_open or tried.instances - before >= wanted:
            return
        tightest = [each.tightest.instance for each in tried.lines.values() if each.tightest]
        if tightest and stream.random() < FOLLOWED:
            found = _on_line(tried, tightest[int(stream.integers(len(tightest)))], names, stream)
        else:
            start = space.draw(stream, 1)
            found = None if start is None else _solved(tried, start, names, stream)
        if found is not None and space.holds(found):
            tried.evaluate_within_limit(found)


def _gap(tried: Tried, instance: dict[str, Any]) -> Fraction:
    """Return by how much an instance misses the first equation that it does not meet."""
    return residual(tried.statement, instance) or Fraction(0)


def _solved(
    tried: Tried, start: dict[str, Any], names: Sequence[str], stream: np.random.Generator
) -> dict[str, Any] | None:
    """Solve one equation after the other for a quantity each; None if one has no solution in fractions."""
    instance, left = start, list(names)
    for _ in range(AT_ONCE):
        if residual(tried.statement, instance) is None:
            return instance
        for name in sorted(left, key=lambda _: stream.random()):
            roots = list(_roots(partial(_gap, tried), instance, name))
            allowed = [each for each in roots if tried.space.ranges[name].holds(each, instance)]
            if allowed:
                instance = {**instance, name: allowed[int(stream.integers(len(allowed)))]}
                left.remove(name)
                break
        else:
            return None
    return instance


def _roots(gap: Gap, instance: dict[str, Any], name: str) -> Iterator[Fraction]:
    """Yield the values of a quantity at which an equation of degree 1 or 2 in it is met."""
    value = instance[name]
    here, ahead, behind, beyond = (gap({**instance, name: value + step}) for step in (0, 1, -1, 2))
    square, slope = (ahead + behind) / 2 - here, (ahead - behind) / 2
    if here + 2 * slope + 4 * square != beyond:
        return
    if square == 0:
        if slope:
            yield value - here / slope
        return
    under = slope * slope - 4 * square * here
    top, bottom = (math.isqrt(abs(part)) for part in (under.numerator, under.denominator))
    if under >= 0 and top * top == under.numerator and bottom * bottom == under.denominator:
        for sign in (1, -1):
            yield value + (-slope + sign * Fraction(top, bottom)) / (2 * square)


def _on_line(
    tried: Tried, start: dict[str, Any], names: Sequence[str], stream: np.random.Generator
) -> dict[str, Any] | None:
    """Return where a line through an instance meets the equation again, if its degree is 2."""

    def slope() -> Fraction:
        top, bottom = (DIRECTIONS[int(stream.integers(len(DIRECTIONS)))] for _ in range(2))
        return Fraction(top, bottom)

    along = {name: slope() for name in names}

    def moved(step: Fraction | int) -> dict[str, Any]:
        return {**start, **{name: start[name] + step * way for name, way in along.items()}}

    ahead, behind = (_gap(tried, moved(step)) for step in (1, -1))
    square, linear = (ahead + behind) / 2, (ahead - behind) / 2
    return moved(-linear / square) if square and linear else None
