"""Attempts to get something certified that is false: none is."""

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from toy_claims import Digit, Share, claim

from clusterproof import theory
from clusterproof.algorithms import InvalidArgument
from clusterproof.theory import Kind
from clusterproof.theory.checker import Sides, at_most, integers, rationals, suppose

Number = Annotated[Fraction, rationals(1, 9, 20)]
Small = Annotated[int, integers(0, 3)]

CALLS = {"number": 0}
NUMBER = 0


@pytest.fixture(autouse=True)
def fresh(registry: Any) -> None:
    global NUMBER
    CALLS["number"], NUMBER = 0, 0
    by_first.cache_clear()


class First(int):
    """Equal to every other, so that a cache keeps one answer."""

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return True


@functools.cache
def by_first(key: First, value: Any = None) -> int:
    return int(key)


def memory_of(known: dict[int, int]) -> Callable[..., Sides]:
    def cached(x: Digit, y: Digit) -> Sides:
        return at_most(known.setdefault(x, x * y), zero=0)

    return cached


def own_cache(x: Digit) -> Sides:
    return at_most(by_first(First(x)), zero=0)


def last_only(x: Digit, y: Digit, *, last: Any = {}) -> Sides:  # noqa: B006 - the attempt
    if last.get("x") != x:
        last.update(x=x, value=x * y)
    return at_most(last["value"], zero=0)


def counted(x: Digit) -> Sides:
    CALLS["number"] += 1
    return at_most(x * (CALLS["number"] > 10), zero=0)


def global_number(x: Digit) -> Sides:
    global NUMBER
    NUMBER += 1
    return at_most(x * (NUMBER > 10), zero=0)


def mutable_default(x: Digit, *, seen: Any = []) -> Sides:  # noqa: B006 - the attempt
    seen.append(x)
    return at_most(max(x - seen[0], 0) if len(seen) > 10 else 0, zero=0)


def swallowed(x: Digit) -> Sides:
    try:
        suppose("x is large", x > 99)
    except Exception:
        return at_most(0, zero=0)
    return at_most(x, zero=0)


def swallowed_half(x: Digit) -> Sides:
    try:
        suppose("x is 0", x == 0)
    except Exception:
        x = 0
    return at_most(x, zero=0)


def not_a_number(x: Digit) -> Sides:
    suppose("x is small", float("nan") if x > 0 else True)
    return at_most(x, zero=0)


def array_hypothesis(x: Digit) -> Sides:
    suppose("x is small", np.float64(x) * 0.1 <= 0.3 and np.bool_(True))
    return at_most(x, two=2 if x <= 2 else 3)


def sums_of_booleans(x: Digit) -> Sides:
    return at_most(np.bool_(x > 2) + np.bool_(x > 3), one=1)


def overflow(x: Annotated[int, integers(20, 30)]) -> Sides:
    with np.errstate(all="ignore"):
        return at_most(np.int64(10) ** np.int64(x), bound=10**19)


def overflow_in_an_array(x: Annotated[int, integers(20, 30)]) -> Sides:
    return at_most(np.array([10]) ** x, bound=10**19)


class Part(Fraction):
    """A fraction that is at most every other."""

    def __le__(self, other: Any) -> bool:
        return True

    def __gt__(self, other: Any) -> bool:
        return False

    def __sub__(self, other: Any) -> Any:
        return Part(-1)

    def __rsub__(self, other: Any) -> Any:
        return Part(1)


class Whole(int):
    """A whole number that is at most every other."""

    def __le__(self, other: Any) -> bool:
        return True

    def __gt__(self, other: Any) -> bool:
        return False

    def __sub__(self, other: Any) -> Any:
        return Whole(-1)

    def __rsub__(self, other: Any) -> Any:
        return Whole(1)


def subclass_of_fraction(x: Digit) -> Sides:
    return at_most(Part(x), zero=Part(0))


def subclass_of_int(x: Digit) -> Sides:
    return at_most(Whole(x), zero=Whole(0))


@pytest.mark.parametrize(
    "function",
    [
        own_cache,
        last_only,
        counted,
        global_number,
        mutable_default,
        swallowed,
        swallowed_half,
        not_a_number,
        array_hypothesis,
        sums_of_booleans,
        overflow,
        overflow_in_an_array,
        subclass_of_fraction,
        subclass_of_int,
    ],
)
def test_an_exhausted_space_of_a_dishonest_function_is_not_certified(function: Any) -> None:
    assert not is_certified(function)


