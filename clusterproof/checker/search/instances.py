"""Instances to try: all instances if they are few, otherwise corners, constants of the source code and random draws."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from types import CodeType
from typing import Any

import numpy as np

from clusterproof.checker.claims.ranges import Integers, Interval, Rationals, Reals
from clusterproof.checker.claims.space import Space
from clusterproof.checker.claims.statement import raising_exceptions
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.checker.search.equations import approach, solve
from clusterproof.checker.search.state import Tried
from clusterproof.common import generator

MOST_CONSTANTS = 50
"""Largest number of constants to try."""


def numbers_in(function: Callable[..., Any]) -> list[int]:
    """Return the integers in a function and in functions of its module that it uses, in decreasing order.

    Large integers come first, because the search tries small ones anyway.
    """
    found: dict[int, None] = {}
    seen: set[int] = set()

    def read(value: Any) -> None:
        if id(value) in seen:
            return
        seen.add(id(value))
        if type(value) is int:
            found[abs(value)] = None
        elif type(value) is Fraction:
            read(value.numerator)
            read(value.denominator)
        elif isinstance(value, CodeType | tuple | list | frozenset | set):
            for each in value.co_consts if isinstance(value, CodeType) else value:
                read(each)
        elif getattr(value, "__module__", None) == function.__module__:
            code = getattr(getattr(value, "function", value), "__code__", None)
            if code is None:
                return
            read(code)
            known = getattr(value, "__globals__", {})
            for name in _names_in(code):
                with (
                    suppress(Exception),
                    raising_exceptions(),
                ):  # an object may raise when its type is requested
                    read(known.get(name))

    read(function)
    return sorted(found, reverse=True)[:MOST_CONSTANTS]


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names_in(each)


def neighbours(space: Space, numbers: list[int]) -> Iterator[tuple[str, Any]]:
    """Yield each numeric quantity with each number, with the number minus 1, and with the number plus 1."""
    for number in numbers:
        for value in (number, number + 1, number - 1, -number):
            for name, allowed in space.ranges.items():
                if isinstance(allowed, Interval):
                    yield name, value if isinstance(allowed, Integers) else allowed.cast(value)


CORNERS = 256
"""Largest number of corners to try first; in addition, at most half of all instances may be corners."""
CLIMBING, RARE = 0.25, 0.1
"""Share of the draws that modify the tightest instance, and a limit below which admissible draws count as rare.

