"""The words of a comparison, by scipy's tests, by hand and by simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from clusterproof.experiments.comparison import Comparison, Printed

CASES = {
    "both spread": (Comparison((4.1, 4.9, 5.2, 4.4), Printed(5.5, 0.7, runs=3)), (4, 3)),
    "population spread": (Comparison((4.1, 4.9, 5.2), Printed(5.5, 0.7, runs=3, population=True)), (3, 3)),
    "one of ours": (Comparison((4.1,), Printed(5.5, 0.7, runs=6)), (1, 6)),
    "spread not printed": (Comparison((4.1, 4.9, 5.2), Printed(5.5)), (3, 1)),
}


def spread_of_a_run(printed: Printed) -> float:
    """Unbiased standard deviation of the paper's runs; NaN if it is not printed."""
    if printed.spread is None:
        return math.nan
    return printed.spread * math.sqrt(printed.runs / (printed.runs - 1) if printed.population else 1)


@pytest.mark.parametrize("name", ["both spread", "population spread"])
def test_the_limit_is_that_of_scipys_welch_test(name: str) -> None:
    """At the limit the p-value is .05."""
    comparison, (seeds, runs) = CASES[name]
    assert comparison.allowed is not None
    ours, theirs = np.std(comparison.values, ddof=1), spread_of_a_run(comparison.printed)
    found = stats.ttest_ind_from_stats(comparison.allowed, ours, seeds, 0.0, theirs, runs, equal_var=False)
    assert found.pvalue == pytest.approx(0.05, rel=1e-9)


def test_without_a_printed_spread_ours_is_the_paper_s() -> None:
    """One estimate of the variance with two degrees of freedom, of our mean of three and of the paper's one run."""
    comparison, _ = CASES["spread not printed"]
    deviation = np.std(comparison.values, ddof=1)
    limit = stats.t.ppf(0.975, 2) * deviation * math.sqrt(1 / 3 + 1)
    assert comparison.allowed == pytest.approx(limit)


def test_of_one_run_of_ours_the_spread_is_the_paper_s() -> None:
    comparison, _ = CASES["one of ours"]
    assert comparison.allowed == pytest.approx(stats.t.ppf(0.975, 5) * 0.7 * math.sqrt(1 + 1 / 6))


@pytest.mark.parametrize("name", CASES)
def test_a_true_difference_of_d_is_shown_with_probability_four_fifths(name: str) -> None:
    """Simulated: our runs and the paper's from normal laws with the estimated variances, d apart.

    The variances are taken to be the estimated ones and the degrees of freedom are kept, as the docstring states: the
    number of 40 000 tests that show a difference has a deviation of .002.
    """
    comparison, _ = CASES[name]
    assert comparison.variances is not None
    assert comparison.detectable is not None
    assert comparison.allowed is not None
    generator, repetitions = np.random.default_rng(0), 40_000
    error = math.sqrt(sum(comparison.variances))
    differences = generator.normal(comparison.detectable, error, repetitions)
    freedom = comparison.freedom
    limits = comparison.allowed * np.sqrt(generator.chisquare(freedom, repetitions) / freedom)
    assert np.mean(np.abs(differences) > limits) == pytest.approx(0.8, abs=0.01)


def test_words_turn_at_their_bounds() -> None:
    """Half of the last digit is chance, and reproduced where nothing spreads; half a point may be negligible."""
    exact = Printed(4.0, 0.0, runs=3, digit=0.5)
    assert Comparison((4.25, 4.25), exact).word == "reproduced"
    assert Comparison((4.2501, 4.2501), exact).word == "not reproduced"
    values = (4.0, 6.0)
    d = Comparison(values, Printed(5.0, 0.0, runs=10**9)).detectable
    assert d is not None
    for shift, other in (
        (10.1 * d, "compatible"),
        (9.9 * d, "too few runs to say"),
    ):  # a tenth of the number is d
        moved, printed = tuple(value + shift - 5 for value in values), Printed(shift, 0.0, runs=10**9)
        for negligible, word in ((0.0, other), (0.99 * d, other), (1.001 * d, "reproduced")):
            assert Comparison(moved, replace(printed, negligible=negligible)).word == word
    assert Comparison(values, Printed(50.0, 0.0, runs=10**9)).word == "not reproduced"


@pytest.mark.parametrize(("runs", "word"), [(29, "compatible"), (36, "reproduced")])
def test_half_a_spread_is_taken_as_reproduced(runs: int, word: str) -> None:
    """Of n runs a difference of (1.96 + 0.84) / sqrt(n) spreads or little more is shown: of 29 .52, of 36 .47."""
    values = tuple(stats.zscore(np.arange(runs), ddof=1).tolist())
    values = tuple(value + 10 for value in values)
    assert Comparison(values, Printed(10.0, 1.0, runs=10**6)).word == word


def test_without_any_spread_there_is_no_word() -> None:
    for comparison in (
        Comparison((4.0,), Printed(5.0)),
        Comparison((4.0,), Printed(5.0, 0.3)),  # of an unknown number of runs
        Comparison((4.0,), Printed(5.0, 0.3, runs=1, population=True)),
    ):
        assert (comparison.word, comparison.allowed, comparison.detectable) == ("", None, None)


def test_a_spread_over_an_unknown_number_of_runs_is_taken_as_exact() -> None:
    """Variances 1/3 of our mean, with two degrees of freedom, and 4 of the paper's."""
    comparison = Comparison((1.0, 2.0, 3.0), Printed(5.0, 2.0))
    freedom = (1 / 3 + 4) ** 2 / ((1 / 3) ** 2 / 2)
    assert comparison.allowed == pytest.approx(stats.t.ppf(0.975, freedom) * math.sqrt(1 / 3 + 4))
