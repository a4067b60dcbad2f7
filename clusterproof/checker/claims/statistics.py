"""Exact binomial statements about failure counts."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

CLAIM_SIGNIFICANCE = 1e-9
"""Probability that a true claim is called violated: a fixed share, so that another claim moves no interval.

A thousand claims together stay within the 1e-6 that a report promises."""


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """Interval for a failure probability (Clopper and Pearson's), or for an expectation.

    Attributes
    ----------
    level
        Probability with which the interval covers, after division by the claims of a report.
    lower, upper
        Its ends.
    """

    level: float
    lower: float
    upper: float


def clopper_pearson(failures: int, trials: int, significance: float) -> Confidence:
    """Two-sided interval for a failure probability that covers with at least 1 - significance.

    Parameters
    ----------
    failures, trials
        Counts, 0 <= failures <= trials and trials >= 1.
    significance
        Error probability of the interval.

    Notes
    -----
    Clopper and Pearson (1934): the ends are quantiles of beta distributions.
    """
    from scipy.special import betaincinv

    half = significance / 2
    lower = 0.0 if failures == 0 else float(betaincinv(failures, trials - failures + 1, half))
    upper = 1.0 if failures == trials else float(betaincinv(failures + 1, trials - failures, 1 - half))
    return Confidence(level=1 - significance, lower=lower, upper=upper)


def binomial_tail(least: int, trials: int, probability: float) -> float:
    """Probability of at least ``least`` events in ``trials`` independent ones."""
    from scipy.special import bdtrc

    return 1.0 if least <= 0 else float(bdtrc(least - 1, trials, probability))


def binomial_quantile(count: int, probability: float, tail: float) -> int:
    """Smallest k with P(Bin(count, probability) > k) <= tail.

    Parameters
    ----------
    count
        Number of draws.
    probability
        Of each, in [0, 1].
    tail
        Allowed probability of exceeding k, positive.
    """
    from scipy.special import bdtrc

    return bisect_left(range(count), True, key=lambda k: bool(bdtrc(k, count, probability) <= tail))


@lru_cache(maxsize=4096)
def critical(count: int, failure: float, significance: float) -> int:
    """Fewest failures of ``count`` at which the interval's lower end passes ``failure``; count + 1 if none do."""

    def passes(failures: int) -> bool:
        return clopper_pearson(failures, count, significance).lower > failure

    return bisect_left(range(1, count + 1), True, key=passes) + 1
