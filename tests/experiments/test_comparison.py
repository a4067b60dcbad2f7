"""When a cell is reproduced, against scipy's tests of the same hypotheses."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clusterproof.experiments.comparison import HALF_A_POINT, Cell, Comparison, Printed

VALUES = st.lists(st.floats(-5, 5).map(lambda value: round(value, 3)), min_size=2, max_size=8)


@given(ours=VALUES, theirs=VALUES, shift=st.floats(-6, 6))
def test_a_difference_is_chance_where_welchs_test_does_not_reject(
    ours: list[float], theirs: list[float], shift: float
) -> None:
    values, other = np.array(ours) + shift, np.array(theirs)
    if np.std(values) < 1e-3 or np.std(other) < 1e-3:
        return
    for population in (False, True):
        spread = float(np.std(other, ddof=0 if population else 1))
        printed = Printed(float(other.mean()), spread, len(other), population)
        cell = Cell(tuple(values), printed)
        test = stats.ttest_ind(values, other, equal_var=False)
        assert cell.in_standard_errors == pytest.approx(test.statistic, rel=1e-9, abs=1e-12)
        if abs(test.pvalue - 0.05) > 1e-9:
            assert cell.within_chance == (test.pvalue > 0.05)
        interval = test.confidence_interval(0.95)
        assert cell.allowed == pytest.approx((interval.high - interval.low) / 2, rel=1e-9)


@given(ours=VALUES, printed=st.floats(-20, 20))
def test_without_a_spread_the_papers_run_is_one_of_ours(ours: list[float], printed: float) -> None:
    values = np.array(ours)
    if np.std(values) < 1e-3:
        return
    cell = Cell(tuple(values), Printed(printed))
    test = stats.ttest_ind(values, [printed], equal_var=True)  # one value has no spread of its own
    assert cell.in_standard_errors == pytest.approx(test.statistic, rel=1e-9, abs=1e-12)
    if abs(test.pvalue - 0.05) > 1e-9:
        assert cell.within_chance == (test.pvalue > 0.05)


def test_a_single_seed_is_judged_by_the_papers_spread_or_not_at_all() -> None:
    paper = (3.0, 4.0, 8.0)
    printed = Printed(float(np.mean(paper)), float(np.std(paper)), 3, population=True)
    test = stats.ttest_ind([11.5], paper, equal_var=True)
    cell = Cell((11.5,), printed)
    assert cell.in_standard_errors == pytest.approx(test.statistic)
    assert cell.within_chance == (test.pvalue > 0.05)
    assert cell.deviation is None
    for lonely in (Cell((11.5,), Printed(5.0)), Cell((11.5,), Printed(5.0, 2.0, 1)), Cell((11.5,))):
        assert lonely.verdict is None
        assert lonely.allowed is None
    assert Cell((1.0, 2.0), Printed(9.0, 0.1, 3), judged=False).verdict is None


def test_numbers_without_any_spread_must_agree_to_the_last_printed_digit() -> None:
    printed = Printed(4.0, 0.0, 3, population=True, resolution=0.01)
    assert Cell((4.0, 4.0), printed).within_chance
    assert Cell((4.004, 4.004), printed).within_chance
    assert not Cell((4.006, 4.006), printed).within_chance
    # of a spread that is far below the digit, the digit decides
    assert Cell((4.0039, 4.0041, 4.004), printed).within_chance


def test_the_rule_errs_as_often_as_it_says() -> None:
    stream, rejected, trials = np.random.default_rng(0), 0, 2000
    for _ in range(trials):
        ours, theirs = stream.normal(0, 2, 5), stream.normal(0, 2, 3)
        printed = Printed(float(theirs.mean()), float(theirs.std()), 3, population=True)
        rejected += not Cell(tuple(ours), printed).within_chance
    assert stats.binomtest(rejected, trials, 0.05).pvalue > 1e-3


def test_only_what_would_have_shown_a_small_difference_is_reproduced() -> None:
    clusters = Printed(4.0, 0.0, 3, population=True, resolution=0.01)
    assert Cell((19.0, 12.0, 52.0, 4.0, 53.0), clusters).verdict == "compatible"
    assert Cell((4.0, 4.0, 4.0, 4.0, 4.0), clusters).verdict == "reproduced"
    assert Cell((5.0, 5.0, 5.0, 5.0, 5.0), clusters).verdict == "not reproduced"
    # few runs show no difference of half a spread, however near they are
    values = (-3.0, -1.0, 0.0, 1.0, 3.0)
    for shift, verdict in ((0.0, "compatible"), (4.9, "compatible"), (30.0, "not reproduced")):
        near = tuple(86.6 + shift + step for step in values)
        assert Cell(near, Printed(86.6, 5.0, 3, population=True)).verdict == verdict
    # many do: of n runs against n, 2.8 sqrt(2 / n) spreads are shown, half a spread from n = 63 on
    for count, verdict in ((60, "compatible"), (66, "reproduced")):
        many = np.tile([1.0, -1.0], count // 2) * math.sqrt((count - 1) / count)
        assert Cell(tuple(many), Printed(0.0, 1.0, count)).verdict == verdict
    # or where half a point of accuracy is far more than the spread
    for spread, verdict in ((0.01, "reproduced"), (0.5, "compatible")):
        close = tuple(90 + spread * step for step in (-1.0, 0.0, 1.0))
        assert Cell(close, Printed(90.0, spread, 3, negligible=HALF_A_POINT)).verdict == verdict
        assert Cell(close, Printed(90.0, spread, 3)).verdict == "compatible"


@pytest.mark.parametrize(
    ("spread", "negligible", "printed", "trials"),
    [
        (0.6, HALF_A_POINT, True, 60),
        *(
            pytest.param(spread, negligible, printed, 500, marks=pytest.mark.slow(reason="many comparisons"))
            # without a negligible difference nothing depends on the spread
            for (spread, negligible), printed in product(
                ((1.0, 0.0), *product((0.6, 1.0, 5.0), (HALF_A_POINT,))), (True, False)
            )
        ),
    ],
)
def test_a_difference_of_one_deviation_is_hardly_ever_called_reproduced(
    spread: float, negligible: float, printed: bool, trials: int
) -> None:
    """Three runs against three; a rate of 3 % is exceeded by chance once in a thousand at most."""
    stream, called = np.random.default_rng(1), 0
    for _ in range(trials):
        ours, theirs = stream.normal(spread, spread, 3), stream.normal(0, spread, 3)
        width = float(theirs.std(ddof=1)) if printed else None
        paper = Printed(float(theirs.mean()), width, 3, negligible=negligible)
        called += Cell(tuple(ours), paper).verdict == "reproduced"
    assert called <= stats.binom.ppf(0.999, trials, 0.03)


@given(values=VALUES)
def test_paired_differences_have_students_interval(values: list[float]) -> None:
    comparison = Comparison("a - b", tuple(values))
    if np.std(values) < 1e-3:
        return
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert comparison.interval == pytest.approx((interval.low, interval.high), rel=1e-9, abs=1e-9)
    assert comparison.standard_error == pytest.approx(stats.sem(values))


def test_one_seed_has_no_interval() -> None:
    comparison = Comparison("a - b", (2.0,))
    assert (comparison.mean, comparison.standard_error, comparison.interval) == (2.0, None, None)


def test_the_gap_is_taken_seed_by_seed() -> None:
    cell = Cell((1.0, 5.0), ceiling=(2.0, 5.5))
    assert cell.gap == 0.75
    assert Cell((1.0,)).gap is None
    assert math.isnan(Cell((math.nan, 1.0), Printed(1.0, 1.0, 3)).mean)
    assert not Cell((math.nan, 1.0), Printed(1.0, 1.0, 3)).within_chance


@pytest.mark.parametrize(
    ("values", "printed"),
    [
        ((90.0, 92.0, 95.0, 89.0, 91.0), Printed(95.0, 2.0, 3)),
        ((90.0, 92.0, 95.0), Printed(95.0, 4.0, 3, population=True)),
        ((90.0, 92.0, 95.0, 89.0), Printed(95.0)),
    ],
)
def test_the_detectable_difference_is_shown_four_times_in_five(
    values: tuple[float, ...], printed: Printed
) -> None:
    """By drawing Welch's statistic: a normal difference over the root of a chi-squared estimate of its variance."""
    cell = Cell(values, printed)
    assert cell.allowed is not None
    assert cell.standard_error is not None
    assert cell.detectable is not None
    freedom = {3: 1.0, 4: 3.0, 5: 4.0}[len(values)]
    if printed.spread is not None:
        own = np.var(values, ddof=1) / len(values)
        theirs = printed.spread**2 / (2 if printed.population else 3)
        freedom = (own + theirs) ** 2 / (own**2 / (len(values) - 1) + theirs**2 / 2)
    stream = np.random.default_rng(0)
    errors = cell.standard_error * np.sqrt(stream.chisquare(freedom, 200_000) / freedom)
    differences = cell.detectable + cell.standard_error * stream.standard_normal(200_000)
    shown = abs(differences) > cell.allowed / cell.standard_error * errors
    assert shown.mean() == pytest.approx(0.8, abs=0.005)


def test_what_never_spreads_is_shown_beyond_half_a_digit() -> None:
    assert Cell((4.0, 4.0), Printed(4.0, 0.0, 3, resolution=0.01)).detectable == 0.005
    assert Cell((4.0,), Printed(4.0)).detectable is None
