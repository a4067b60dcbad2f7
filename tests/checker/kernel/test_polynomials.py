"""Polynomials of packed exponents against those of FLINT, and signs of polynomials against their values at points."""

from fractions import Fraction
from itertools import product

import pytest
from flint import fmpq, fmpq_mpoly_ctx
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.polynomials import (
    LARGEST,
    Polynomial,
    constant,
    divided,
    plus,
    raised,
    times,
)
from clusterproof.checker.kernel.positivity import sign_of
from clusterproof.checker.kernel.quotients import Fact, Quotient

WIDTH = 3
OF_FLINT = fmpq_mpoly_ctx.get(["x", "y", "z"], "lex")
NUMBERS = st.fractions(min_value=-9, max_value=9, max_denominator=12)
POLYNOMIALS = st.dictionaries(st.tuples(*[st.integers(0, 4)] * WIDTH), NUMBERS.filter(bool), max_size=5).map(
    lambda terms: Polynomial.of(terms, WIDTH)
)


def of_flint(p: Polynomial):
    return OF_FLINT.from_dict({k: fmpq(v.numerator, v.denominator) for k, v in p.items()})


@given(POLYNOMIALS, POLYNOMIALS, NUMBERS)
def test_sums_and_products_are_those_of_flint(p: Polynomial, q: Polynomial, c: Fraction) -> None:
    factor = fmpq(c.numerator, c.denominator)
    assert of_flint(plus(p, q, c)) == of_flint(p) + factor * of_flint(q)
    assert of_flint(times(p, q)) == of_flint(p) * of_flint(q)
    assert of_flint(raised(p, 3, WIDTH)) == of_flint(p) ** 3
    assert of_flint(-p) == -of_flint(p)


@given(POLYNOMIALS, POLYNOMIALS.filter(bool), POLYNOMIALS)
def test_a_quotient_is_found_if_it_is_a_polynomial_and_only_then(
    p: Polynomial, q: Polynomial, rest: Polynomial
) -> None:
    assert divided(times(p, q), q) == p
    found = divided(rest, q)
    _, left = divmod(of_flint(rest), of_flint(q))
    assert (found is None) == (left != 0)


@given(POLYNOMIALS, POLYNOMIALS)
def test_equal_polynomials_are_written_alike(p: Polynomial, q: Polynomial) -> None:
    again = plus(plus(p, q), q, -1)
    assert again == p
    assert hash(again) == hash(p)
    assert dict(again) == dict(p)
    assert (p == q) == (of_flint(p) == of_flint(q))


@given(POLYNOMIALS, st.integers(0, WIDTH - 1))
def test_parts_and_places(p: Polynomial, place: int) -> None:
    symbol = Quotient.symbol(place, WIDTH).top
    total = Polynomial.of({}, WIDTH)
    for power, part in p.parts(place).items():
        assert place not in part.places
        total = plus(total, times(part, raised(symbol, power, WIDTH)))
    assert total == p
    assert p.places == {n for powers in p for n, power in enumerate(powers) if power}


def test_no_exponent_reaches_the_next_one() -> None:
    x, y = (Quotient.symbol(place, 2).top for place in range(2))
    high = Polynomial.of({(LARGEST - 1, 0): 1}, 2)
    assert dict(times(high, x)) == {(LARGEST, 0): 1}
    for refused in (
        lambda: times(times(high, x), x),
        lambda: raised(raised(x, 1000, 2), 1000, 2),
        lambda: Polynomial.of({(LARGEST, 0): 1}, 2),
        lambda: Polynomial.of({(-1, 1): 1}, 2),
        lambda: Polynomial.of({(1,): 1}, 2),
    ):
        with pytest.raises(Refused):
            refused()
    assert divided(y, x) is None
    assert divided(x, y) is None
    assert divided(times(high, x), times(x, y)) is None


def test_an_exponent_of_a_quotient_is_not_carried_into_the_next_symbol() -> None:
    """(x - y^n) (x + y^n) y^4 = x^2 y^4 - y^(2 n + 4), where 2 n + 4 = 2^16 is x."""
    y, x = Polynomial.of({(1, 0): 1}, 2), Polynomial.of({(0, 1): 1}, 2)
    high = times(raised(y, 16_383, 2), raised(y, 16_383, 2))
    p = plus(times(times(x, x), raised(y, 4, 2)), x, -1)
    assert divided(p, plus(x, high, -1)) is None
    assert divided(times(x, plus(x, raised(y, 9, 2), -1)), plus(x, raised(y, 9, 2), -1)) == x


WIDTH_SIGNS = 2
ONE = constant(1, WIDTH_SIGNS)
X, Y = (Quotient.symbol(place, WIDTH_SIGNS) for place in range(WIDTH_SIGNS))
BOX = [(0, 1), (0, None)]
GRID = [(Fraction(x, 4), Fraction(y, 3)) for x, y in product(range(5), range(12))]
POLYNOMIALS_SIGNS = st.dictionaries(
    st.tuples(*[st.integers(0, 2)] * WIDTH_SIGNS), st.integers(-2, 3).filter(bool), min_size=1, max_size=3
).map(lambda terms: Polynomial.of(terms, WIDTH_SIGNS))


def positive(p: Polynomial) -> Fact:
    return Fact(Quotient(p, ONE, WIDTH_SIGNS), strict=True)


def value(p: Polynomial, x: Fraction, y: Fraction) -> Fraction:
    return sum((c * x**i * y**j for (i, j), c in p.items()), start=Fraction(0))


@given(POLYNOMIALS_SIGNS, POLYNOMIALS_SIGNS, st.integers(1, 3), st.integers(0, 2))
def test_a_sign_is_that_of_all_values(q: Polynomial, rest: Polynomial, factor: int, power: int) -> None:
    for p in (
        plus(rest, raised(q, power, WIDTH_SIGNS), factor),
        plus(rest, raised(q, power, WIDTH_SIGNS), -factor),
    ):
        sign = sign_of(p, BOX, [positive(q)])
        assert not sign or all(sign * value(p, *at) > 0 for at in GRID if value(q, *at) > 0)


@pytest.mark.parametrize(
    ("of", "known", "sign"),
    [
        (X + Y, X, 1),
        (-X - Y, Y, -1),
        (X + Y, Y - X, 1),
        (X**2 + 2 * X * Y + Y**2, X, 1),
        (1 - X * Y, 1 - Y, 1),
        (Y - 2 * X, Y - X, 0),
        (X + Y, 1 - X, 0),
        (X * Y + Y, X, 0),
    ],
)
def test_positive_plus_nonnegative_is_positive(of: Quotient, known: Quotient, sign: int) -> None:
    assert sign_of(of.top, BOX, [positive(known.top)]) == sign
    assert sign_of(of.top, BOX, [Fact(known)]) == 0
