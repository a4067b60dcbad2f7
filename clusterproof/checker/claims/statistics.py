"""Exact binomial intervals and tests for failure counts."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

CLAIM_SIGNIFICANCE = 1e-9
"""Largest probability that the checker calls a true claim violated.

For a thousand claims together, the probability is at most 1e-6, as a report promises.
"""


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """Clopper and Pearson's interval for a failure probability, or an interval for an expectation.

    Attributes
    ----------
    level
        Coverage probability of the interval.
    lower, upper
        Ends of the interval.
    """

    level: float
    lower: float
    upper: float


def clopper_pearson(failures: int, trials: int, significance: float) -> Confidence:
    """Return a two-sided confidence interval for a failure probability, with level 1 - significance.

    Parameters
    ----------
    failures, trials
        Numbers of failures and of trials, with 0 <= failures <= trials and trials >= 1.
    significance
        Probability that the interval does not contain the failure probability.

    Notes
    -----
    Method of Clopper and Pearson (1934): the ends are quantiles of beta distributions.
    """
    from scipy.special import betaincinv

    half = significance / 2
    lower = 0.0 if failures == 0 else float(betaincinv(failures, trials - failures + 1, half))
    upper = 1.0 if failures == trials else float(betaincinv(failures + 1, trials - failures, 1 - half))
    return Confidence(level=1 - significance, lower=lower, upper=upper)


def binomial_tail(least: int, trials: int, probability: float) -> float:
    """Return the probability of at least ``least`` events in ``trials`` independent trials."""
    from scipy.special import bdtrc

    return 1.0 if least <= 0 else float(bdtrc(least - 1, trials, probability))


def binomial_quantile(count: int, probability: float, tail: float) -> int:
    """Return the smallest k with P(Bin(count, probability) > k) <= tail.

    Parameters
    ----------
    count
        Number of draws.
    probability
        Probability of each event, in [0, 1].
    tail
        Largest allowed probability of more than k events, positive.
    """
    from scipy.special import bdtrc

    return bisect_left(range(count), True, key=lambda k: bool(bdtrc(k, count, probability) <= tail))


@lru_cache(maxsize=4096)
def critical(count: int, failure: float, significance: float) -> int:
    """Return the smallest number of failures whose interval lies above ``failure``, or count + 1 if there is none."""

    def passes(failures: int) -> bool:
        return clopper_pearson(failures, count, significance).lower > failure

    return bisect_left(range(1, count + 1), True, key=passes) + 1
