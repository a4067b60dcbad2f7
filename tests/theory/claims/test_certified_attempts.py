"""Attempts to get something certified that is false: none is."""

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from attempts import Digit, Number, Share, verdict_on

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory import Kind
from clusterproof.theory.claims import Sides, at_least, at_most, given, integers, rationals, suppose

CALLS = {"number": 0}
NUMBER = 0


@pytest.fixture(autouse=True)
def fresh() -> None:
    global NUMBER
    CALLS["number"], NUMBER = 0, 0
    by_first.cache_clear()


def is_certified(function: Any) -> bool:
    try:
        return verdict_on(function, evaluations=100).verdict is Kind.CERTIFIED
    except InvalidArgument:
        return False


# ---- exhausted spaces; int(x) keeps a function from being a formula of symbols, whose sides are compared otherwise


class First(int):
    """Equal to every other, so that a cache keeps one answer."""

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return True


@functools.cache
def by_first(key: First, value: Any = None) -> int:
    return int(key)


def memory_of(known: dict[Any, int], key: Callable[..., Any]) -> Callable[..., Sides]:
    def cached(x: Digit, y: Digit) -> Sides:
        return at_most(known.setdefault(key(x, y), int(x) * y), bound=0 if key(x, y) == x else 81)

    return cached


def memory_inside_an_array(x: Digit, y: Digit, *, known: Any = {}) -> Sides:  # noqa: B006 - the attempt
    entries = np.zeros(2000, dtype=object)  # of which repr writes the ends
    entries[1000] = known.setdefault(int(x), int(x) * y)
    return at_most(entries, bound=0)


def own_cache(x: Digit) -> Sides:
    return at_most(by_first(First(x)), zero=0)


def last_only(x: Digit, y: Digit, *, last: Any = {}) -> Sides:  # noqa: B006 - the attempt
    if last.get("x") != int(x):
        last.update(x=x, value=x * y)
    return at_most(last["value"], zero=0)


def counted(x: Digit) -> Sides:
    x = int(x)
    CALLS["number"] += 1
    return at_most(x * (CALLS["number"] > 10), zero=0)


def global_number(x: Digit) -> Sides:
    global NUMBER
    x = int(x)
    NUMBER += 1
    return at_most(x * (NUMBER > 10), zero=0)


def mutable_default(x: Digit, *, seen: Any = []) -> Sides:  # noqa: B006 - the attempt
    seen.append(int(x))
    return at_most(max(x - seen[0], 0) if len(seen) > 10 else 0, zero=0)


def swallowed(x: Digit) -> Sides:
    try:
        suppose("x is large", int(x) > 99)
    except Exception:
        return at_most(0, zero=0)
    return at_most(x, zero=0)


def swallowed_half(x: Digit) -> Sides:
    try:
        suppose("x is 0", int(x) == 0)
    except Exception:
        x = 0
    return at_most(x, zero=0)


def swallowed_beside_a_line(x: Digit) -> dict[str, Any]:
    """The hypothesis of a line is meant to be caught, one of its name is not."""
    line = given("x is 0", int(x) == 0, lambda: at_most(x, zero=0))
    try:
        suppose("x is 0", x == 0)
    except Exception:
        x = 0
    return {"(1)": line, "(2)": at_most(x, zero=0)}


def not_a_number(x: Digit) -> Sides:
    suppose("x is small", float("nan") if int(x) > 0 else True)
    return at_most(x, zero=0)


def float_hypothesis(x: Digit) -> Sides:
    suppose("x is small", np.float64(int(x)) * 0.1 <= 0.3)  # drops x = 3
    return at_most(x, two=2)


def sums_of_booleans(x: Digit) -> Sides:
    return at_most(np.bool_(int(x) > 2) + np.bool_(x > 3), one=1)


def overflow(x: Annotated[int, integers(20, 30)]) -> Sides:
    with np.errstate(all="ignore"):
        return at_most(np.int64(10) ** np.int64(x), bound=10**19)


def overflow_in_an_array(x: Annotated[int, integers(20, 30)]) -> Sides:
    return at_most(np.array([10]) ** x, bound=10**19)


