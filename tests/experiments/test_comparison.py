"""The words of a comparison, by scipy's tests, by hand and by simulation; and defaults of runs."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from clusterproof.commands.application import main
from clusterproof.experiments import synthetic_runs
from clusterproof.experiments.comparison import Comparison, Printed
from clusterproof.experiments.run_defaults import PAGES
from clusterproof.experiments.synthetic_runs import run_with
from clusterproof.running.storage import load_trace

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


def test_fedlin_s_step_is_the_one_that_its_rate_supposes() -> None:
    """1 / (6 L K), L of the largest of the clients' Hessians."""
    page = PAGES["fedlin"]
    task = synthetic_runs.make_task(page.task, page.settings, 0)
    product = 6 * task.client_smoothness * page.settings["local_steps"] * page.settings["step_size"]
    assert product == pytest.approx(1)


def test_a_given_step_size_goes_before_that_of_theorem_1() -> None:
    options = {**PAGES["fpfc"].settings, "step_size": 0.01}
    task = synthetic_runs.make_task("quadratic", options, 0)
    assert synthetic_runs.make_algorithm("fpfc", options, task).step_size == 0.01


def test_cfl_s_pooled_model_is_at_rest_before_the_first_cut() -> None:
    warm_up = PAGES["cfl"].settings["warm_up"]
    task, trace = run_with("cfl", 0, {}, rounds=warm_up)
    assert np.abs(trace.models[-1] - task.client_optima.mean(axis=0)).max() < 1e-9 * task.separation


def test_the_race_starts_about_delta_from_the_pooled_optimum() -> None:
    """Root mean square over 4000 models of 20 coordinates, whose deviation is 1 / sqrt(2 * 80 000) of it."""
    task, trace = run_with("gradient-loss", 0, {}, rounds=0, replicates=1000)
    distances = np.linalg.norm(trace.models[0] - task.pooled_optimum, axis=-1)
    assert np.sqrt(np.mean(distances**2)) == pytest.approx(1.0, rel=5 / 400)


@pytest.mark.parametrize("name", PAGES)
def test_a_run_from_python_is_that_of_the_command_with_the_same_seed(name: str, tmp_path: Path) -> None:
    words = ["run", name, "--rounds", "2", "--replicates", "2", "--seed", "3", "--out", str(tmp_path / "run")]
    assert main(words) == 0
    for task in (None, PAGES[name].task):
        _, trace = run_with(name, 3, {}, task=task, rounds=2, replicates=2)
        np.testing.assert_array_equal(trace.models, load_trace(tmp_path / "run").models)


@pytest.mark.parametrize("name", PAGES)
def test_replicates_share_their_start_where_a_theorem_speaks_of_the_mean_over_runs(name: str) -> None:
    _, trace = run_with(name, 0, {}, rounds=0, replicates=3)
    shared = {"cfl-mgd", "ifca", "fedavg", "fedprox", "scaffold", "fedlin", "proxskip"}
    assert (np.ptp(trace.models[0], axis=0).max() == 0) == (name in shared)


@pytest.mark.parametrize("name", ["cfl-mgd", "ifca"])
def test_the_linear_phase_is_over_after_the_default_number_of_rounds(name: str) -> None:
    """Twice the rounds leave each model's median error as it is.

    The errors' relative deviation, of 20 coordinates, is below 0.3. The deviation of a difference of two medians of 100
    is therefore below 0.3 * 1.25 * sqrt(2 / 100) = 0.053.
    """
    rounds = PAGES[name].rounds
    _, trace = run_with(name, 0, {}, rounds=2 * rounds, replicates=100)
    errors = np.median(trace.errors, axis=1)
    assert errors[rounds] == pytest.approx(errors[-1], rel=5 * 0.053)
