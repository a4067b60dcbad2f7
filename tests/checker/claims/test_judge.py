"""One instance: what breaks, what rounding may do, and the factor that a term needs, with numbers computed by hand."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from attempts import betting_interval
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from clusterproof.checker.claims import (
    Outside,
    Sides,
    at_least,
    at_most,
    claim,
    equal,
    expectation,
    probability,
    suppose,
)
from clusterproof.checker.claims.judge import Entries, Judgement, judge, least_factor
from clusterproof.checker.claims.rounding import is_exact
from clusterproof.common import InvalidArgument

F = Fraction


def judged(sides: Any, significance: float = 1e-9, instance: Any = None) -> Judgement:
    return judge({"": sides}, significance, instance)[""]


# ---- rounding


def test_exact_numbers_get_no_tolerance() -> None:
    third, tiny = F(1, 3), F(1, 10**30)
    assert not judged(at_most(third, bound=third)).broken
    assert not judged(equal((third, third))).broken
    for sides in (
        at_most(third + tiny, bound=third),
        at_most([F(0), third + tiny], bound=third),
        at_least(third - tiny, bound=third),
        equal((third + tiny, third)),
    ):
        assert judged(sides).broken


def test_floating_numbers_get_a_billionth() -> None:
    assert not judged(at_most(0.1 + 0.2, bound=0.3)).broken
    assert judged(at_most(0.3 * (1 + 1e-8), bound=0.3)).broken
    assert judged(at_most(1e-200, bound=1e-201)).broken
    assert judged(at_most(1e-300, nothing=0.0)).broken
    assert not judged(at_most(1e-300, nothing=0.0, rounding=1e-299)).broken
    for rounding, broken in ((None, False), (0, True), (0.5, False)):
        assert judged(equal((2.0, 2.0 + 1e-12), rounding=rounding)).broken is broken


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


@pytest.mark.parametrize("conclude", [lambda x: equal((x, 0.0)), lambda x: at_most(x, nothing=0.0)])
def test_less_than_the_rounding_of_a_large_quantity_breaks_nothing(conclude: Any) -> None:
    """5e-15 is less than 1e-14 of the instance's 1, and no rounding of the sides themselves."""
    for number, broken in ((5e-15, False), (2e-14, True)):
        assert judged(conclude(number), instance={"x": 1.0}).broken is broken
        assert judged(conclude(number), instance={"x": 0.1}).broken


def test_small_entries_of_an_array_are_as_inexact_as_its_largest_one() -> None:
    errors, bound = np.array([1.0, 1e-15]), np.array([1.0, 0.5e-15])
    one = judged(at_most(errors, bound=bound))
    assert not one.broken
    assert one.factors["all"] == pytest.approx(1)  # and not 2: the tolerance belongs into the factor, too
    assert judged(at_most(np.array([1.0, 1e-8]), bound=np.array([1.0, 0.5e-8]))).broken
    assert not judged(at_most(np.array([-1.0, 1e-15]), bound=np.array([-1.0, 0.5e-15]))).broken
    # of each replicate likewise
    assert judged(at_most(np.array([errors] * 9), bound=bound, failure=0.1)).failures == 0


def test_what_diverged_gives_the_others_no_tolerance() -> None:
    assert judged(at_most(np.array([[1e300], [1.0], [0.0]]), bound=0.5, failure=0.1)).failures == 2
    half = np.array([math.inf, 0.5e-12])
    assert judged(at_most(np.array([math.inf, 1e-12]), bound=half)).broken
    assert judged(at_most(np.array([[math.inf, 1e-12]] * 9), bound=half, failure=0.1)).failures == 9


def test_what_is_not_a_number_is_broken_and_may_not_be_allowed() -> None:
    for measured in (math.nan, np.array([0.0, math.nan]), math.inf):
        assert judged(at_most(measured, bound=1.0)).broken
        assert judged(at_most(measured, bound=1.0)).undefined == (measured is not math.inf)
    assert not judged(at_most(math.inf, bound=math.inf)).broken
    for sides in (at_most(math.inf, bound=math.inf), equal((-math.inf, -math.inf))):
        assert judged(sides).undefined
    assert not judged(at_most(np.array([math.inf, 1.0]), bound=np.array([math.inf, 1.0]))).undefined
    for allowed in (math.nan, np.array([1.0, math.nan])):
        with pytest.raises(ArithmeticError, match="not a number"):
            judged(at_most(1.0, bound=allowed))


