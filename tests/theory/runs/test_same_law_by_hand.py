"""Comparisons of runs with a law, at numbers small enough to be computed by hand; bounds on permutation p-values."""

import math
import re

import numpy as np
import pytest
from scipy import stats

from clusterproof.theory.runs.run_statistics import (
    significant_bits,
    statistics_of_models,
)
from clusterproof.theory.runs.same_law import _close, _stable
from clusterproof.theory.runs.two_samples import SampleTests, compare_samples, log_p_values, scores


# one replicate a row, (rounds + 1, R, P, d): its largest number so far is the unit of its rounding
def test_runs_are_close_relative_to_the_largest_of_their_replicate_so_far() -> None:
    own = np.zeros((3, 2, 1, 2))
    own[:, :, 0, 0] = [[1.0, 1.0], [-100.0, 1.0], [1.0, 1.0]]
    other = own.copy()
    other[..., 1] = 0.5
    expected = np.ones((3, 2, 1, 2), dtype=bool)
    expected[0, 0, 0, 1] = expected[:, 1, 0, 1] = False
    assert (_close(other, own, 0.01) == expected).all()
    own[2, 0, 0] = other[2, 0, 0] = [np.nan, np.inf]
    assert _close(other, own, 0.01)[2, 0].all()
    other[2, 0, 0, 0] = 7.0
    assert not _close(other, own, 0.01)[2, 0, 0, 0]


class Recorded:
    """A run's models (rounds + 1, R, P, d) and assignments (rounds, R, M), nothing else."""

    def __init__(self, replicates: int) -> None:
        self.models, self.assignments = (
            np.ones((4, replicates, 2, 3)),
            np.zeros((3, replicates, 5), dtype=int),
        )


def test_a_replicate_is_stable_up_to_where_some_perturbed_copy_leaves_it() -> None:
    own, moved = Recorded(2), Recorded(2 * 32)
    assert _stable(own, moved, 2, 1e-9).tolist() == [[True] * 2] * 4  # type: ignore[arg-type]
    moved.models[2, 2 * 5 + 1, 1, 2] = 2.0  # copy 5 of replicate 1
    moved.assignments[0, 2 * 31, 4] = 1  # the last copy of replicate 0, in round 1
    found = _stable(own, moved, 2, 1e-9)  # type: ignore[arg-type]
    assert found.tolist() == [[True, True], [False, True], [False, False], [False, False]]


LEVEL = 1e-9 / 8  # of each of the two comparisons of samples; three quarters are those of single rounds


@pytest.mark.parametrize("number", [1, 40])
def test_a_level_is_shared_by_all_tests(number: int) -> None:
    def judged(probability: float, replicates: int = 500) -> tuple[str, str]:
        tests = SampleTests(replicates, 2000)
        tests.number, tests.least, tests.sentence = number, math.log(probability), "mean"
        return tests.judge()

    assert judged(0.99 * LEVEL / number) == (
        "differs",
        "mean (500 replicates against 2000, probability at most 1e-9)",
    )
    kind, words = judged(1.01 * LEVEL / number)
    assert kind == "inconclusive"
    assert "500 replicates against 2000, by chance with probability 1e-9" in words
    # the logarithm of a p-value grows like the number of replicates
    assert f": {math.ceil(500 / 0.8)} replicates would see" in judged((LEVEL / number) ** 0.8)[1]
    # a mean that moved by its deviation is seen in all but one of 700 runs: normal tail 3 below its threshold
    needed = next(n for n in range(9, 999) if 2 * number * math.exp(-((math.sqrt(n) - 3) ** 2) / 2) <= LEVEL)
    holds = f"none of {number} statistics differs ({needed} replicates against 2000)"
    assert judged(0.5, needed) == ("holds", holds)
    assert judged(0.5, needed - 1) == (
        "inconclusive",
        f"{needed - 1} replicates against 2000: {needed} replicates would see a mean that moved by its deviation",
    )


class Own(Recorded):
    """The library's run, too, with the true clusters of the clients."""

    labels = np.zeros(5, dtype=int)


