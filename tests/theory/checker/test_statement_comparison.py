"""Two sides: what breaks, what rounding may do, and the factor that a term needs."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checker import Sides, at_least, at_most, equal, expectation
from clusterproof.theory.checker.comparison import Comparison
from clusterproof.theory.checker.conclusions import Judgement, judge
from clusterproof.theory.checker.rounding import is_exact


def judged(sides: Sides, significance: float = 1e-9) -> Judgement:
    return judge({"": sides}, significance)[""]


def test_exact_numbers_get_no_room() -> None:
    tiny = Fraction(1, 10**30)
    assert not judged(at_most(Fraction(1, 3), bound=Fraction(1, 3))).broken
    assert judged(at_most(Fraction(1, 3) + tiny, bound=Fraction(1, 3))).broken
    assert judged(at_most([Fraction(0), Fraction(1, 3) + tiny], bound=Fraction(1, 3))).broken
    assert judged(at_least(Fraction(1, 3) - tiny, bound=Fraction(1, 3))).broken
    assert judged(equal((Fraction(1, 3) + tiny, Fraction(1, 3)))).broken
    assert not judged(equal((Fraction(1, 3), Fraction(1, 3)))).broken


def test_floating_numbers_get_a_billionth() -> None:
    assert not judged(at_most(0.1 + 0.2, bound=0.3)).broken
    assert judged(at_most(0.3 * (1 + 1e-8), bound=0.3)).broken
    assert judged(at_most(1e-200, bound=1e-201)).broken
    assert judged(at_most(1e-300, nothing=0.0)).broken
    assert not judged(at_most(1e-300, nothing=0.0, rounding=1e-299)).broken


def test_underflow_breaks_nothing() -> None:
    # 1e-12 exp(-718) is about 1.5e-324, which is 0 as a float
    left, right = math.exp(-718), 1e-12 * math.exp(-718)
    assert left > 0 == right
    for sides in (
        at_most(left, bound=1e12 * right),
        at_least(1e12 * right, bound=left),
        equal((left, 1e12 * right)),
        at_most(np.array([left, 0.0]), bound=right),
    ):
        assert not judged(sides).broken


@pytest.mark.parametrize("conclude", [at_most, at_least, equal])
@pytest.mark.parametrize(
    ("side", "rounding", "words"),
    [
        (None, None, "must be real numbers"),
        ("1", None, "must be real numbers"),
        (1j, None, "must be real numbers"),
        # its real part is below 2, and its modulus above
        (np.linalg.eigvals(np.array([[0.0, 5.0], [-5.0, 0.0]])), None, "must be real numbers"),
        (np.float32(0.1) + np.float32(0.2), None, "must be in double precision"),
        (np.ones(3, dtype=np.float16), None, "must be in double precision"),
        (1.0, math.nan, "must be a finite number, at least 0"),
        (1.0, math.inf, "must be a finite number, at least 0"),
        (1.0, -1.0, "must be a finite number, at least 0"),
    ],
)
def test_sides_that_cannot_be_compared_are_refused(
    conclude: Any, side: Any, rounding: float | None, words: str
) -> None:
    def stated() -> Any:
        return (
            equal((side, 2), rounding=rounding)
            if conclude is equal
            else conclude(side, b=2, rounding=rounding)
        )

    with pytest.raises(InvalidArgument, match=words):
        stated()


@pytest.mark.parametrize("failure", [math.nan, -0.1, 1.5])
def test_a_failure_probability_is_a_probability(failure: float) -> None:
    with pytest.raises(InvalidArgument, match="must be a probability"):
        at_most(np.zeros(9), b=1, failure=failure)


def test_single_precision_is_compared_with_a_tolerance_of_its_own() -> None:
    three = np.float32(0.1) + np.float32(0.2)
    assert float(three) > 0.3  # by about the resolution of single precision, 6e-8
    assert not judged(at_most(three, b=0.3, rounding=1e-7)).broken


def test_no_side_is_minus_0() -> None:
    one = judged(at_least(Fraction(-1, 2), bound=0.0))
    assert math.copysign(1, one.allowed) == 1
    assert math.copysign(1, judged(at_most(-0.0, bound=1.0)).measured) == 1


def test_small_entries_of_an_array_are_as_inexact_as_its_largest_one() -> None:
    errors = np.array([1.0, 1e-15])
    sides = at_most(errors, bound=np.array([1.0, 0.5e-15]))
    one = judged(sides)
    assert not one.broken
    assert one.factors["all"] == pytest.approx(1)  # and not 1.8: the room belongs into the factor, too
    assert judged(at_most(np.array([1.0, 1e-8]), bound=np.array([1.0, 0.5e-8]))).broken
    assert not judged(at_most(np.array([-1.0, 1e-15]), bound=np.array([-1.0, 0.5e-15]))).broken
    # of each replicate likewise
    assert judged(at_most(np.array([errors] * 9), bound=np.array([1.0, 0.5e-15]), failure=0.1)).failures == 0


def test_a_diverged_replicate_gives_the_others_no_room() -> None:
    measured = np.array([[1e300], [1.0], [0.0]])
    one = judged(at_most(measured, bound=0.5, failure=0.1))
    assert one.failures == 2


def test_a_diverged_entry_gives_the_others_no_room() -> None:
    half = np.array([math.inf, 0.5e-12])
    assert judged(at_most(np.array([math.inf, 1e-12]), bound=half)).broken
    assert judged(at_most(np.array([[math.inf, 1e-12]] * 9), bound=half, failure=0.1)).failures == 9


@pytest.mark.parametrize("conclude", [lambda x: equal((x, 0.0)), lambda x: at_most(x, nothing=0.0)])
def test_what_holds_only_for_the_rounding_of_large_numbers_is_excused(conclude: Any) -> None:
    """5e-15 is less than 1e-14 of the instance's 1, and no rounding of the sides themselves."""
    for number, broken, excused in ((0.0, False, False), (5e-15, False, True), (2e-14, True, False)):
        (one,) = judge({"": conclude(number)}, 1e-9, {"x": 1.0}).values()
        assert (one.broken, one.excused) == (broken, excused)


