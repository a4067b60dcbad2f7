"""Find instances that random draws miss, because the hypotheses are equations or only a thin set meets them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.claims.ranges import Interval as Numbers
from clusterproof.checker.claims.ranges import Rationals, Reals
from clusterproof.checker.real_numbers.comparison import missed, nearest_float, steps_taken
from clusterproof.checker.real_numbers.interval import Interval
from clusterproof.checker.search.state import Tried

AT_ONCE = 3
"""Largest number of equations that the search solves together."""
FOLLOWED = 0.7
"""Share of the attempts that start from a known solution, if there is one, and follow a straight line through it."""
SIMPLEST = 8
"""Number of simple solutions through which the search draws straight lines."""
GOLDEN = (math.sqrt(5) - 1) / 2
NARROWINGS = 45
"""Number of steps of the golden-section search for a value that meets a hypothesis."""
DIRECTIONS = (-3, -2, -1, 1, 2, 3, 4, 5)
"""Possible numerators and denominators of the slopes of a line."""

SOLVING = 10_000_000
"""Largest number of real-number operations that look for instances of one statement."""
Gap = Callable[[dict[str, Any]], Fraction]


def solve(tried: Tried, stream: np.random.Generator, wanted: int) -> None:
    """Evaluate instances that meet the equations among the hypotheses.

    Parameters
    ----------
    tried
        The state of the search, to which the results are added.
    stream
        Random generator.
    wanted
        Number of instances to evaluate.
    """
    before = tried.instances
    tightest = [each.tightest.instance for each in tried.lines.values() if each.tightest]
    for found in solutions(tried, stream, 2 * wanted, simple=wanted, start=tightest):
        if not tried.is_open or tried.instances - before >= wanted:
            return
        tried.evaluate_within_limit(found)


def solutions(
    tried: Tried,
    stream: np.random.Generator,
    attempts: int,
    *,
    simple: int,
    start: Sequence[dict[str, Any]] = (),
) -> Iterator[dict[str, Any]]:
    """Yield instances that meet the equations among the hypotheses.

    A random fraction solves an equation with probability 0. The search therefore evaluates the difference between the
    two sides at a few values of one quantity. If the difference is a polynomial of degree 1, or of degree 2 with a
    rational root, the search sets the quantity to this root. If the degree is 2, as for a circle, a straight line
    through one rational solution contains a second rational solution. A share ``FOLLOWED`` of the attempts uses such a
    line through a known solution: first through one of the simplest solutions, later through the tightest solution. All
    other attempts start at a random instance.
    """
    space = tried.space
    names = [name for name, allowed in space.ranges.items() if isinstance(allowed, Rationals)]
    if not names or all(_residual(tried, one) is None for _, one in tried.outside[:10]):
        return
    met = {space.key(each): each for each in start}
    for number in range(attempts):
        tightest = [each.tightest.instance for each in tried.lines.values() if each.tightest]
        known = sorted(met.values(), key=space.complexity)[:SIMPLEST] if number < simple else tightest
        if known and stream.random() < FOLLOWED:
            found = _on_line(tried, known[int(stream.integers(len(known)))], names, stream)
        else:
            drawn = space.draw(stream, 1)
            found = None if drawn is None else _solved(tried, drawn, names, stream)
        if found is not None and space.holds(found):
            yield found
            if tried.seen.get(key := space.key(found)) is not None:
                met[key] = found


def _missed(tried: Tried, instance: dict[str, Any]) -> tuple[str, Any, Any] | None:
    """Return the first false comparison, as ``missed`` does; return None after ``SOLVING`` operations."""
    if tried.solving > SOLVING:
        return None
    found = missed(tried.statement, instance)
    tried.solving += steps_taken()
    return found


def _residual(tried: Tried, instance: dict[str, Any]) -> Fraction | None:
    """Return the difference between the sides of the first false hypothesis, or None if it is not an equation."""
    sign, left, right = _missed(tried, instance) or ("", 0, 0)
    if sign != "==" or Interval in (type(left), type(right)):
        return None
    return Fraction(left) - Fraction(right)


def _gap(tried: Tried, instance: dict[str, Any]) -> Fraction:
    return _residual(tried, instance) or Fraction(0)


def _solved(
    tried: Tried, start: dict[str, Any], names: Sequence[str], stream: np.random.Generator
) -> dict[str, Any] | None:
    """Solve the equations for one quantity, then for two, up to ``AT_ONCE`` quantities; return None if this fails."""
    shuffled = sorted(names, key=lambda _: stream.random())
    for count in range(1, min(AT_ONCE, len(names)) + 1):
        found = _with_solution(tried, start, shuffled[:count])
        if found is not None and _missed(tried, found) is None:
            return found
    return None


def _with_solution(tried: Tried, instance: dict[str, Any], names: Sequence[str]) -> dict[str, Any] | None:
    """Solve the first equation for the first named quantity, the second equation for the second, and so on."""
    if not names:
        return instance
    *others, last = names

    def gap(moved: dict[str, Any]) -> Fraction:
        """Solve all equations but the last for the other quantities, and return the difference in the last equation."""
        met = _with_solution(tried, moved, others)
        return Fraction(0) if met is None else _gap(tried, met)

    allowed = tried.space.ranges[last]
    roots = sorted(_roots(gap, instance, last), key=lambda root: not allowed.holds(root, instance))
    return _with_solution(tried, {**instance, last: roots[0]}, others) if roots else None


def _roots(gap: Gap, instance: dict[str, Any], name: str) -> Iterator[Fraction]:
    """Yield the rational roots of an equation of degree 1 or 2 in one quantity."""
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
    """Draw a line through a solution of a quadratic equation, and return the second solution on it, or None."""

    def slope() -> Fraction:
        top, bottom = (DIRECTIONS[int(stream.integers(len(DIRECTIONS)))] for _ in range(2))
        return Fraction(top, bottom)

    along = {name: slope() for name in names}

    def moved(step: Fraction | int) -> dict[str, Any]:
        return {**start, **{name: start[name] + step * way for name, way in along.items()}}

    ahead, behind = (_gap(tried, moved(step)) for step in (1, -1))
    square, linear = (ahead + behind) / 2, (ahead - behind) / 2
    return moved(-linear / square) if square and linear else None


def approach(tried: Tried, stream: np.random.Generator, wanted: int) -> None:
    """Evaluate instances in a thin set: draw an instance, and change one quantity until the hypotheses hold.

    Half of the attempts start at the tightest instance, with a random change of another quantity. The parameters are as
    in ``solve``.
    """
    space = tried.space
    names = [name for name, allowed in space.ranges.items() if isinstance(allowed, Rationals | Reals)]
    if not names or all(_missed(tried, one) is None for _, one in tried.outside[-10:]):
        return
    for _ in range(wanted):
        if not tried.is_open:
            return
        tightest = [
            each.tightest.instance for each in tried.lines.values() if each.tightest and not each.found
        ]
        name = names[int(stream.integers(len(names)))]
        start = space.draw(stream, 1)
        if tightest and stream.random() < 1 / 2:
            near, others = (
                tightest[int(stream.integers(len(tightest)))],
                [each for each in names if each != name],
            )
            start = space.draw(stream, 1, start=near, names=others[:1], nudged=True)
        found = None if start is None else _nearest(tried, start, name)
        if found is not None and space.holds(found):
            tried.evaluate_within_limit(found)


def _nearest(tried: Tried, start: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Search for an instance that meets the hypotheses by a golden-section search in one quantity; else return None."""
    allowed = tried.space.ranges[name]
    assert isinstance(allowed, Numbers)

    def moved(value: float) -> dict[str, Any]:
        number = Fraction(value).limit_denominator(10**12) if isinstance(allowed, Rationals) else value
        return {**start, name: number}

    def shortfall(value: float) -> float:
        """Return the distance between the two sides of the first false hypothesis, or 0 if all hypotheses hold."""
        comparison = _missed(tried, moved(value))
        return 0.0 if comparison is None else abs(nearest_float(comparison[1]) - nearest_float(comparison[2]))

    low, high = map(float, allowed.tried_ends(start))
    places = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
    values = [shortfall(place) for place in places]
    for _ in range(NARROWINGS):
        if not all(values):
            return moved(places[values.index(0.0)])
        if values[0] <= values[1]:
            high, places[1], values[1] = places[1], places[0], values[0]
            places[0] = high - GOLDEN * (high - low)
            values[0] = shortfall(places[0])
        else:
            low, places[0], values[0] = places[0], places[1], values[1]
            places[1] = low + GOLDEN * (high - low)
            values[1] = shortfall(places[1])
    return None
