"""Sides that are single exact numbers are judged as arrays of them are."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from clusterproof.theory.checker import Sides, at_least, at_most, equal
from clusterproof.theory.checker.comparison import Comparison
from clusterproof.theory.checker.conclusions import _exact_numbers, _sure

NUMBERS = st.one_of(st.integers(-3, 3), st.fractions(-2, 2, max_denominator=4), st.just(10**400))
INEQUALITIES = st.builds(
    lambda conclude, measured, terms: conclude(measured, **terms),
    st.sampled_from([at_most, at_least]),
    NUMBERS,
    st.dictionaries(st.sampled_from(["one", "two", "three"]), NUMBERS, min_size=1),
)
EQUATIONS = st.builds(
    lambda pairs: equal(*pairs), st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=3)
)


@given(INEQUALITIES | EQUATIONS)
def test_numbers_are_judged_as_arrays_are(sides: Sides) -> None:
    assert _exact_numbers(sides) == _sure(sides, Comparison(sides))


def test_other_sides_are_left_to_the_arrays() -> None:
    assert _exact_numbers(at_most(0.5, bound=Fraction(1, 2))) is None
    assert _exact_numbers(at_most(True, bound=1)) is None
    assert _exact_numbers(at_most(0, bound=1, failure=0.5)) is None
    assert _exact_numbers(at_most(1, bound=Fraction(1, 2), rounding=1.0)) is None
