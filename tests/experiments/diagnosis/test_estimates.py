"""Estimates of a diagnosis: Student's limits by another library, corrections for a finite population by enumeration."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from clusterproof.experiments.diagnosis.estimates import Estimate, exact, mean_over, variance_over

VALUES = np.array([[1.0, -2.0], [4.0, 0.5], [2.5, 3.0], [7.0, 1.0], [0.0, 2.0]])


@pytest.mark.parametrize("count", [2, 3, 11])
def test_limits_are_students(count: int) -> None:
    one = Estimate(np.array([3.0]), np.array([0.5]), count)
    expected = stats.t.interval(0.98, count - 1, loc=3.0, scale=0.5)
    assert (one.lower(0.01).item(), one.upper(0.01).item()) == pytest.approx(expected)


def test_one_value_has_no_limits_and_a_population_no_error() -> None:
    one = Estimate(np.array([3.0]), np.array([0.5]), 1)
    assert (one.lower(0.01).item(), one.upper(0.01).item()) == (-np.inf, np.inf)
    whole = exact(3)
    assert whole.lower(0.01) == whole.upper(0.01) == 3
    known = mean_over(VALUES, 5)
    np.testing.assert_array_equal(known.value, VALUES.mean(axis=0))
    assert not known.error.any()
    single = mean_over(VALUES[:1], 5)
    assert single.upper(0.01).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_variance_of_a_mean_of_drawn_clients_is_estimated_without_bias(count: int) -> None:
    """Over all samples of a population, without replacement."""
    found = [mean_over(VALUES[list(each)], 5) for each in combinations(range(5), count)]
    assert {one.count for one in found} == {count}
    np.testing.assert_allclose(
        np.mean([one.error**2 for one in found], axis=0), np.var([one.value for one in found], axis=0)
    )


def test_a_variance_and_its_error() -> None:
    n, means = 5, VALUES.mean(axis=0)
    squares = (VALUES - means) ** 2
    whole, drawn = (variance_over(VALUES, complete=complete) for complete in (True, False))
    np.testing.assert_allclose(whole.value, VALUES.var(axis=0))
    assert (whole.count, drawn.count) == (0, n)
    np.testing.assert_allclose(drawn.value, VALUES.var(axis=0, ddof=1))
    fourth = (squares**2).sum(axis=0) / n
    np.testing.assert_allclose(
        drawn.error**2, np.maximum(fourth - (squares.sum(axis=0) / (n - 1)) ** 2, 0) / n
    )
    assert drawn.error.any()
