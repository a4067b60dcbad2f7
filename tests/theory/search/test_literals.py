"""Numbers of the source: theorems that fail at one number, which only the source names."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import pytest

from clusterproof.theory.claims import Sides, at_most, drawn, equal, integers, rationals, suppose
from clusterproof.theory.claims.statement import Statement
from clusterproof.theory.search.literals import numbers_in
from clusterproof.theory.search.plan import search

Large = Annotated[int, integers(1, 10**9)]
Open = Annotated[int, integers(1, 100, upwards=True)]
Number = Annotated[Fraction, rationals(0, 10**7, 1)]
SPECIAL = 777_771


def at_the_number(n: Large) -> Sides:
    return at_most(1 if n == 777_771 else 0, bound=0)


def after_it(n: Large) -> Sides:
    return at_most(1 if n - 777_770 == 1 else 0, bound=0)


def before_it(n: Large) -> Sides:
    return at_most(int(777_770 < n < 777_772), bound=0)


def by_a_constant(n: Large) -> Sides:
    return at_most(int(n == SPECIAL), bound=0)


def helper(n: int) -> int:
    return (n - 777_771) ** 2


def by_a_helper(n: Large) -> Sides:
    return at_most(1, square=helper(n))


def beside_another(n: Large, m: Annotated[int, integers(1, 50)]) -> Sides:
    return at_most(int(n == 777_771), bound=m - 1 + (m > 1))


def of_a_fraction(x: Number) -> Sides:
    return at_most(1 if x == Fraction(777_771) else 0, bound=0)


def beyond_an_open_end(n: Open) -> Sides:
    return at_most(1 if n == 777_771 else 0, bound=0)


def with_a_hypothesis(n: Large) -> Sides:
    suppose("n > 1000", n > 1000)
    return equal((int(n == 777_771), 0))


def in_a_loop(n: Large) -> Sides:
    return at_most(sum(n == each for each in (5_000_001, 777_771, 3)), bound=int(n in (3, 5_000_001)))


def negative(n: Annotated[int, integers(-(10**9), 0)]) -> Sides:
    return at_most(1 if n == -777_771 else 0, bound=0)


def with_powers(n: Large) -> Sides:
    return at_most(
        777_771**2, square=n**2 + (777_771 - n) ** 2 - (n != 777_771) + 10**13 * (n != 777_771) - 1
    )


FALSE = (
    at_the_number,
    after_it,
    before_it,
    by_a_constant,
    by_a_helper,
    beside_another,
    of_a_fraction,
    beyond_an_open_end,
    with_a_hypothesis,
    in_a_loop,
    negative,
    with_powers,
)


@pytest.mark.parametrize("function", FALSE)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_number_of_the_source_is_tried(function: Callable[..., Any], seed: int) -> None:
    found = search(Statement("", function), seed, "toy/one", 1e-9).lines[""].found
    assert found is not None
    assert 777_771 in (abs(each) for each in found.instance.values())


def test_numbers_of_other_modules_are_not_read() -> None:
    def many(x: Annotated[Any, drawn(lambda stream: stream)]) -> int:
        return len([Fraction(each, 12_345) for each in (1, 2)])

    assert numbers_in(many) == [12_345, 2, 1]
