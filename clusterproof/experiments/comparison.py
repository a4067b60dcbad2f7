"""Comparison of a paper's table with reproduced results: cells, verdicts, paired differences, curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy  # its parts are loaded on first use

CONFIDENCE = 0.95
"""Confidence of the intervals within which a difference is attributed to chance."""

POWER = 0.8
"""Power of the test at the reported detectable difference."""
HALF_A_POINT = 0.5
"""Difference of two accuracies in percent that is taken as none."""
SLICES = 1000
"""Number of equally likely values by which the distribution of a variance is approximated."""

RULE = (
    "not reproduced: Welch's test at 95 % shows a difference; compatible to d: it shows none, and d is the smallest "
    f"true difference that it would have shown with probability {POWER:g}, by the spreads and the numbers of runs of "
    "both sides; reproduced: it shows none, and d is at most half a spread, half a point of accuracy or half of the "
    "last printed digit. Where the paper prints no spread, its runs are taken to spread as ours do; s.e. are standard "
    "errors of the difference"
)
"""Explanation of the verdicts on cells."""


@dataclass(frozen=True)
class Printed:
    """A number as a paper prints it.

    Attributes
    ----------
    value
        The number.
    spread
        Standard deviation over the paper's runs; None if it is not printed.
    runs
        Number of runs of the mean; 1 if it is not stated.
    population
        Whether the denominator of the spread is the number of runs n instead of n - 1.
    resolution
        Unit of the last printed digit; differences up to half of it are ignored.
    negligible
        Difference that is taken as none, such as ``HALF_A_POINT``.
    """

    value: float
    spread: float | None = None
    runs: int = 1
    population: bool = False
    resolution: float = 0.0
    negligible: float = 0.0

    def variance(self, default: float | None) -> float | None:
        """Return the variance of a single run, unbiased; ``default`` if no spread is printed."""
        if self.spread is None:
            return default
        if not self.population:
            return self.spread**2
        return self.spread**2 * self.runs / (self.runs - 1) if self.runs > 1 else default


@dataclass(frozen=True)
class Cell:
    """One number of a table: the reproduced values, one per seed, and the printed value.

    Attributes
    ----------
    values
        Reproduced values, one per seed, at least one.
    printed
        Printed value; None for cells that are not in the paper.
    ceiling
        Attainable maximum, one per seed; empty if unknown.
    judged
        Whether the run is that of the paper; False for shortened runs.
    seeds
        Seed of each value if some seeds are missing; empty for 0, 1, ...
    """

    values: tuple[float, ...]
    printed: Printed | None = None
    ceiling: tuple[float, ...] = ()
    judged: bool = True
    seeds: tuple[int, ...] = ()

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return float(np.mean(self.values))

    @property
    def deviation(self) -> float | None:
        """Standard deviation over the seeds, n - 1 in the denominator; None for a single seed."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None

    @property
    def difference(self) -> float | None:
        """Mean minus the printed value."""
        return None if self.printed is None else self.mean - self.printed.value

    @property
    def standard_error(self) -> float | None:
        """Standard error of the difference; None if neither spread is known."""
        variances = self._variances()
        return None if variances is None else math.sqrt(sum(variances))

    @property
    def in_standard_errors(self) -> float | None:
        """The difference in units of its standard error; None if that is 0 or unknown."""
        error = self.standard_error
        return None if self.difference is None or not error else self.difference / error

    @property
    def allowed(self) -> float | None:
        """Largest difference attributed to chance: half of Welch's interval, or half of the last printed digit."""
        variances = self._variances()
        if variances is None or self.printed is None:
            return None
        freedom = self._freedom
        if freedom == 0:
            return None
        quantile = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) if freedom is not None else 0.0
        return max(self.printed.resolution / 2, quantile * math.sqrt(sum(variances)))

    @property
    def detectable(self) -> float | None:
        """Smallest true difference that is detected with probability ``POWER``; None if there is no test.

        The variances are assumed to be the estimated ones.
        """
        error, limit = self.standard_error, self.allowed
        if error is None or limit is None:
            return None
        freedom = self._freedom
        if not freedom:
            return limit
        # over the law of the estimated variance, in slices of equal probability
        shares = (np.arange(SLICES) + 0.5) / SLICES
        thresholds = limit / error * np.sqrt(scipy.stats.chi2.ppf(shares, freedom) / freedom)

        def lacking(shift: float) -> float:
            beyond = scipy.special.ndtr(shift - thresholds) + scipy.special.ndtr(-thresholds - shift)
            return float(beyond.mean()) - POWER

        return error * float(scipy.optimize.brentq(lacking, 0.0, float(thresholds[-1]) + 10))

    @property
    def _freedom(self) -> float | None:
        """Degrees of freedom of Welch's test; 0 if there is no test, None if all variances are 0."""
        variances = self._variances()
        if variances is None or self.printed is None:
            return 0.0
        ours, printed = variances
        seeds, runs = len(self.values), self.printed.runs
        if ours + printed == 0:
            return None
        if self.printed.spread is None:  # one estimate for both variances
            return seeds - 1.0
        if seeds == 1:  # ... from the paper's runs
            return runs - 1.0
        # Welch and Satterthwaite; a spread over an unknown number of runs is treated as exact
        parts = ours**2 / (seeds - 1) + (printed**2 / (runs - 1) if runs > 1 else 0.0)
        return (ours + printed) ** 2 / parts if parts else 0.0

    @property
    def within_chance(self) -> bool | None:
        """Whether the difference is attributed to chance; None if that cannot be decided."""
        if not self.judged or self.difference is None or self.allowed is None:
            return None
        return abs(self.difference) <= self.allowed

    @property
    def verdict(self) -> str | None:
        """By ``RULE``: ``"reproduced"``, ``"compatible"`` or ``"not reproduced"``; None if it cannot be decided."""
        detectable, variances = self.detectable, self._variances()
        if self.within_chance is None or self.printed is None or detectable is None or variances is None:
            return None
        if not self.within_chance:
            return "not reproduced"
        spread = math.sqrt((variances[0] * len(self.values) + variances[1] * self.printed.runs) / 2)
        near = max(spread / 2, self.printed.negligible, self.printed.resolution / 2)
        return "reproduced" if detectable <= near else "compatible"

    @property
    def gap(self) -> float | None:
        """Mean over the seeds of the ceiling minus the value."""
        if not self.ceiling:
            return None
        return float(np.mean(np.subtract(self.ceiling, self.values)))

    def _variances(self) -> tuple[float, float] | None:
        """Squared standard errors of our mean and of the paper's."""
        if self.printed is None:
            return None
        measured = None if self.deviation is None else self.deviation**2
        printed = self.printed.variance(measured)
        measured = printed if measured is None else measured
        if measured is None or printed is None:
            return None
        return measured / len(self.values), printed / self.printed.runs