@pytest.mark.parametrize("list_of", [list, tuple])
def test_lists_are_added_entry_by_entry(list_of: Any) -> None:
    third, tiny = F(1, 3), F(1, 10**30)
    first, second = list_of([F(1), F(2)]), list_of([third, third])
    sides = at_most(list_of([1 + third, 2 + third]), first=first, second=second)
    assert list(sides.allowed) == [1 + third, 2 + third]
    assert not judged(sides).broken
    assert judged(at_most(list_of([1 + third, 2 + third + tiny]), first=first, second=second)).broken
    assert not judged(equal((first, np.array([1, 2], dtype=object)))).broken
    assert judged(equal((first, list_of([F(1), 2 + tiny])))).broken


@pytest.mark.parametrize("rows", [[[1], [1, 2]], [[1.0], [1.0, 2.0]]])
def test_lists_whose_rows_have_other_lengths_are_refused(rows: Any) -> None:
    with pytest.raises(InvalidArgument, match="must have rows of equal length"):
        at_most(1, bound=rows)


def test_single_precision_is_compared_with_a_tolerance_of_its_own() -> None:
    three = np.float32(0.1) + np.float32(0.2)
    assert float(three) > 0.3  # by about the resolution of single precision, 6e-8
    assert not judged(at_most(three, b=0.3, rounding=1e-7)).broken


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        *((each, True) for each in (3, True, F(1, 3), [1, F(1, 2)], np.array([2**70, F(1, 2)]))),
        *((each, False) for each in (np.True_, np.array([True]), [np.True_])),
        *((each, False) for each in (np.int64(3), np.uint8(3), np.arange(3), [np.int64(3)], 3.0)),
        *((each, False) for each in (F(np.int64(3)), F(1, np.int64(3)))),
        (np.array([np.int64(3), 2**70], dtype=object), False),
    ],
)
def test_numbers_that_can_overflow_are_not_exact(value: Any, exact: bool) -> None:
    assert is_exact(value) == exact
    if isinstance(value, F) and not exact:
        with pytest.raises(
            InvalidArgument, match="must be fractions of Python's integers: NumPy's wrap around"
        ):
            at_most(value, bound=value)
    else:
        assert judged(at_most(value, bound=value)).exact == exact


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_numpys_integers_accuse_nobody(kind: Any) -> None:
    """3 - 4 is 255, and 16^16 has the last bits 0; only the sides that wrap are in doubt."""
    for sides in (
        at_most(np.array([3], dtype=kind) - kind(4), zero=-2),
        at_least(np.array([16], dtype=kind) ** 16, one=1),
        equal((np.array([3], dtype=kind), 4)),
        at_most([kind(3), kind(1)], two=2),
    ):
        found = judged(sides)
        assert (found.broken, found.undefined, found.exact) == (True, True, False)
    assert not judged(equal((kind(3), kind(3)))).broken
    assert judged(equal((kind(3), kind(4)))).measured == 1  # the difference does not wrap around


def test_masked_arrays_are_refused() -> None:
    masked = np.ma.array([1.0, 5.0], mask=[False, True])
    for conclude in (
        lambda: at_most(masked, two=2),
        lambda: at_most(2, of=masked),
        lambda: equal((masked, 1)),
    ):
        with pytest.raises(
            InvalidArgument, match=r"must have a number at every entry. Give value.compressed"
        ):
            conclude()


