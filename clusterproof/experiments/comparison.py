"""Comparison of a printed number with reproduced numbers (Welch's test), and its smallest detectable difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy  # scipy loads its parts on first use

CONFIDENCE = 0.95
"""Confidence level of the interval for differences that are due to chance."""

POWER = 0.8
"""Probability with which the test detects a difference of the reported size."""

HALF_A_POINT = 0.5
"""Difference between two accuracies, in percentage points, that counts as no difference."""

INFORMATIVE = 0.1
"""A test is informative if the ratio of detectable difference to printed number is at most this number."""

TOO_FEW = "too few runs to say"

SLICES = 1000
"""Number of equally likely values with which we approximate the distribution of a variance."""

RULE = (
    "not reproduced: Welch's test at 95 % shows a difference; compatible to d: it shows none, and d is the smallest "
    f"true difference that it would have shown with probability {POWER:g}, by the spreads and the numbers of runs of "
    "both sides; too few runs to say: it shows none, and d is more than a tenth of the printed number; reproduced: it "
    "shows none, and d is at most half a spread, half a point of accuracy or half of the last printed digit. Where "
    "the paper prints no spread, its runs are taken to spread as ours do."
)
"""Explanation of the possible results of a comparison, for readers of a table."""


@dataclass(frozen=True)
class Printed:
    """A number that a paper prints.

    Attributes
    ----------
    value
        The number.
    spread
        Standard deviation over the paper's runs, or None if the paper does not print one.
    runs
        Number of runs in the mean, or 1 if the paper does not state the number.
    population
        Whether the spread is computed with the divisor n, the number of runs, instead of n - 1.
    digit
        Unit of the last printed digit. The test ignores differences up to half of this unit.
    negligible
        Difference that counts as no difference, for example ``HALF_A_POINT``.
    """

    value: float
    spread: float | None = None
    runs: int = 1
    population: bool = False
    digit: float = 0.0
    negligible: float = 0.0

    def variance(self, default: float | None) -> float | None:
        """Return the unbiased variance of a single run, or ``default`` if the printed spread is unusable."""
        if self.spread is None or (self.population and self.runs < 2):
            return default
        return self.spread**2 * (self.runs / (self.runs - 1) if self.population else 1)


@dataclass(frozen=True)
class Comparison:
    """Comparison of at least one reproduced value (one per seed) with a printed number.

    ``variances`` contains the squared standard errors of our mean and of the printed mean, or is None if both are
    unknown.
    """

    values: tuple[float, ...]
    printed: Printed

    @property
    def difference(self) -> float:
        """Our mean minus the printed number."""
        return float(np.mean(self.values)) - self.printed.value

    @cached_property
    def variances(self) -> tuple[float, float] | None:
        """Squared standard errors of our mean and of the printed mean."""
        ours = float(np.var(self.values, ddof=1)) if len(self.values) > 1 else None
        theirs = self.printed.variance(ours)
        ours = theirs if ours is None else ours
        if ours is None or theirs is None:
            return None
        return ours / len(self.values), theirs / self.printed.runs

    @cached_property
    def freedom(self) -> float:
        """Degrees of freedom of Welch's test, 0 if there is no test, or infinity if both variances are 0."""
        if self.variances is None:
            return 0.0
        ours, theirs = self.variances
        seeds, runs = len(self.values), self.printed.runs
        if ours + theirs == 0:
            return math.inf
        if self.printed.variance(None) is None:  # both variances are estimated from our runs
            return seeds - 1.0
        if seeds == 1:  # both variances are estimated from the paper's runs
            return runs - 1.0
        # formula of Welch and Satterthwaite; a spread over an unknown number of runs counts as exact
        parts = ours**2 / (seeds - 1) + (theirs**2 / (runs - 1) if runs > 1 else 0.0)
        return (ours + theirs) ** 2 / parts if parts else 0.0

    @cached_property
    def allowed(self) -> float | None:
        """Largest difference due to chance or rounding: half of Welch's interval, or half of the last digit."""
        if self.variances is None or not self.freedom:
            return None
        quantile = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, self.freedom))
        return max(self.printed.digit / 2, quantile * math.sqrt(sum(self.variances)))

    @cached_property
    def detectable(self) -> float | None:
        """Smallest true difference that the test detects with probability ``POWER``, or None if there is no test.

        The estimated variances are treated as the true variances.
        """
        if self.allowed is None or self.variances is None or not self.freedom:
            return None
        error = math.sqrt(sum(self.variances))
        if error == 0:
            return self.allowed
        # average over the distribution of the estimated variance, divided into slices of equal probability
        shares = (np.arange(SLICES) + 0.5) / SLICES
        ratios = np.sqrt(scipy.stats.chi2.ppf(shares, self.freedom) / self.freedom)
        thresholds = self.allowed / error * ratios

        def lacking(shift: float) -> float:
            beyond = scipy.special.ndtr(shift - thresholds) + scipy.special.ndtr(-thresholds - shift)
            return float(beyond.mean()) - POWER

        return error * float(scipy.optimize.brentq(lacking, 0.0, float(thresholds[-1]) + 10))

    @property
    def word(self) -> str:
        """Result by ``RULE``: reproduced, compatible, not reproduced or too few. It is "" if there is no test."""
        allowed, detectable, variances = self.allowed, self.detectable, self.variances
        if allowed is None or detectable is None or variances is None:
            return ""
        if abs(self.difference) > allowed:
            return "not reproduced"
        spread = math.sqrt((variances[0] * len(self.values) + variances[1] * self.printed.runs) / 2)
        near = max(spread / 2, self.printed.negligible, self.printed.digit / 2)
        if detectable <= near:
            return "reproduced"
        return "compatible" if detectable <= INFORMATIVE * abs(self.printed.value) else TOO_FEW
