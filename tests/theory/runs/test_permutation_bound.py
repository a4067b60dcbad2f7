"""Bounds on permutation p-values: above the exact ones, and false alarms as rare as they say for any law."""

import numpy as np
import pytest
from scipy import stats

from clusterproof.theory.runs.two_samples import log_p_values, scores


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
    """The infimum of Cramer's method for a column of zeros and ones, whatever their scale; 1 within the screen."""
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