If admissible draws are rare, the first share rises to 0.75.
"""
REDRAWS = 20
"""Number of times that the quantities of a false hypothesis are redrawn."""
OTHERS = 3
"""Number of draws of the other quantities for each constant of the source code."""
EXPONENTS = (1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 20, 30, 31, 40, 60, 100, 200, 300)
"""Exponents of the powers of ten to try."""
FEW = 60
"""Smallest number of instances for which the search solves equations among the hypotheses."""
MOST_ROUNDS = 6
"""If few rounds are enough, only this many of the smallest integers are drawn from a range without an upper end."""
THIN = 160
"""Number of attempts to find an instance in a thin set; half of them start at the tightest instance."""
MOST = 5
"""Largest number of draws, and of rejected draws, per wanted instance."""


def sample(tried: Tried, wanted: int) -> bool:
    """Evaluate all instances if they are few; otherwise corners, constants of the source code and random draws.

    Parameters
    ----------
    tried
        The state of the search, to which the results are added.
    wanted
        Number of admissible instances to evaluate.

    Returns
    -------
    bool
        Whether the space contains instances that were not evaluated.
    """
    statement, space = tried.statement, tried.space
    listed = space.instances(wanted)
    if listed is not None:
        for instance in listed:
            if not tried.is_open:
                break
            tried.evaluate(instance)
        else:
            tried.coverage.exhausted = not tried.coverage.stopped
        tried.coverage.listed = tried.instances
        if space.complete:
            return False
        # the rest is drawn off the grid; a random statement gets only as many instances as share its error level
        wanted = max(0 if statement.random else wanted // 4, wanted - len(listed))
    start = tried.instances

    def is_open() -> bool:
        return tried.is_open and tried.instances - start < wanted and len(tried.outside) < MOST * wanted

    if not space.drawn:
        for instance in itertools.islice(space.corners(), min(CORNERS, wanted // 2)):
            if not tried.is_open:
                break
            tried.evaluate(instance)
        # counterexamples to random statements cannot be simplified
        for instance in () if statement.random else numbers_of_the_source(tried):
            if not is_open():
                break
            tried.within_limit(instance, partial(tried.evaluate, instance))
    if not space.drawn and not statement.random:
        if len(tried.outside) > RARE * tried.instances:
            solve(tried, stream_of(tried, "equations"), max(wanted // 4, FEW))
        tried.probing = True
        for instance in powers_of_ten(tried):
            if not is_open():
                break
            tried.within_limit(instance, partial(tried.evaluate, instance))
        tried.probing = False
    for number in range(MOST * wanted):  # some draws repeat known instances
        if not is_open():
            break
        draw_admissible(tried, stream_of(tried, "instance", number))
    is_thin = tried.instances <= RARE * len(tried.outside)
    if is_thin and not space.drawn and not statement.random:
        approach(tried, stream_of(tried, "thin sets"), THIN)
    return True


def stream_of(tried: Tried, *axes: Any) -> np.random.Generator:
    """Return the random generator of a search, which does not depend on names of claims, lines or quantities."""
    return generator(tried.evaluator.seed, "search", *axes)


def numbers_of_the_source(tried: Tried) -> Iterator[dict[str, Any]]:
    """Yield instances in which one quantity equals a constant of the source code, or that constant plus or minus 1."""
    space, stream = tried.space, stream_of(tried, "numbers of the source")
    for name, value in neighbours(space, numbers_in(tried.statement.function)):
        for _ in range(OTHERS if len(space.ranges) > 1 else 1):
            drawn = space.draw(stream, 1)
            if drawn is None:
                continue
            moved = space.fit({**drawn, name: value})
            if space.holds(moved):
                yield moved


def powers_of_ten(tried: Tried) -> Iterator[dict[str, Any]]:
    """Yield instances in which a quantity, or its distance from an end of its range, is a power of ten."""
    space, stream = tried.space, stream_of(tried, "powers of ten")
    numbers = [(name, each) for name, each in space.ranges.items() if isinstance(each, Rationals | Reals)]
    for (name, allowed), exponent in itertools.product(numbers, EXPONENTS):
        drawn = space.draw(stream, 1)
        if drawn is None:
            continue
        small: Any = Fraction(1, 10**exponent) if isinstance(allowed, Rationals) else 10.0**-exponent
        low, high = allowed.tried_ends(drawn)
        large = 1 / small
        for value in dict.fromkeys((small, -small, low + small, high - small, large, -large)):
            moved = space.fit({**drawn, name: value})
            if space.holds(moved) and not space.multiples(moved):
                yield moved


def draw_admissible(tried: Tried, stream: np.random.Generator) -> None:
    """Draw an instance, and redraw the quantities of the first false hypothesis until all hypotheses hold."""
    space, farthest, instance = tried.space, tried.coverage.farthest, None
    tightest = [each.tightest for each in tried.lines.values() if each.tightest and not each.found]
    share = CLIMBING if tried.instances > RARE * len(tried.outside) else 1 - CLIMBING
    if tightest and not tried.statement.random and stream.random() < share:
        start, nudged = tightest[int(stream.integers(len(tightest)))].instance, bool(stream.integers(2))
        names = some(stream, list(space.ranges))
        instance = space.draw(stream, farthest, start=start, names=names, nudged=nudged)
    instance = instance or space.draw(stream, farthest)
    for _ in range(REDRAWS):
        if instance is None:
            instance = space.draw(stream, tried.coverage.farthest)
            continue
        if tried.is_proved:
            instance = few_rounds(space, instance)
        if tried.evaluate_within_limit(instance) is not None:
            return
        names = space.named_in(tried.outside[-1][0]) if tried.outside else list(space.ranges)
        instance = space.draw(stream, tried.coverage.farthest, start=instance, names=some(stream, names))


def few_rounds(space: Space, instance: Instance) -> dict[str, Any]:
    """Replace integers of unbounded ranges by small ones, because many rounds make programs and fractions large."""
    few: dict[str, Any] = {}
    for name, allowed in space.ranges.items():
        few[name] = instance[name]
        if isinstance(allowed, Integers) and allowed.high is None:
            least = allowed.tried_ends(few)[0]
            few[name] = least + (instance[name] - least) % MOST_ROUNDS
    return few


def some(stream: np.random.Generator, names: Sequence[str]) -> list[str]:
    """Draw a random nonempty subset of the names."""
    return [name for name in names if stream.random() < 0.5] or [names[int(stream.integers(len(names)))]]
