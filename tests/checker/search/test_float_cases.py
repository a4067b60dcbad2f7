"""Theorems that floats get wrong: true ones that were accused, and false ones that passed or that were not decided."""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from toy_claims import decided

from clusterproof.checker import Kind
from clusterproof.checker.claims import (
    Function,
    Sides,
    at_least,
    at_most,
    choice,
    equal,
    functions,
    integers,
    least,
    matrices,
    rationals,
    reals,
    suppose,
)

pytestmark = [
    pytest.mark.usefixtures("registry"),
    pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning"),
]
Tail = Annotated[Fraction, rationals(0, Fraction(1, 8), 8)]
Far = Annotated[float, reals(-1000, 1000)]
Under = Annotated[float, reals(0, 1e-200)]


def norm(x: Under, y: Under) -> Sides:
    """||(x, y)|| >= max(|x|, |y|), whose squares underflow."""
    return at_least(math.sqrt(x * x + y * y), max(x, y))


def log_sum(a: Far, b: Far) -> Sides:
    """log(e^a + e^b) <= max(a, b) + log 2, where e^1000 overflows."""
    return at_most(np.log(np.exp(a) + np.exp(b)), largest=max(a, b), slack=math.log(2))


def cosine(x: Annotated[float, reals(0, 1e-8)]) -> Sides:
    """1 - cos x >= x^2 / 4 for |x| <= 1, where cos x is 1 in floats."""
    return at_least(1 - math.cos(x), x * x / 4)


def open_end(x: Annotated[Fraction, rationals(0, 1 - Fraction(1, 10**12), 8)]) -> Sides:
    """floor(x) = 0 below 1."""
    return at_most(math.floor(x), 0)


def stirling(n: Annotated[int, integers(1, 200)]) -> Sides:
    """n! >= sqrt(2 pi n) (n / e)^n; from 171 on no float is as large."""
    return at_least(math.factorial(n), math.sqrt(2 * math.pi * n) * (n / math.e) ** n)


def subnormal(x: Annotated[float, reals(0, 1e-320)]) -> Sides:
    """x / 2 + x / 2 = x, where x / 2 is rounded to a multiple of 5e-324."""
    return equal((x / 2 + x / 2, x), rounding=0)


def no_float(x: Annotated[Fraction, rationals(0, Fraction(1, 10**400), 8)]) -> Sides:
    """The range lies below all floats."""
    return at_most(10**400 * x, 1)


@pytest.mark.parametrize("function", [norm, log_sum, cosine, open_end, stirling, subnormal, no_float])
def test_a_true_theorem_is_not_accused(function: Callable[..., Sides]) -> None:
    found = decided(function, evaluations=200)
    assert found.verdict in (Kind.CONSISTENT, Kind.CERTIFIED), found.reason


def bernstein(
    n: Annotated[int, integers(120, 150)], p: Annotated[Fraction, choice(Fraction(1, 100))], t: Tail
) -> Sides:
    """Bernstein's inequality with t / 3 in place of 2 t / 3: false in rare corners, with tails of 1e-15."""
    suppose("t > 0", t > 0)
    tail = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(math.ceil(n * (p + t)), n + 1))
    return at_most(float(tail), bound=math.exp(-float(n * t**2 / (2 * p * (1 - p) + t / 3))))


def rate(rounds: Annotated[int, integers(1, 200)]) -> Sides:
    """Gradient descent at the rate 3/4, not .7: the constant 1000 hides it until both sides are 1e-13."""
    hessian, x = np.diag([0.25, 0.5, 1.0]), np.ones(3)
    for _ in range(rounds):
        x = x - hessian @ x
    return at_most(float(np.linalg.norm(x)), rate=1000 * 0.7**rounds)


def zero_only(x: Annotated[Fraction, rationals(0, Fraction(1, 10**16), 8)]) -> Sides:
    return at_most(10**16 * x, 0)


def condition(mu: Annotated[Fraction, rationals(Fraction(1, 10**10), 1, 8)]) -> Sides:
    return at_most(1 / mu, 10**9)