def test_nothing_is_needed_where_both_sides_are_0() -> None:
    one = judged(at_most(np.array([0.0, 1.0]), first=np.array([0.0, 2.0]), second=0.0, rounding=0))
    assert one.factors == {"all": 0.5, "first": 0.5, "second": 0}


def test_entries_of_replicates_are_told_apart_by_the_rank_that_the_probability_allows() -> None:
    """More entries in all than are told apart in one array."""
    measured, significance = np.random.default_rng(0).random((60, 300)), 1e-3
    interval = (binomtest(k, 60).proportion_ci(1 - significance) for k in range(61))
    rank = next(k for k, ends in enumerate(interval) if ends.low > 0.5)  # the fewest failures that refute it
    one = judged(at_most(measured, limit=2.0, failure=0.5), significance)
    factors = np.sort(measured, axis=0)[-rank] / 2
    assert one.entries is not None
    np.testing.assert_allclose(one.entries.factors, factors, atol=1e-8)
    assert one.typical == pytest.approx(np.median(factors))
    assert one.factors["all"] == pytest.approx(np.sort(measured.max(axis=1))[-rank] / 2)
    single = judged(at_most(measured[:, 0], limit=2.0, failure=0.5), significance)
    assert single.entries is None
    assert single.typical == pytest.approx(factors[0])


def test_what_is_not_a_number_is_broken_and_may_not_be_allowed() -> None:
    assert judged(at_most(math.nan, bound=1.0)).broken
    assert judged(at_most(np.array([0.0, math.nan]), bound=1.0)).broken
    assert judged(at_most(math.inf, bound=1.0)).broken
    assert not judged(at_most(math.inf, bound=math.inf)).broken
    for allowed in (math.nan, np.array([1.0, math.nan])):
        with pytest.raises(ArithmeticError, match="not a number"):
            judged(at_most(1.0, bound=allowed))


@pytest.mark.parametrize("array", [False, True])
def test_factors_by_hand(array: bool) -> None:
    def number(value: Fraction | int) -> Any:
        return np.array([float(value)] * 2) if array else Fraction(value)

    one = judged(at_most(number(3), first=number(2), second=number(4)))
    assert {name: float(f) for name, f in one.factors.items()} == pytest.approx(
        {"all": 3 / 6, "first": 0, "second": 1 / 4}
    )
    one = judged(at_most(number(3), first=number(8), minus=number(-4)))
    # 3 <= 8 - 4 f holds up to f = 5 / 4: the negative term may be larger by that
    assert {name: float(f) for name, f in one.factors.items()} == pytest.approx(
        {"all": 3 / 4, "first": 7 / 8, "minus": 4 / 5}
    )
    assert judged(at_least(number(8), bound=number(2))).factors["all"] == pytest.approx(1 / 4)
    assert judged(at_least(number(-2), bound=number(-8))).factors["all"] == pytest.approx(1 / 4)
    assert judged(at_least(number(-1), bound=number(-2), other=number(0))).measured == -1


