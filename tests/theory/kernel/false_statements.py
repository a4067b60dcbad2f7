"""False statements, built to be called certified: by wrap-around, floats, memory, the world outside, or symbols."""

import math
import os
import random
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from clusterproof.theory.claims import Sides, at_most, choice, equal, integers, rationals

Share = Annotated[Any, rationals(0, 1, 4)]
Few = Annotated[Any, choice(1, 2, 3, 4)]
CALLS = [0]
SEEN: dict[int, int] = {}
FALSE: list[Callable[..., Any]] = []


def false(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep a false statement."""
    FALSE.append(function)
    return function


@false
def wraps(n: Few) -> Sides:
    return at_most(int(np.int64(2**62) * np.int64(n)), bound=2**62)


@false
def wraps_in_a_fraction(n: Few) -> Sides:
    return at_most(Fraction(np.int64(2**62) * np.int64(2), 1) + 0 * n, bound=0)


@false
def rounds(n: Few) -> Sides:
    return equal((int(1e16 + n) - 10**16, 0))


@false
def counts_its_calls(n: Few) -> Sides:
    CALLS[0] += 1
    return at_most(0 if CALLS[0] > -1 else n, bound=0)


@false
def remembers_in_a_default(n: Few, *, seen: Any = []) -> Sides:  # noqa: B006 - the attempt
    seen.append(n)
    return at_most(n if len(seen) > 10**9 else 0, bound=0)


@false
def reads_the_environment(n: Few) -> Sides:
    return at_most(0 if os.environ.get("PATH") else n, bound=0)


@false
def reads_the_clock(n: Few) -> Sides:
    return at_most(0 if time.time() > 0 else n, bound=0)


@false
def reads_its_caller(n: Few) -> Sides:
    return at_most(n if sys._getframe(1).f_code.co_name == "nobody" else 0, bound=0)


@false
def swallows_an_error(n: Few) -> Sides:
    try:
        x: Any = Fraction(n, n - n)
    except ZeroDivisionError:
        x = 0
    return at_most(x, bound=-n)


@false
def asks_for_a_type(x: Share) -> Sides:
    return at_most(x if type(x) is Fraction and x == Fraction(7, 1013) else 0 * x, bound=0 * x)


@false
def asks_for_identity(x: Share) -> Sides:
    return at_most(0 * x if (x + 0) is not x else x, bound=0 * x)


@false
def asks_for_a_text(x: Share) -> Sides:
    return at_most(0 * x if "object" in f"{x!r}" else x, bound=0 * x)


@false
def asks_for_an_attribute(x: Share) -> Sides:
    return at_most(0 * x if hasattr(x, "top") else x, bound=0 * x)


@false
def catches_what_symbols_raise(x: Share) -> Sides:
    try:
        y = x if Fraction(998, 1000) < x < Fraction(999, 1000) else 0 * x
    except Exception:
        y = 0 * x
    return at_most(y, bound=0 * x)


@false
def compares_nothing(n: Few) -> Sides:
    return at_most(np.zeros(0, dtype=object), bound=-n)


@false
def compares_an_empty_list(n: Few) -> Sides:
    return equal(*((each, n) for each in []))


@false
def compares_as_it_likes(n: Few) -> Sides:
    class Number(Fraction):
        def __le__(self, other: Any) -> bool:
            return True

    return at_most(Number(n), bound=Fraction(0))


@lru_cache
def cached(n: Any) -> Any:
    return n


@false
def fills_a_cache(n: Few) -> Sides:
    return at_most(cached(n) - n, bound=-1 if len(SEEN) > 5 else 0) if SEEN else at_most(n, bound=0)


@false
def asks_for_an_address(n: Few) -> Sides:
    return at_most(0 if id(n) else n, bound=0)


@false
def draws(n: Few) -> Sides:
    return at_most(0 if random.Random(0).random() < 0.9 else n, bound=0)


@false
def holds_but_at_one_number(n: Annotated[int, integers(1, 10**12)]) -> Sides:
    return at_most(int(n == 777_777_777), bound=0)


@false
def infinite(n: Few) -> Sides:
    return at_most(n, bound=math.inf - math.inf)