def test_ranks_tell_a_shift_that_a_few_large_replicates_hide() -> None:
    stream, replicates = np.random.default_rng(0), 200
    own, models = Own(800), stream.random((2, replicates, 2, 3))
    own.models, own.assignments = stream.random((2, 800, 2, 3)), np.zeros((1, 800, 5), dtype=int)
    own.models[1, 0, 0, 1] = models[1, 0, 0, 1] = 1e9
    models[1, 1:, 0, 1] += 1.0
    tests = compare_samples(models, np.zeros((1, replicates, 5), dtype=int), own, 1e-12)  # type: ignore[arg-type]  # a stand-in for the library's runs
    assert re.match(
        r"mean of the (models|increments), ranks of model 0, coordinate 1, round 1: ", tests.sentence
    )
    assert tests.judge()[0] == "differs"


def test_ranks_tell_no_numbers_apart_that_differ_by_rounding_of_the_largest() -> None:
    """One replicate of each 100 is large; the others of the run are larger than those of the library by rounding."""
    own, models = Own(800), np.ones((2, 200, 2, 3))
    own.models, own.assignments = np.ones((2, 800, 2, 3)), np.zeros((1, 800, 5), dtype=int)
    own.models[1, ::100, 0, 1] = models[1, ::100, 0, 1] = 1e3

    def sentence(relative: float) -> str:
        shifted, rows = models.copy(), np.arange(200) % 100 > 0
        shifted[1, rows, 0, 1] += relative * 1e3
        return compare_samples(shifted, np.zeros((1, 200, 5), dtype=int), own, 1e-9).sentence  # type: ignore[arg-type]  # a stand-in

    assert sentence(0.9e-9) == ""
    assert re.match(
        "mean of the (models|increments), ranks of model 0, coordinate 1, round 1: ", sentence(2e-9)
    )


def test_replicates_in_half_precision_are_found_where_they_move() -> None:
    numbers = [0.0, 1.0, -3.0, 0.75, 2047.0, 2049.0, 2.0**-30, 0.1]
    assert significant_bits(np.array(numbers)).tolist() == [0, 1, 2, 2, 11, 12, 1, 52]  # 0.1 ends in ...1010
    models = np.random.default_rng(2).standard_normal((9, 5, 2, 3)).cumsum(axis=0)
    models[:, 1] = models[:, 1].astype(np.float16)
    models[:, 2] = 0.5  # does not move
    models[:, 3] = 2.0 ** -np.arange(40, 49)[:, None, None]  # moves by no more than rounding may
    models[:, 4, 1] = models[:, 4, 0, 1:] = 0.5  # moves in one coordinate, with all bits
    (found,) = (one for one in statistics_of_models(models, 1e-14) if one.name == "runs in half precision")
    assert (found.round, found.values.tolist()) == (8, [[0], [1], [0], [0], [0]])