@dataclass(frozen=True)
class Row:
    """A method with its settings.

    Attributes
    ----------
    name
        Name of the method in the paper.
    settings
        Short description of the row, such as "as published".
    cells
        Cells by column; columns may be missing.
    """

    name: str
    settings: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Comparison:
    """A difference of two methods on the same seeds.

    Attributes
    ----------
    name
        Description of the difference.
    values
        Differences, one per seed.
    """

    name: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean difference."""
        return float(np.mean(self.values))

    @property
    def standard_error(self) -> float | None:
        """Standard error of the mean; None for a single seed."""
        if len(self.values) < 2:
            return None
        return float(np.std(self.values, ddof=1) / math.sqrt(len(self.values)))

    @property
    def interval(self) -> tuple[float, float] | None:
        """Student's interval of the mean at ``CONFIDENCE``; None for a single seed."""
        error = self.standard_error
        if error is None:
            return None
        reach = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, len(self.values) - 1)) * error
        return self.mean - reach, self.mean + reach


@dataclass(frozen=True)
class Curve:
    """Columns of the table as functions of a parameter.

    Attributes
    ----------
    name
        Title in one line.
    parameter
        Name of the parameter.
    points
        Values of the parameter, in order.
    cells
        Cells by column, one per point.
    """

    name: str
    parameter: str
    points: tuple[float, ...]
    cells: tuple[Mapping[str, Cell], ...]


@dataclass(frozen=True)
class Table:
    """A reproduced table.

    Attributes
    ----------
    id, title, source
        Identifier such as "fpfc/table-1", title in one line, and paper with the number of the table or
        figure.
    columns
        Names of the columns in order, with the number of decimals.
    rows, comparisons, curves
        Content of the table.
    notes
        Sentences on the whole table.
    settings
        Seeds, rounds and the like, as plain JSON values.
    """

    id: str
    title: str
    source: str
    columns: Mapping[str, int]
    rows: Sequence[Row]
    comparisons: Sequence[Comparison] = ()
    curves: Sequence[Curve] = ()
    notes: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
