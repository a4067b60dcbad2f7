"""Conclusions about an expectation, which are tested with a confidence interval instead of the sample mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clusterproof.checker.claims.rounding import TOLERANCE, unit_of
from clusterproof.checker.claims.sides import check_words
from clusterproof.common import InvalidArgument
from clusterproof.common.validation import brief

FEWEST = 10_000
"""Smallest number of replicates with which an interval from the central limit theorem may decide a line."""
LARGEST_SHARE = 0.01
"""An asymptotic interval may decide a line only if no replicate exceeds this share of the sum of squared deviations."""
BETS = 0.5 ** np.arange(1, 13)
"""Values of lambda in the test for samples that have a lower bound but no upper bound."""
ASYMPTOTIC = "by an interval that is exact only for many replicates without rare large values (give range=)"
REMEDY = "the expectation is not tested: give range=, or at least 10000 replicates none of which dominates"
EQUAL = (
    "the expectation is not tested: all replicates are equal; of rarer values nothing is known: give range="
)
HALVINGS = 16
"""Number of bisection steps for a confidence limit. The lower end of the bracket is a valid limit after every step."""


@dataclass(frozen=True)
class Expectation:
    """The statement that the expectation of each entry is at most, at least, or equal to a number.

    Attributes
    ----------
    samples
        Samples of shape (replicates, ...); the replicates are independent.
    allowed
        The bound, broadcast to the entries, (...).
    sense
        ``"at_most"``, ``"at_least"`` or ``"equal"``.
    range
        Smallest and largest possible value of a sample; the largest value may be infinite. The pair is None if both
        values are unknown.
    words
        As in ``Sides``.
    """

    samples: np.ndarray
    allowed: np.ndarray
    sense: str
    range: tuple[float, float] | None = None
    words: str | Callable[[], str] = field(default="", compare=False)

    @property
    def lower(self) -> bool:
        """Whether the line states that the expectation is at least the bound."""
        return self.sense == "at_least"

    @property
    def exact(self) -> bool:
        """Whether the confidence limit that can refute the line is valid for any number of replicates."""
        return self.range is not None and (np.isfinite(self.range[1]) or self.sense == "at_most")

    @property
    def finite(self) -> np.ndarray:
        """Whether all samples of an entry are finite, (...)."""
        return np.asarray(np.isfinite(self.samples).all(axis=0))

    @property
    def constant(self) -> np.ndarray:
        """Whether all samples of an entry are equal up to rounding, (...)."""
        return np.asarray(np.ptp(self.samples, axis=0) <= TOLERANCE * np.abs(self.samples).max(axis=0))

    @property
    def unbounded(self) -> bool:
        """Whether rare large values that no sample contains could raise the expectation above its upper bound."""
        return self.sense == "at_most" and self.range is not None and not np.isfinite(self.range[1])

    @property
    def of_events(self) -> np.ndarray:
        """Whether every sample of an entry equals one of the two ends of the range, such as 0 or 1, (...)."""
        ends = (np.nan, np.nan) if self.range is None else self.range
        return np.asarray(((self.samples == ends[0]) | (self.samples == ends[1])).all(axis=0))

    def wider(self, lower: np.ndarray, upper: np.ndarray, rounding: float) -> tuple[np.ndarray, np.ndarray]:
        """Widen the limits by the possible rounding error, and clip them to the range; leave event limits unchanged."""
        rounding_of = np.where(self.of_events, 0.0, rounding)
        low, high = (-np.inf, np.inf) if self.range is None else self.range
        return np.maximum(lower - rounding_of, low), np.minimum(upper + rounding_of, high)

    def interval(self, significance: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the two limits for the expectation of each entry, and whether they can decide the line, each (...).

        Parameters
        ----------
        significance
            Probability that the interval of at least one entry is wrong.

        Notes
        -----
        If the range is known, both limits are valid for any number of replicates and any distribution, and lie in the
        range. If all samples of an entry equal one of the two ends of the range, they are the limits of Clopper and
        Pearson (1934). (Replacing each sample by an event with probability (sample - low) / (high - low) does not
        change the expectation.) Otherwise ``_lower_limit`` computes both limits from the distances between the samples
        and each end of the range. If the samples have only a lower bound and the line states an upper bound on the
        expectation, ``_lower_limit`` computes the lower limit, and only this limit is exact. In all other cases the
        interval follows from the central limit theorem. An asymptotic interval decides the line only if there are at
        least ``FEWEST`` replicates and no replicate dominates the variance. All intervals are widened by the possible
        rounding error. If a sample of an entry is not finite, both limits are the mean, which is infinite or NaN.
        """
        unit, finite = unit_of((self.samples, self.allowed)), self.finite
        power = math.frexp(unit)[1]  # with this unit, squares do not overflow
        with np.errstate(all="ignore"):
            samples = np.ldexp(np.where(finite, self.samples, 0.0), -power)
            limits = self._interval(samples, significance, math.ldexp(unit, -power), power)
            lower, upper = (
                np.where(finite, np.ldexp(limit, power), self.samples.mean(axis=0)) for limit in limits[:2]
            )
        return lower, upper, limits[2] | ~finite

    def _interval(
        self, samples: np.ndarray, significance: float, unit: float, power: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the interval for finite samples, scaled by 2^-power; the rounding error is relative to ``unit``."""
        count, rounding = len(samples), TOLERANCE * unit
        mean = samples.mean(axis=0)
        share = significance / max(mean.size, 1)
        deviations = np.square(samples - mean)
        low, high = (0.0, np.inf) if self.range is None else np.ldexp(self.range, -power)
        if self.range is not None and np.isfinite(self.range[1]):
            # each method gets half of the error probability, because the samples choose the method
            lower = low + _lower_limit(samples - low, share / 4) - rounding
            upper = high - _lower_limit(high - samples, share / 4) + rounding
            ends = _event_limits((samples == high).sum(axis=0), count, share / 4)
            lower = np.where(self.of_events, low + (high - low) * ends[0], np.maximum(lower, low))
            upper = np.where(self.of_events, low + (high - low) * ends[1], np.minimum(upper, high))
            return lower, upper, np.ones(mean.shape, dtype=bool)
        from scipy.special import ndtri

        total = deviations.sum(axis=0)
        width = rounding - ndtri(share / 2) * np.sqrt(total / max(count - 1, 1) / count)
        spread = (total > count * rounding**2) & (deviations.max(axis=0) <= LARGEST_SHARE * total)
        if self.range is not None and self.exact:
            lower = _lower_limit(samples - low, share) + low - rounding
            return lower, mean + width, np.ones(mean.shape, dtype=bool)
        return mean - width, mean + width, spread & (count >= FEWEST)


def _event_limits(counts: np.ndarray, trials: int, significance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return confidence limits for the probability of an event, each with error probability ``significance``."""
    from scipy.special import betaincinv

    lower = np.where(counts == 0, 0.0, betaincinv(np.maximum(counts, 1), trials - counts + 1, significance))
    rest = np.maximum(trials - counts, 1)
    upper = np.where(counts == trials, 1.0, betaincinv(counts + 1, rest, 1 - significance))
    return lower, upper


def _lower_limit(samples: np.ndarray, significance: float) -> np.ndarray:
    """Return a lower limit for the expectation of samples (replicates, ...) that are at least 0, for any distribution.

    If the expectation is m, then the mean over lambda of prod_i (1 + lambda (x_i / m - 1)) has expectation 1. By
    Markov's inequality it reaches 1 / alpha with probability at most alpha. The mean decreases with m, so bisection
    finds the limit. Restated from Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by
    betting".
    """
    low, high = np.zeros(samples.shape[1:]), samples.mean(axis=0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        excess = samples / np.maximum(middle, 1e-300) - 1
        logs = np.stack([np.log1p(bet * excess).sum(axis=0) for bet in BETS])
        refuted = np.logaddexp.reduce(logs) - math.log(len(BETS)) >= -math.log(significance)
        low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
    return low


def replicates_to_try(most: int) -> list[int]:
    """Return the numbers 1, 2, 4, ... times ``FEWEST`` that are below ``most``, followed by ``most``."""
    sizes = [min(FEWEST, most)]
    while sizes[-1] < most:
        sizes.append(min(2 * sizes[-1], most))
    return sizes


def expectation(
    samples: Any,
    at_most: Any = None,
    *,
    at_least: Any = None,
    equal: Any = None,
    range: tuple[float, float] | None = None,  # noqa: A002 - the interface's name
    words: str | Callable[[], str] = "",
) -> Expectation:
    """State that an expectation is at most, at least, or equal to a number.

    Do not pass a Monte Carlo mean to ``at_most``: the checker would compare the mean as if it were exact.

    Parameters
    ----------
    samples
        Samples of shape (replicates, ...); the replicates must be independent.
    at_most, at_least, equal
        The bound, broadcast to (...). Give exactly one of the three.
    range
        Smallest and largest possible value of a sample, if known. The interval is then exact. For squares and other
        nonnegative samples, ``at_most`` with ``(0, math.inf)`` is an exact test and needs fewer replicates. For
        ``at_least`` and ``equal``, no exact test exists without a largest value (Bahadur and Savage 1956, restated). In
        all other cases the interval is asymptotic. An asymptotic interval decides the line if there are at least 10 000
        replicates and no replicate dominates the variance. A second sample of ``replicates`` replicates must agree,
        because rare large values occur only in large samples.
    words
        As in ``Sides``.

    Raises
    ------
    InvalidArgument
        If not exactly one of the three bounds is given, if the bound does not broadcast, if there are no replicates, or
        if a sample lies outside ``range``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from clusterproof.theorem import Q, Replicates, Stream, expectation
    >>> from clusterproof import check, claim
    >>> @claim("my-paper/uniform-mean")
    ... def uniform_mean(stream: Stream, replicates: Replicates, shift: Fraction = Q[0:1]):
    ...     return expectation(shift + stream.random(replicates), at_most=shift, range=(0, 2))
    >>> check("my-paper/uniform-mean").verdict
    <Kind.VIOLATED: 'violated'>
    """
    check_words(words)
    given = {"at_most": at_most, "at_least": at_least, "equal": equal}
    stated = {name: value for name, value in given.items() if value is not None}
    if len(stated) != 1:
        raise InvalidArgument(
            "at_most",
            list(stated),
            "must be the only one of at_most, at_least and equal",
            "give exactly one of the three",
        )
    try:
        array = np.asarray(samples, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.size == 0 or array.ndim == 0:
        rule = "must be a nonempty array of numbers, with replicates as the first axis"
        raise InvalidArgument("samples", brief(samples), rule, "draw at least one replicate")
    if range is not None and not (isinstance(range, tuple | list) and len(range) == 2):
        raise InvalidArgument(
            "range", range, "must be a pair (least, largest)", "write, for example, (0, math.inf)"
        )
    # NaN lies in no range, and breaks every bound
    if range is not None and ((array < range[0]) | (array > range[1])).any():
        raise InvalidArgument("range", range, "must contain every sample", "widen the range, or leave it out")
    ((sense, allowed),) = stated.items()
    try:
        entries = np.broadcast_to(np.asarray(allowed, dtype=float), array.shape[1:])
    except ValueError:
        raise InvalidArgument(
            sense,
            np.shape(allowed),
            f"must be broadcastable to the entries {array.shape[1:]}",
            "move the replicates to the first axis of the samples",
        ) from None
    return Expectation(array, entries, sense, range, words)