# ---- what cannot be compared


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
        *((1.0, rounding, "must be a finite number, at least 0") for rounding in (math.nan, math.inf, -1.0)),
    ],
)
def test_sides_that_cannot_be_compared_are_refused(
    conclude: Any, side: Any, rounding: float | None, words: str
) -> None:
    arguments = ((side, 2),) if conclude is equal else (side,)
    with pytest.raises(InvalidArgument, match=words):
        conclude(*arguments, rounding=rounding, **({} if conclude is equal else {"b": 2}))


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
        (lambda: at_most(1), "terms"),
        (lambda: at_least(1), "terms"),
        (lambda: equal(), "pairs"),
        *((lambda f=f: at_most(np.zeros(9), b=1, failure=f), "failure") for f in (math.nan, -0.1, 1.5)),
        (lambda: judged(at_most(np.zeros(3), b=np.zeros(2))), "measured"),
        # neither side has the shape of both: entries would be compared that the author did not mean
        (lambda: judged(at_most(np.zeros((3, 1)), b=np.zeros(2))), "measured"),
    ],
)
def test_what_is_no_comparison_is_refused_by_name(state: Any, name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^{name} is .*(must|needs)") as refused:
        state()
    assert len(str(refused.value).splitlines()) == 1


def test_an_exact_number_beyond_all_floats_is_infinite_beside_them() -> None:
    assert judged(at_most(10**400, b=1.0)).broken
    assert not judged(at_most(1.0, b=10**400)).broken
    assert not judged(at_least(np.array([1, 10**400], dtype=object), b=1.0)).broken


def test_lists_of_whole_numbers_that_are_equal_are_compared_exactly() -> None:
    found = judged(equal(([0, 10**17], [0, 10**17 + 1])))
    assert (found.broken, found.exact) == (True, True)
    assert judged(equal(([0, 10**17], [0, 10**17]))).exact


@pytest.mark.parametrize("measured", [1.0, np.ones((1, 2)), np.ones((3, 2))])
@pytest.mark.parametrize("kind", [float, object])
def test_a_side_is_broadcast_to_the_other(measured: Any, kind: Any) -> None:
    bound = np.array([[2, 1], [2, 1], [0, 1]], dtype=kind)
    one = judged(at_most(np.asarray(measured, dtype=kind), bound=bound))
    assert (one.broken, one.place, one.measured, one.allowed) == (True, (2, 0), 1, 0)


# ---- factors


# short, value, the least f >= 0 with short <= f * value; a negative value is strengthened by 1 / f
@pytest.mark.parametrize(
    ("short", "value", "factor"),
    [
        (F(3), F(2), F(3, 2)),
        (F(-3), F(2), 0),
        (F(0), F(2), 0),
        (F(-3), F(-2), F(2, 3)),
        (F(3), F(-2), math.inf),
        (F(0), F(-2), math.inf),
        (F(0), F(0), 0),
        (F(-1), F(0), 0),
        (F(1), F(0), math.inf),
        (3.0, F(2), 1.5),
        (-3.0, F(-2), 2 / 3),
        (math.nan, F(2), math.inf),
    ],
)
def test_least_factors(short: Any, value: Any, factor: Any) -> None:
    assert least_factor(short, value) == factor
    if short and not isinstance(short, float):  # arrays of exact numbers and of floats agree
        for kind in (object, float):
            two = Entries(at_most(np.array([short] * 2, dtype=kind), of=np.array([value] * 2, dtype=kind)))
            assert two.factors("of").astype(float) == pytest.approx([float(factor)] * 2, rel=1e-8)


@pytest.mark.parametrize("array", [False, True])
def test_factors_by_hand(array: bool) -> None:
    def number(value: int) -> Any:
        return np.array([float(value)] * 2) if array else F(value)

    def factors(sides: Sides) -> Any:
        return {name: float(factor) for name, factor in judged(sides).factors.items()}

    assert factors(at_most(number(3), first=number(2), second=number(4))) == pytest.approx(
        {"all": 3 / 6, "first": 0, "second": 1 / 4}
    )
    # 3 <= 8 - 4 f holds up to f = 5 / 4: the negative term may be larger by that
    assert factors(at_most(number(3), first=number(8), minus=number(-4))) == pytest.approx(
        {"all": 3 / 4, "first": 7 / 8, "minus": 4 / 5}
    )
    assert factors(at_least(number(8), bound=number(2))) == pytest.approx({"all": 1 / 4})
    assert factors(at_least(number(-2), bound=number(-8))) == pytest.approx({"all": 1 / 4})
    assert judged(at_least(number(-1), bound=number(-2), other=number(0))).measured == -1


NUMBERS = st.integers(-20, 20).map(lambda n: F(n, 4))
POSITIVE = st.integers(1, 20).map(lambda n: F(n, 4))


@given(st.lists(st.tuples(NUMBERS, POSITIVE, POSITIVE), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_below_its_factor_a_bound_breaks_and_at_it_holds(
    rows: list[tuple[Fraction, Fraction, Fraction]], lower: bool, exact: bool
) -> None:
    conclude, kind = at_least if lower else at_most, object if exact else float
    measured, first, second = (np.array(column, dtype=kind) for column in zip(*rows, strict=True))
    one = judged(conclude(measured, first=first, second=second))
    if one.broken:
        assert float(one.factors["all"]) > 1
        return

    def breaks(name: str, factor: Any) -> bool:
        scale = 1 / factor if lower else factor  # a lower bound is strengthened by making it larger
        terms = {"first": scale * first, "second": second * (scale if name == "all" else 1)}
        return judged(conclude(measured, **terms)).broken

    for name in ("all", "first"):
        factor = one.factors[name]
        assert 0 <= float(factor) <= 1 + 1e-9
        if factor > 1e-3:
            assert not breaks(name, factor * (1 if exact else 1 + 1e-8))
            assert breaks(name, factor * (F(9999, 10000) if exact else 1 - 1e-4))
        elif not lower:
            assert not breaks(name, factor)


def test_an_equation_has_no_factor_and_its_largest_gap_decides() -> None:
    one = judged(equal((np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-11])), (3.0, 3.0), rounding=1e-10))
    assert (one.broken, one.factors) == (False, {})
    assert one.measured == pytest.approx(1e-11, rel=1e-3)
    gaps = Entries(equal((np.array([1.0, -3.0]), np.array([1.0, 0.0])), (2.0, 1.0), rounding=0.5))
    assert gaps.measured == pytest.approx([3, 1])
    for right, broken in ((2.4, False), (2.6, True)):
        assert judged(equal((2.0, right), rounding=0.5)).broken is broken


# ---- the entry that is shown


def test_the_worst_entry_of_all_and_of_a_replicate() -> None:
    held = Entries(at_most(np.array([[1.0, 2.0], [1.5, 0.0]]), limit=np.array([[4.0, 4.0], [2.0, 1.0]])))
    assert (held.worst(), held.worst(0), held.worst(1)) == ((1, 0), (0, 1), (1, 0))  # 1.5 / 2, 2 / 4
    assert held.by_replicate(held.factors()) == pytest.approx([0.5, 0.75], rel=1e-8)
    # what exceeds by most is worst, not what exceeds by the largest factor
    broken = Entries(at_most(np.array([[9.0, 0.1], [3.0, 1.0]]), limit=np.array([[8.5, 0.0], [2.0, 9.0]])))
    assert (broken.worst(), broken.worst(0), broken.worst(1)) == ((1, 0), (0, 0), (1, 0))
    assert broken.broken.tolist() == [[True, True], [True, False]]
    assert Entries(at_most(np.array([math.nan, 9.0]), limit=1.0)).worst() == (1,)  # that is a counterexample


def test_the_worst_entry_is_shown_with_its_summands() -> None:
    measured = np.array([[1.0, 2.0], [3.0, 9.0]])
    one = judged(
        at_most(measured, slope=np.array([[2.0], [4.0]]), floor=np.array([1.0, 2.0]) * np.ones((2, 1)))
    )
    assert (one.broken, one.measured, one.allowed, one.place) == (True, 9, 6, (1, 1))
    assert one.terms == {"slope": 4, "floor": 2}
    below = judged(at_least(np.array([1.0, 5.0]), limit=2.0))
    assert (below.terms, below.place) == ({"limit": 2}, (0,))


def test_no_side_is_minus_0() -> None:
    for exact in (F(-1, 2), -0.5):
        assert math.copysign(1, judged(at_least(exact, bound=0)).allowed) == 1
    assert math.copysign(1, judged(at_most(-0.0, bound=1.0)).measured) == 1


# ---- probabilities


def test_the_factor_of_a_probability_is_that_of_the_rank_that_it_allows() -> None:
    measured, significance = np.random.default_rng(0).random((60, 300)), 1e-3
    interval = (binomtest(k, 60).proportion_ci(1 - significance) for k in range(61))
    rank = next(k for k, ends in enumerate(interval) if ends.low > 0.5)  # the fewest failures that refute it
    one = judged(at_most(measured, limit=2.0, failure=0.5), significance)
    assert one.factors["all"] == pytest.approx(np.sort(measured.max(axis=1))[-rank] / 2)


def test_events_and_estimates_share_a_level_and_only_what_breaks_itself_is_broken() -> None:
    """Four intervals: of two failure probabilities, one of which two lines have, a share and an expectation."""
    wrong, none = (np.arange(100) < failing for failing in (90, 0))
    lines = {
        "kept": at_most(none * 1.0, half=0.5, failure=0.1),
        "broken": at_most(wrong * 1.0, half=0.5, failure=0.1),
        "other": at_most(wrong * 1.0, half=0.5, failure=0.95),
        "share": probability(wrong, at_most=0.95),
        "mean": expectation(wrong * 1.0, at_most=2.0, range=(0, 1)),
    }
    found = judge(lines, 1e-2)
    assert {one.interval.level for one in found.values() if one.interval} == {1 - 1e-2 / 4}
    assert [name for name, one in found.items() if one.broken] == ["broken"]
    assert [found[name].failures for name in ("kept", "broken")] == [90, 90]  # one event


# ---- expectations


def test_rounding_of_a_large_quantity_widens_an_interval() -> None:
    one = expectation(np.array([0.2, 0.4, 0.3]), at_most=0.25, range=(0, 1))
    small, large = (judged(one, 1e-3, {"x": x}).interval for x in (1.0, -1e8))
    assert small is not None
    assert large is not None
    assert [small.lower - large.lower, large.upper - small.upper] == pytest.approx([1e-6] * 2, rel=1e-3)


@pytest.mark.parametrize(
    ("value", "sense", "allowed", "factor"),
    [
        (0.5, "at_most", 0.8, lambda low, high: low / 0.8),
        (0.5, "at_most", 0.3, lambda low, high: 1.0),
        (0.005, "at_most", 0.3, lambda low, high: 0.0),
        (0.5, "at_least", 0.2, lambda low, high: 0.2 / high),
        (0.5, "at_least", 0.8, lambda low, high: 1.0),
        (0.5, "at_least", -0.2, lambda low, high: 0.0),
        (-0.5, "at_least", -0.8, None),
        (-0.5, "at_most", -0.2, None),
        (0.5, "equal", 0.5, None),
    ],
)
def test_the_factor_of_an_expectation_is_that_of_the_end_that_favours_it(
    value: float, sense: str, allowed: float, factor: Any
) -> None:
    """Equal samples in the middle of an interval of length 1."""
    half = value - betting_interval(np.full(600, value), value - 0.5, value + 0.5, 1e-3 / 2)[0]
    one = expectation(np.full(600, value), range=(value - 0.5, value + 0.5), **{sense: allowed})
    expected = {} if factor is None else {"all": pytest.approx(factor(value - half, value + half), rel=1e-3)}
    assert judged(one, 1e-3).factors == expected


def test_of_a_contraction_the_decreases_are_compared() -> None:
    """1 - 1/100 is left where 1 - 1/200 is allowed: half of the decrease; a step of size 0 claims nothing."""
    left, allowed = Fraction(99, 100), Fraction(199, 200)
    for number in (Fraction, float):
        line = at_most(number(left), rate=number(allowed), decrease_from=number(1))
        factors = judge({"": line}, 0.1)[""].factors
        assert float(factors["decrease"]) == pytest.approx(1 / 2, rel=1e-9)
        nothing = at_most(number(1), rate=number(1), decrease_from=number(1))
        assert "decrease" not in judge({"": nothing}, 0.1)[""].factors
    entries = at_most(np.array([0.99, 0.5]), rate=np.array([0.995, 0.9]), decrease_from=np.array([1.0, 1.0]))
    assert judge({"": entries}, 0.1)[""].factors["decrease"] == pytest.approx(1 / 2, rel=1e-9)


def test_words_of_a_claim_work_by_position() -> None:
    assert at_most(1, 2) == at_most(1, bound=2)
    assert at_least(9, 2, more=3).terms == at_most(1, 2, more=3).terms == {"bound": 2, "more": 3}
    samples = np.arange(6.0).reshape(3, 2)
    assert repr(expectation(samples, 2.5)) == repr(expectation(samples, at_most=2.5))
    for wrong in (lambda: at_most(1, 2, 3), lambda: at_most(1, 2, bound=3), lambda: suppose("n > 1")):
        with pytest.raises(InvalidArgument):
            wrong()


def test_a_hypothesis_without_words_has_those_of_the_code() -> None:
    n = 3
    suppose(n > 1)
    with pytest.raises(Outside, match=r"^n \+ 1 > max\(5, n\)$"):
        suppose(
            n + 1  # over two lines
            > max(5, n)
        )


def test_a_decorator_without_a_call_says_what_is_missing() -> None:
    with pytest.raises(InvalidArgument, match=r'Write @claim\("my-paper/lemma-1"\)'):

        @claim  # type: ignore[arg-type]
        def lemma_1() -> Sides:
            return at_most(1, 2)