def always(kind: type) -> type:
    """A number that is at most every other."""
    return type(
        "Always",
        (kind,),
        {
            "__le__": lambda self, other: True,
            "__gt__": lambda self, other: False,
            "__sub__": lambda self, other: type(self)(-1),
            "__rsub__": lambda self, other: type(self)(1),
        },
    )


Part, Whole = always(Fraction), always(int)


def subclass_of_fraction(x: Digit) -> Sides:
    return at_most(Part(int(x)), zero=Part(0))


def subclass_of_int(x: Digit) -> Sides:
    return at_most(Whole(int(x)), zero=Whole(0))


DISHONEST = [
    own_cache,
    last_only,
    counted,
    global_number,
    mutable_default,
    memory_of({}, lambda x, y: x),
    memory_inside_an_array,
    swallowed,
    swallowed_half,
    swallowed_beside_a_line,
    not_a_number,
    float_hypothesis,
    sums_of_booleans,
    overflow,
    overflow_in_an_array,
    subclass_of_fraction,
    subclass_of_int,
]


@pytest.mark.slow(reason="a second or more")
@pytest.mark.parametrize("function", DISHONEST)
def test_an_exhausted_space_of_a_dishonest_function_is_not_certified(function: Any) -> None:
    assert not is_certified(function)


def test_a_memory_of_ones_own_is_not_of_the_language() -> None:
    """Nothing is wrong with it, and nothing is proved of it."""
    assert not is_certified(memory_of({}, lambda x, y: (x, y)))


# ---- symbols


def catching(x: Share) -> Sides:
    try:
        large = x > Fraction(1, 3)
        return at_most(x, bound=Fraction(1, 3)) if large else at_most(0, bound=0)
    except TypeError:
        return at_most(0, bound=0)


def catching_a_power(x: Share) -> Sides:
    try:
        return at_most(x ** Fraction(1, 2) if x != 0 else 0, bound=Fraction(1, 9))  # type: ignore[arg-type]
    except TypeError:
        return at_most(0, bound=0)


def catching_a_text(x: Share) -> Sides:
    try:
        return at_most(x * (len(str(x)) > 6), bound=0)
    except TypeError:
        return at_most(0, bound=0)


# ---- statements beside a true one

Above = Annotated[Fraction, rationals(1, 9, 20)]


def square(x: Above) -> Sides:
    """Proved: x <= x^2 from 1 on."""
    return at_most(x, square=x**2)


def printed(x: Above) -> Sides:
    return at_most(2 * x - Fraction(1), square=x**2 - Fraction(1, 10**9) * (x > 8))


def clipped(x: Above) -> Sides:
    return at_most(x, square=x**2 if x < 8 else Fraction(8))


def larger(x: Above, y: Number) -> Sides:
    return at_most(y if y < 8 else Fraction(y, 2), product=x * y if y < 8 else Fraction(y, 3))


def altered(x: Above) -> Sides:
    sides = square(x)
    terms: Any = sides.terms
    terms["square"] = x**2 if x < 8 else x / 2
    return sides


def reversed_(x: Above) -> Sides:
    """The other direction, with the sides of the proof: false from 1 on."""
    return at_least(Fraction(x) if x < 9 else 81, square=x**2)


@pytest.mark.parametrize("function", [printed, clipped, larger, altered, reversed_])
def test_a_statement_beside_a_true_one_is_not_certified(function: Any) -> None:
    assert not is_certified(function)


@pytest.mark.parametrize("function", [catching, catching_a_power, catching_a_text])
def test_what_symbols_refuse_may_not_be_caught(function: Any) -> None:
    assert not is_certified(function)


def test_a_theorem_that_asks_for_types_is_not_certified() -> None:
    def theorem(kappa: Above) -> Sides:
        return square(Fraction(1) if isinstance(kappa, Fraction) else kappa)

    assert not is_certified(theorem)


def test_the_statement_itself_is_proved_on_symbols() -> None:
    def theorem(kappa: Above) -> Sides:
        return at_most(Fraction(kappa), square=kappa * kappa)

    assert verdict_on(theorem, evaluations=60).proof == "signs"