def test_a_cache_with_a_wrong_key_is_not_certified() -> None:
    assert not is_certified(memory_of({}))


def test_a_cache_with_the_right_key_is() -> None:
    known: dict[tuple[int, int], int] = {}

    def cached(x: Digit, y: Digit) -> Sides:
        return at_most(known.setdefault((x, y), x * y), bound=81)

    assert is_certified(cached)
    assert len(known) == 100


def is_certified(function: Any, **how: Any) -> bool:
    claim(function, **how)
    try:
        return theory.check("toy/one").verdict is Kind.CERTIFIED
    except InvalidArgument:
        return False


def catching(x: Share) -> Sides:
    try:
        large = x > Fraction(1, 3)
        return at_most(x, bound=Fraction(1, 3)) if large else at_most(0, bound=0)
    except TypeError:
        return at_most(0, bound=0)


def catching_a_power(x: Share) -> Sides:
    try:
        return at_most(x ** Fraction(1, 2) if x != 0 else 0, bound=Fraction(1, 9))
    except TypeError:
        return at_most(0, bound=0)


def catching_a_text(x: Share) -> Sides:
    try:
        return at_most(x * (len(str(x)) > 6), bound=0)
    except TypeError:
        return at_most(0, bound=0)


@pytest.mark.parametrize("function", [catching, catching_a_power, catching_a_text])
def test_what_symbols_refuse_may_not_be_caught(function: Any) -> None:
    assert not is_certified(function, prove=True)


def square(x: Number) -> Sides:
    """Proved: x <= x^2 from 1 on."""
    return at_most(x, square=x**2)


def product(x: Number, y: Number) -> Sides:
    """Proved: y <= x y for x >= 1."""
    return at_most(y, product=x * y)


def printed(x: Number) -> Sides:
    return at_most(2 * x - Fraction(1), square=x**2 - Fraction(1, 10**9) * (x > 8))


def clipped(x: Number) -> Sides:
    return at_most(x, square=x**2 if x < 8 else Fraction(8))


def larger(x: Number, y: Number) -> Sides:
    return at_most(y if y < 8 else Fraction(y, 2), product=x * y if y < 8 else Fraction(y, 3))


def altered(x: Number) -> Sides:
    sides = square(x)
    terms: Any = sides.terms
    terms["square"] = x**2 if x < 8 else x / 2
    return sides


@pytest.mark.parametrize(
    ("function", "proof", "at"),
    [
        pytest.param(clipped, square, lambda x: {"x": min(x, Fraction(8))}, id="clipped argument"),
        pytest.param(printed, square, lambda x: {"x": x}, id="another function"),
        pytest.param(larger, product, lambda x, y: {"x": x, "y": max(x, y)}, id="max(x, y) for y"),
        pytest.param(clipped, square, lambda x: {"x": 1}, id="at 1"),
        pytest.param(altered, square, lambda x: {"x": x}, id="terms changed after the call"),
    ],
)
def test_a_proof_of_something_else_certifies_nothing(function: Any, proof: Any, at: Any) -> None:
    theorem = claim(function, budget=60)
    theorem.proof("algebra", at=at)(proof)
    assert theory.check("toy/one").verdict is not Kind.CERTIFIED


@pytest.mark.parametrize("at", [None, lambda kappa: {"x": kappa}])
def test_a_theorem_that_returns_its_proof_at_1_is_not_certified(at: Any) -> None:
    proved: list[Any] = []

    def theorem(kappa: Number) -> Sides:
        sides: Sides = proved[0](Fraction(1))
        return sides

    proved.append(claim(theorem, budget=60).proof("algebra", **({} if at is None else {"at": at}))(square))
    assert theory.check("toy/one").verdict is not Kind.CERTIFIED


def test_the_same_proof_of_what_is_stated_certifies() -> None:
    def stated(y: Number) -> Sides:
        return at_most(y, square=y * y)

    claim(stated, budget=60).proof("algebra", at=lambda y: {"x": y})(square)
    assert theory.check("toy/one").verdict is Kind.CERTIFIED