NUMBERS = st.integers(-20, 20).map(lambda n: Fraction(n, 4))
POSITIVE = st.integers(1, 20).map(lambda n: Fraction(n, 4))


@given(st.lists(st.tuples(NUMBERS, POSITIVE, POSITIVE), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_below_its_factor_a_bound_breaks_and_at_it_holds(
    rows: list[tuple[Fraction, Fraction, Fraction]], lower: bool, exact: bool
) -> None:
    conclude = at_least if lower else at_most
    kind: Any = object if exact else float
    measured, first, second = (np.array(column, dtype=kind) for column in zip(*rows, strict=True))
    one = judged(conclude(measured, first=first, second=second))
    if one.broken:
        assert float(one.factors["all"]) > 1
        return

    def with_factor(name: str, factor: Any) -> Judgement:
        # a lower bound is strengthened by making it larger
        scale = 1 / factor if lower else factor
        return judged(
            conclude(measured, first=scale * first, second=second * (scale if name == "all" else 1))
        )

    for name in ("all", "first"):
        factor = one.factors[name]
        assert 0 <= float(factor) <= 1 + 1e-9
        if factor > 1e-3:
            less = Fraction(9999, 10000) if exact else 1 - 1e-4
            assert not with_factor(name, factor * (1 if exact else 1 + 1e-8)).broken
            assert with_factor(name, factor * less).broken
        elif not lower:
            assert not with_factor(name, factor).broken


def test_the_worst_entry_is_shown_with_its_summands() -> None:
    measured = np.array([[1.0, 2.0], [3.0, 9.0]])
    one = judged(at_most(measured, slope=np.array([[2.0], [4.0]]), floor=np.array([1.0, 2.0])))
    assert one.broken
    assert (one.measured, one.allowed, one.place) == (9, 6, (1, 1))
    assert one.parts == {"slope": 4, "floor": 2}


def test_an_identity_has_no_factor() -> None:
    one = judged(equal((np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-11])), (3.0, 3.0), rounding=1e-10))
    assert not one.broken
    assert one.factors == {}
    assert one.measured == pytest.approx(1e-11, rel=1e-3)
    assert judged(equal((1.0, 1.0 + 1e-9), rounding=1e-10)).broken


def test_a_conclusion_needs_a_bound() -> None:
    for conclude in (at_most, at_least):
        with pytest.raises(InvalidArgument, match="terms"):
            conclude(1)
    with pytest.raises(InvalidArgument, match="pairs"):
        equal()


@pytest.mark.parametrize("number", [Fraction, float])
def test_identities_are_entries_with_the_same_number_on_both_sides(number: type) -> None:
    measured = np.array([number(1), number(2), number(0), number(-3)])
    limit = np.array([number(1), number(3), number(0), number(-3)])
    comparison = Comparison(at_most(measured, limit=limit))
    assert comparison.identities().tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        *((each, True) for each in (3, True, Fraction(1, 3), [1, Fraction(1, 2)])),
        (np.array([2**70, Fraction(1, 2)]), True),
        *((each, False) for each in (np.True_, np.array([True]), [np.True_])),
        *((each, False) for each in (np.int64(3), np.uint8(3), np.arange(3), [np.int64(3)], 3.0)),
        *((each, False) for each in (Fraction(np.int64(3)), Fraction(1, np.int64(3)))),
        (np.array([np.int64(3), 2**70], dtype=object), False),
    ],
)
def test_numbers_that_can_overflow_are_not_exact(value: Any, exact: bool) -> None:
    assert is_exact(value) == exact
    assert judged(at_most(value, bound=value)).exact == exact


EMPTY = np.zeros((3, 0))


@pytest.mark.parametrize(
    ("state", "name"),
    [
        (lambda: at_most(EMPTY, bound=1), "measured"),
        (lambda: at_least([], bound=1), "measured"),
        (lambda: at_most(1, bound=0, more=EMPTY), "more"),
        (lambda: equal((EMPTY, 0)), "left"),
        (lambda: equal((0, EMPTY)), "right"),
        (lambda: expectation(EMPTY, at_most=1), "samples"),
    ],
)
def test_an_empty_array_is_refused(state: Any, name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{name} = .*must not be") as refused:
        state()
    assert len(str(refused.value).splitlines()) == 1