def wrapped_to_nothing(n: Annotated[int, integers(1, 80)]) -> Sides:
    """2^n <= 1e20 is false from n = 67 on; in NumPy's integers 2^64 is 0."""
    return at_most(np.prod(np.full(n, 2)), 1e20)


def beyond_floats(n: Annotated[int, integers(1, 500)]) -> Sides:
    """Stirling's formula is short by 1 / (12 n) only, which is less than .0002 from n = 417 on."""
    return at_least(math.factorial(n), 1.0002 * math.sqrt(2 * math.pi * n) * (n / math.e) ** n)


@pytest.mark.parametrize(
    "function", [bernstein, rate, zero_only, condition, wrapped_to_nothing, beyond_floats]
)
def test_a_false_theorem_is_refuted(function: Callable[..., Sides]) -> None:
    assert decided(function).verdict is Kind.VIOLATED


def test_a_violation_that_only_a_look_at_all_instances_shows_is_one() -> None:
    """2^-n is 0 in floats from n = 1075 on, and so is not positive; at most one instance in sixteen is looked at."""

    def underflow(n: Annotated[int, integers(1070, 1100)]) -> Sides:
        return at_most(0.5**n * (1 if n == 1089 else 0), 0.0, rounding=0)

    assert decided(underflow).verdict is Kind.VIOLATED


def test_whole_numbers_that_may_wrap_around_are_always_looked_at_over_the_real_numbers() -> None:
    """2^67 is 0 in NumPy's integers; few of the instances have it, and not all are listed."""

    def seldom(n: Annotated[int, integers(1, 10**6)]) -> Sides:
        return at_most(np.power(2, 67 if 7 * n % 401 == 3 else 3), 1e20)

    assert decided(seldom).verdict is Kind.VIOLATED


def test_the_words_on_the_best_iterate_say_what_to_write() -> None:
    """Three subgradient steps of size 1/2: min f(x_k) - f* <= 1/2, whose proof needs the least of the differences."""
    Lipschitz = Annotated[Function, functions(lipschitz=1, distance=1)]

    def best(f: Lipschitz) -> Sides:  # type: ignore[valid-type]
        x, values = f.start, [f(f.start)]
        for _ in range(3):
            x = x - f.gradient(x) / 2
            values.append(f(x))
        return at_most(least(*values) - f.minimum, bound=Fraction(1, 2))

    found = decided(best, evaluations=30)
    assert found.verdict is Kind.INCONCLUSIVE
    assert "least(*(value - f.minimum for value in values))" in found.reason


def test_instances_that_floats_break_are_not_among_those_that_hold() -> None:
    """A rank is 0 or 1 in floats as rounding falls; nothing is known of it over the real numbers."""

    def ranks(n: Annotated[int, integers(1, 40)]) -> Sides:
        return at_most(int(np.random.default_rng(n).normal(size=3)[0] > 0), 0)

    found = decided(ranks)
    positive = sum(np.random.default_rng(n).normal(size=3)[0] > 0 for n in range(1, 41))
    assert found.verdict is Kind.INCONCLUSIVE
    assert f"holds on {40 - positive} of all 40 instances" in found.reason

    def ranks_of_fractions(x: Annotated[Fraction, rationals(0, 1, 8)]) -> Sides:
        return at_most(int(np.random.default_rng(x.numerator).normal() > 0), 0)

    counted = re.search(
        r"holds on (\d+) of (\d+) instances", decided(ranks_of_fractions, evaluations=60).reason
    )
    assert counted is not None
    assert int(counted[1]) < int(counted[2]) == 60


def test_matrices_that_underflow_keep_their_norms() -> None:
    def product(a: Annotated[Any, matrices(2, 2, reals(-1e-180, 1e-180))]) -> Sides:
        """||A||_2 >= ||A||_F / sqrt 2."""
        norms = [np.linalg.norm(a.astype(float), kind) for kind in (2, "fro")]
        return at_least(norms[0], norms[1] / math.sqrt(2))

    assert decided(product, evaluations=60).verdict is Kind.CONSISTENT