def test_the_statistics_of_models_by_hand() -> None:
    models = np.random.default_rng(1).standard_normal((3, 300, 2, 2)).cumsum(axis=0) + 2.0
    flat = models.reshape(3, 300, 4)
    found = {(each.name, each.round): each for each in statistics_of_models(models, 1e-12)}

    def scaled(values: np.ndarray) -> np.ndarray:
        return (values - values.mean(axis=0)) / values.std(axis=0)

    def residual(step: int, column: int) -> np.ndarray:
        p = column // 2
        known = [models[step - 1][:, p], *([models[1][:, p] - models[0][:, p]] if step > 1 else [])]
        rows = np.column_stack([np.ones(300), *known])
        values = flat[step][:, column] - flat[step - 1][:, column]
        return values - rows @ np.linalg.pinv(rows) @ values

    moves = [scaled(flat[step] - flat[step - 1]) for step in (1, 2)]
    news = [scaled(np.stack([residual(step, column) for column in range(4)], axis=-1)) for step in (1, 2)]
    expected = {
        "mean of the models": flat[2],
        "mean of the increments": flat[2] - flat[1],
        "variance of the models, relative": scaled(flat[2]) ** 2,
        "correlation of the increments": np.stack(
            [moves[1][:, j] * moves[1][:, (j + lag) % 4] for lag in (1, 2) for j in range(4)], axis=-1
        )[:, 4:],  # those of a lag replace those of the one before under their name
        "covariance of consecutive increments": moves[1] * moves[0],
        "variance of the innovations, relative": news[1] ** 2,
        "mean absolute value of the innovations, relative": np.abs(news[1]),
        "covariance of consecutive innovations": news[1] * news[0],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(found[name, 2].values, values, atol=1e-8, err_msg=name)
    along = found["mean of the models along a direction, in standard deviations", 2]
    assert along.labels == [f"model {p}, along its {what}" for p in (0, 1) for what in ("mean", "path")]
    for p in (0, 1):
        points = models[2][:, p]
        inverse = np.linalg.inv(np.cov(points.T))
        shifts = points.mean(axis=0), points.mean(axis=0) - models[0][:, p].mean(axis=0)
        for column, shift in enumerate(shifts):
            np.testing.assert_allclose(
                along.values[:, 2 * p + column], scaled(points @ inverse @ shift), atol=1e-6
            )


@pytest.mark.parametrize(("count", "total", "successes"), [(20, 220, 25), (200, 2200, 40), (5, 2005, 6)])
def test_it_is_above_the_exact_p_value_of_fishers_test(count: int, total: int, successes: int) -> None:
    """A column of zeros and ones: the successes among the first rows are hypergeometric."""
    for among in range(min(count, successes) + 1):
        column = np.zeros((total, 1))
        column[:among] = 1
        column[count : count + successes - among] = 1
        bound = log_p_values(column, count)[0]
        tail = stats.hypergeom(total, successes, count)
        if among > count * successes / total:
            assert bound >= np.log(tail.sf(among - 1))
        else:
            assert bound >= tail.logcdf(among)


def test_it_is_near_the_normal_tail_for_normal_samples() -> None:
    """Mean 1 of 200 in 20 200: exp(-n a^2 / 2), where a is less than 1 by the rows themselves."""
    column = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    shifted = 1 + stats.norm.ppf((np.arange(200) + 0.5) / 200)
    found = log_p_values(np.concatenate([shifted, column])[:, None], 200)[0]
    assert found == pytest.approx(np.log(2) - 200 / 2, rel=0.05)


# of 100 rows among 1000 others, and of all 1100
@pytest.mark.parametrize(("successes", "total"), [(99, 660), (30, 110), (20, 660), (55, 385), (90, 880)])
def test_it_is_the_relative_entropy_of_two_shares(successes: int, total: int) -> None:
    """The infimum of Cramer's method for a column of zeros and ones, at any scale; 1 within the screen."""
    column = np.zeros(1100)
    column[:successes] = column[100 : 100 + total - successes] = 1
    share, p = successes / 100, total / 1100
    expected = np.log(2) - 100 * stats.entropy([share, 1 - share], [p, 1 - p])
    if abs(share - p) < 4 * (p * (1 - p) / 100) ** 0.5:
        expected = 0.0
    found = log_p_values(np.stack([column, 7 - 1e3 * column], axis=-1), 100)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("law", ["norm", "cauchy", "expon", "lognorm", "rare", "constant"])
def test_a_false_alarm_is_as_rare_as_it_says(law: str) -> None:
    """Of 2000 columns the least p-value is below 1e-3 / 2000 with probability 1e-3."""
    stream = np.random.default_rng(0)
    size = (600, 2000)
    values = {
        "norm": stream.standard_normal,
        "cauchy": stream.standard_cauchy,
        "expon": stream.standard_exponential,
        "lognorm": lambda size: np.exp(3 * stream.standard_normal(size)),
        "rare": lambda size: (stream.random(size) < 3e-3) * 1.0,
        "constant": np.ones,
    }[law](size)
    found = log_p_values(values, 60)
    assert found.min() > np.log(1e-3 / size[1])
    assert (found <= np.log(0.01)).sum() <= stats.binom.isf(1e-6, size[1], 0.01)


def test_unequal_starts_make_no_false_alarm() -> None:
    """Each row of the first sample has the mean of ten of the others; the rows are not identically distributed."""
    stream = np.random.default_rng(1)
    means = np.tile(100 * stream.standard_normal((60, 1)), (11, 1))
    found = log_p_values(means + stream.standard_normal((660, 2000)), 60)
    assert found.min() > np.log(1e-3 / 2000)


def test_scores_are_ranks_in_which_rounding_breaks_no_tie() -> None:
    column = np.array([3.0, 1.0, 1.0 + 1e-12, np.inf, 3.0 - 1e-12, -2.0])
    np.testing.assert_allclose(scores(column[:, None], 1e-9)[:, 0], stats.rankdata([3, 1, 1, 9, 3, -2]) - 3.5)
