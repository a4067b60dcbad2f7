"""Binomial intervals and quantiles against scipy's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clusterproof.checker.claims.statistics import binomial_quantile, clopper_pearson


@given(trials=st.integers(1, 400), data=st.data(), significance=st.sampled_from([0.05, 1e-3, 1e-7]))
def test_interval_is_scipys(trials: int, data: st.DataObject, significance: float) -> None:
    failures = data.draw(st.integers(0, trials))
    ours = clopper_pearson(failures, trials, significance)
    reference = stats.binomtest(failures, trials).proportion_ci(1 - significance, method="exact")
    assert (ours.lower, ours.upper) == pytest.approx((reference.low, reference.high), rel=1e-6, abs=1e-12)


@given(count=st.integers(0, 300), probability=st.floats(0, 1), tail=st.floats(1e-8, 0.5))
def test_quantile_is_the_smallest_that_is_rarely_exceeded(
    count: int, probability: float, tail: float
) -> None:
    quantile = binomial_quantile(count, probability, tail)
    law = stats.binom(count, probability)
    assert law.sf(quantile) <= tail * (1 + 1e-9)
    if quantile > 0:
        assert law.sf(quantile - 1) > tail * (1 - 1e-9)
