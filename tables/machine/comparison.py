"""A paper's table beside ours: cells, whether they are reproduced, paired differences, curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import optimize, stats

CONFIDENCE = 0.95
"""Of the intervals within which a difference is called chance."""

POWER = 0.8
"""Probability with which a difference that could have been shown is shown."""
SMALL = 0.1
"""Share of a printed number up to which a spread of ours says that a number within it is reproduced."""
SLICES = 1000
"""Of the law of a variance."""

RULE = (
    "reproduced: our mean is within the paper's spread (where it prints none within ours, if that is at most a "
    "tenth of its number) and differs by no more than chance, Welch's interval at 95 %; within chance: it is "
    "farther off, but the runs are so few, or spread so far, that no difference is shown; not reproduced: one "
    "is shown. Where the paper prints no spread, its runs are taken to spread as ours do; s.e. are standard "
    "errors of the difference"
)
"""What a verdict on a cell means, in words."""


@dataclass(frozen=True)
class Printed:
    """A number as a paper prints it.

    Attributes
    ----------
    value
        The number.
    spread
        Standard deviation over the paper's runs; None where the paper has none.
    runs
        How many runs it is the mean of; 1 where the paper does not say.
    population
        Whether the spread divides by the number of runs instead of one less.
    resolution
        Unit of the last printed digit: a difference of half of it is none.
    """

    value: float
    spread: float | None = None
    runs: int = 1
    population: bool = False
    resolution: float = 0.0

    def variance(self, default: float | None) -> float | None:
        """Variance of a single run, unbiased; ``default`` where no spread is printed."""
        if self.spread is None:
            return default
        if not self.population:
            return self.spread**2
        return self.spread**2 * self.runs / (self.runs - 1) if self.runs > 1 else default


@dataclass(frozen=True)
class Cell:
    """One number of a table: ours, one a seed, and the paper's.

    Attributes
    ----------
    values
        One a seed, at least one.
    printed
        The paper's; None for a cell that the paper does not have.
    ceiling
        The most that could be reached, one a seed; empty where there is none.
    judged
        Whether the run is the one that the paper speaks of; a shortened run is none.
    seeds
        Which seed each value is of, where some have none; empty for 0, 1, ...
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
        """Our mean minus the paper's value."""
        return None if self.printed is None else self.mean - self.printed.value

    @property
    def standard_error(self) -> float | None:
        """Standard error of the difference; None where neither spread is known."""
        variances = self._variances()
        return None if variances is None else math.sqrt(sum(variances))

    @property
    def in_standard_errors(self) -> float | None:
        """The difference in units of its standard error; None where that is 0 or not known."""
        error = self.standard_error
        return None if self.difference is None or not error else self.difference / error

    @property
    def allowed(self) -> float | None:
        """Largest difference that counts as chance: half of Welch's interval, or half of the last printed digit."""
        variances = self._variances()
        if variances is None or self.printed is None:
            return None
        freedom = self._freedom
        if freedom == 0:
            return None
        quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) if freedom is not None else 0.0
        return max(self.printed.resolution / 2, quantile * math.sqrt(sum(variances)))

    @property
    def detectable(self) -> float | None:
        """Least true difference that is shown with probability ``POWER``; None where none is ever judged.

        The variances are taken to be those that were found.
        """
        error, limit = self.standard_error, self.allowed
        if error is None or limit is None:
            return None
        freedom = self._freedom
        if not freedom:
            return limit
        # over the law of the estimated variance, in slices of equal probability
        shares = (np.arange(SLICES) + 0.5) / SLICES
        thresholds = limit / error * np.sqrt(stats.chi2.ppf(shares, freedom) / freedom)

        def lacking(shift: float) -> float:
            beyond = stats.norm.sf(thresholds - shift) + stats.norm.cdf(-thresholds - shift)
            return float(beyond.mean()) - POWER

        return error * float(optimize.brentq(lacking, 0.0, float(thresholds[-1]) + 10))

    @property
    def _freedom(self) -> float | None:
        """Degrees of freedom of Welch's test; 0 where there is no test, None where nothing spreads."""
        variances = self._variances()
        if variances is None or self.printed is None:
            return 0.0
        ours, theirs = variances
        seeds, runs = len(self.values), self.printed.runs
        if ours + theirs == 0:
            return None
        if self.printed.spread is None:  # both variances are one estimate, ours
            return seeds - 1.0
        if seeds == 1:  # ... and here the paper's
            return runs - 1.0
        # Welch and Satterthwaite; a spread over nobody knows how many runs is taken as exact
        parts = ours**2 / (seeds - 1) + (theirs**2 / (runs - 1) if runs > 1 else 0.0)
        return (ours + theirs) ** 2 / parts if parts else 0.0

    @property
    def within_chance(self) -> bool | None:
        """Whether the difference is no more than chance; None where that cannot be told."""
        if not self.judged or self.difference is None or self.allowed is None:
            return None
        return abs(self.difference) <= self.allowed

    @property
    def verdict(self) -> str | None:
        """By ``RULE``: ``"reproduced"``, ``"within chance"`` or ``"not reproduced"``; None where it cannot be told."""
        if self.within_chance is None or self.printed is None or self.difference is None:
            return None
        if not self.within_chance:
            return "not reproduced"
        spread = self.printed.spread
        if spread is None and self.deviation is not None:  # the farther ours spread, the less they say
            spread = self.deviation if self.deviation <= SMALL * abs(self.printed.value) else 0.0
        near = max(spread or 0.0, self.printed.resolution / 2)
        return "reproduced" if abs(self.difference) <= near else "within chance"

    @property
    def gap(self) -> float | None:
        """Mean over the seeds of the ceiling minus ours."""
        if not self.ceiling:
            return None
        return float(np.mean(np.subtract(self.ceiling, self.values)))

    def _variances(self) -> tuple[float, float] | None:
        """Squared standard errors of our mean and of the paper's."""
        if self.printed is None:
            return None
        own = None if self.deviation is None else self.deviation**2
        theirs = self.printed.variance(own)
        own = theirs if own is None else own
        if own is None or theirs is None:
            return None
        return own / len(self.values), theirs / self.printed.runs


