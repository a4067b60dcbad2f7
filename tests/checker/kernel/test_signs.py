"""Signs of polynomials under strict hypotheses, against their values at points."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.checker.kernel.polynomials import Polynomial, constant, plus, raised
from clusterproof.checker.kernel.positivity import sign_of
from clusterproof.checker.kernel.quotients import Fact, Quotient

WIDTH = 2
ONE = constant(1, WIDTH)
X, Y = (Quotient.symbol(place, WIDTH) for place in range(WIDTH))
BOX = [(0, 1), (0, None)]
GRID = [(Fraction(x, 4), Fraction(y, 3)) for x, y in product(range(5), range(12))]
POLYNOMIALS = st.dictionaries(
    st.tuples(*[st.integers(0, 2)] * WIDTH), st.integers(-2, 3).filter(bool), min_size=1, max_size=3
).map(lambda terms: Polynomial.of(terms, WIDTH))


def positive(p: Polynomial) -> Fact:
    return Fact(Quotient(p, ONE, WIDTH), strict=True)


def value(p: Polynomial, x: Fraction, y: Fraction) -> Fraction:
    return sum((c * x**i * y**j for (i, j), c in p.items()), start=Fraction(0))


@given(POLYNOMIALS, POLYNOMIALS, st.integers(1, 3), st.integers(0, 2))
def test_a_sign_is_that_of_all_values(q: Polynomial, rest: Polynomial, factor: int, power: int) -> None:
    for p in (plus(rest, raised(q, power, WIDTH), factor), plus(rest, raised(q, power, WIDTH), -factor)):
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
