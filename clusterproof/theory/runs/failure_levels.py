"""Hold a run against a bound at several failure probabilities: rare large failures, and frequent small ones."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.theory.bounds.trace_bound import Compared, TraceBound
from clusterproof.theory.claims.statistics import CLAIM_SIGNIFICANCE, binomial_tail

FREQUENT = (1e-4, 0.01, 0.05, 0.2, 0.5)
"""Failure probabilities at which the number of failing replicates is judged; a rarer one makes a single one decide."""

MOST_REPLICATES = 10**6
"""Replicates beyond which no number is said to decide."""

ROUNDING = 1 + 1e-6
"""What rounding may add to a probability: one failure at 1e-9 is called broken."""


@dataclass(frozen=True, eq=False)
class Level:
    """A run held against a bound at one failure probability.

    Attributes
    ----------
    allowed
        The bound.
    compared
        Every quantity that it bounds.
    failing
        Whether each replicate is above it somewhere, (replicates,).
    significance
        Probability with which a run of the bound's hypotheses may be called broken at this level.
    """

    allowed: TraceBound
    compared: list[Compared]
    failing: np.ndarray
    significance: float

    @property
    def rate(self) -> float:
        """Probability with which a replicate may fail."""
        return self.allowed.failure_probability

    @property
    def failures(self) -> int:
        """Number of failing replicates."""
        return int(self.failing.sum())

    @property
    def chance(self) -> float:
        """Probability of so many failing replicates, or more."""
        return self._chance(self.failures)

    def _chance(self, failures: int) -> float:
        if self.rate == 0:
            return 0.0 if failures else 1.0
        return binomial_tail(failures, len(self.failing), self.rate)

    @property
    def broken(self) -> bool:
        """Whether so many failing replicates come by chance with at most the level's significance."""
        return self.failures > 0 and self.chance <= self.significance * ROUNDING

    @property
    def least_failures(self) -> int | None:
        """Fewest failures that are called broken; None where not even all replicates are."""
        limit = self.significance * ROUNDING
        if self._chance(len(self.failing)) > limit:
            return None
        return bisect_left(range(1, len(self.failing)), True, key=lambda k: self._chance(k) <= limit) + 1

    @property
    def deciding(self) -> int:
        """Replicates of which some outcome would be called broken; at most ``MOST_REPLICATES``."""
        if self.rate >= 1:
            return MOST_REPLICATES
        return min(MOST_REPLICATES, math.ceil(math.log(self.significance) / math.log(self.rate)))


def levels_of(
    bound: Callable[[float | None], TraceBound], trace: Trace, failure_probability: float | None
) -> tuple[list[Level], Mapping[float, str]]:
    """Hold a run against a bound at each failure probability at which it exists.

    Parameters
    ----------
    bound
        Takes a failure probability, or None for the claim's own.
    trace
        The run.
    failure_probability
        The only one, in place of the family: 1e-9/(6 R) for R replicates, 1e-4, .01, .05, .2 and .5.

    Returns
    -------
    tuple
        The levels, the rarest failure first; and why others were left out, by failure probability. A sure bound has
        one level. Levels that are rarer than one that can decide, and that no replicate breaks, are not evaluated.

    Raises
    ------
    InvalidArgument
        If there is no bound at any level: that of the claim's own failure probability.
    """
    if failure_probability is not None:
        return [_held(bound(failure_probability), trace, CLAIM_SIGNIFICANCE)], {}
    replicates = trace.models.shape[1] if trace.models.ndim == 4 else 1
    share = CLAIM_SIGNIFICANCE / (1 + len(FREQUENT))
    found: dict[float, Level] = {}
    left_out: dict[float, str] = {}
    for rate in (*reversed(FREQUENT), share / replicates):
        try:
            allowed = bound(rate)
        except InvalidArgument as error:
            left_out[rate] = " ".join(str(error).split())
            continue
        # a sure bound, or one with a failure probability of its own
        if allowed.failure_probability == 0 or allowed.failure_probability in found:
            return [_held(allowed, trace, CLAIM_SIGNIFICANCE)], {}
        level = found[allowed.failure_probability] = _held(allowed, trace, share)
        if level.failures == 0 and any(one.least_failures is not None for one in found.values()):
            break
    if not found:
        return [_held(bound(None), trace, CLAIM_SIGNIFICANCE)], {}
    return [found[rate] for rate in sorted(found)], left_out


def _held(allowed: TraceBound, trace: Trace, significance: float) -> Level:
    if allowed.expectation is not None:
        return Level(allowed, [], np.zeros(1, dtype=bool), significance)
    compared = allowed.compared(trace)
    failing = np.logical_or.reduce([(one.above > 0).any(axis=(0, -1)) for one in compared])
    return Level(allowed, compared, failing, significance)