@dataclass(frozen=True)
class Row:
    """A method with its settings.

    Attributes
    ----------
    name
        The method, as the paper writes it.
    settings
        What distinguishes this row, in a few words, such as "as published".
    cells
        By the table's columns; a column may be missing.
    sentence
        What explains the difference to the paper, from the measured numbers.
    """

    name: str
    settings: str
    cells: Mapping[str, Cell]
    sentence: str


@dataclass(frozen=True)
class Comparison:
    """A difference of two methods on the same seeds.

    Attributes
    ----------
    name
        What is subtracted from what.
    values
        One difference a seed.
    """

    name: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean difference."""
        return float(np.mean(self.values))

    @property
    def standard_error(self) -> float | None:
        """Of the mean; None for a single seed."""
        if len(self.values) < 2:
            return None
        return float(np.std(self.values, ddof=1) / math.sqrt(len(self.values)))

    @property
    def interval(self) -> tuple[float, float] | None:
        """Student's interval of the mean at ``CONFIDENCE``; None for a single seed."""
        error = self.standard_error
        if error is None:
            return None
        reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(self.values) - 1)) * error
        return self.mean - reach, self.mean + reach


@dataclass(frozen=True)
class Curve:
    """How columns of the table change with a parameter.

    Attributes
    ----------
    name
        One line.
    parameter
        What is changed.
    points
        Values of the parameter, in order.
    cells
        One a point, by column.
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
        Such as "fpfc/table-1", one line, and where in which paper.
    columns
        Names of the columns, in order, with the digits that are shown after the point.
    rows, comparisons, curves
        What it holds.
    notes
        Sentences that concern all of it.
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


MINIATURE = "A miniature shows that everything runs: no sentence and no verdict on the paper is drawn from its numbers."


def as_miniature(table: Table) -> Table:
    """Leave out what the rows say of the paper, which a run in little cannot show."""
    rows = [replace(row, sentence="") for row in table.rows]
    return replace(table, rows=rows, notes=(*table.notes, MINIATURE))
