"""Permutation tests of the hypothesis that the replicates of a run and of the library's run have the same law."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Literal

import numpy as np

from clusterproof.checker.claims.statistics import CLAIM_SIGNIFICANCE
from clusterproof.running import Trace
from clusterproof.theory.bounds.numbers import power_of_ten
from clusterproof.theory.runs.bound import SUSPICIOUS
from clusterproof.theory.runs.run_statistics import (
    Statistic,
    standardise,
    statistics_of_assignments,
    statistics_of_dependence,
    statistics_of_models,
)

SCREEN = 4.0
"""A column gets the p-value 1 if its two means differ by at most this number of standard errors."""

MOST = 16
"""The bound is computed for this number of columns with the largest differences. All others get the p-value 1."""

STEPS = 25
"""Number of Newton steps. The bound is valid after any number of steps."""


def log_p_values(values: np.ndarray, count: int) -> np.ndarray:
    """Bound the two-sided p-values of tests that compare the mean of the first rows with the mean of all rows.

    Parameters
    ----------
    values
        Finite values, (N, K). Each column is a test. Under the hypothesis, all rows are exchangeable, or each of the
        first ``count`` rows is exchangeable with a separate set of other rows. All sets have equal size.
    count
        Number n of rows in the first sample, at most N / 2.

    Returns
    -------
    np.ndarray
        Logarithms of upper bounds on the p-values, (K,).

    Notes
    -----
    If n rows are drawn without replacement, the moment generating function of their mean is below the function for n
    independent draws (Hoeffding 1963, Theorem 4). Hence P(mean >= a) <= min over s of exp(n (log mean exp(s x) - s a)).
    This assumes no distribution and no finite moments, so the p-values are also valid for heavy tails and rare events.
    """
    centred = values - values.mean(axis=0)
    deviation = centred.std(axis=0)
    with np.errstate(all="ignore"):
        excess = np.where(deviation > 0, centred[:count].mean(axis=0) / deviation, 0.0)
    found = np.zeros(values.shape[1])
    far = np.argsort(-np.abs(excess), kind="stable")[:MOST]
    far = far[np.abs(excess[far]) * count**0.5 > SCREEN]
    if far.size:
        unit = centred[:, far] * (np.sign(excess[far]) / deviation[far])
        found[far] = np.minimum(np.log(2) + count * _cramer(unit, np.abs(excess[far])), 0.0)
    return found


def _cramer(values: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Minimise log mean exp(s x) - s a over s >= 0, for columns x (N, K) with mean 0 and variance 1, and a > 0."""
    tilt, best = means.copy(), np.zeros(len(means))
    for _ in range(STEPS):
        exponents = tilt * values
        largest = exponents.max(axis=0)
        weights = np.exp(exponents - largest)
        total = weights.sum(axis=0)
        best = np.minimum(best, largest + np.log(total / len(values)) - tilt * means)
        slope = np.einsum("nk,nk->k", weights, values) / total - means
        curvature = np.einsum("nk,nk,nk->k", weights, values, values) / total - (slope + means) ** 2
        step = slope / np.maximum(curvature, 1e-12)
        tilt = np.clip(tilt - step, tilt / 2, 2 * tilt)
    return best


def scores(values: np.ndarray, tolerance: float) -> np.ndarray:
    """Replace the entries of each column by centred ranks. Entries that differ by less than the tolerance are ties.

    Parameters
    ----------
    values
        Values, (N, K), which may be infinite.
    tolerance
        Largest rounding error of an entry.
    """
    from scipy.stats import rankdata

    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    with np.errstate(invalid="ignore"):
        new = np.diff(ordered, axis=0) > tolerance
    groups = np.concatenate([np.zeros((1, values.shape[1]), dtype=int), np.cumsum(new, axis=0)])
    ranks = rankdata(groups, axis=0)  # compute the ranks of the ordered entries
    centred = np.empty(values.shape)
    np.put_along_axis(centred, order, ranks - ranks.mean(axis=0), axis=0)
    return centred


LIMIT = math.log(CLAIM_SIGNIFICANCE / 8)
"""Logarithm of the level for each of the two comparisons.

The tests of single rounds use all other parts of the total level.
"""
DOMINATED = 0.01
"""If a single replicate has a larger share of a sum of squares, ranks are compared, as well."""
LARGEST = 1e100
"""Value to which the entries of a diverged run's models are clipped."""
POOLED = "in standard deviations"
"""Unit for statistics that are averaged over columns or rounds."""


class SampleTests:
    """Number of tests so far, and result of the test with the smallest p-value."""

    def __init__(self, replicates: int, references: int) -> None:
        self.replicates, self.references = replicates, references
        self.number, self.least, self.sentence = 0, 0.0, ""

    def add(self, name: str, where: str, values: np.ndarray, labels: list[str]) -> None:
        """Test the columns of values (N, K), where the first rows are the replicates of the run."""
        self.number += values.shape[1]
        logs = log_p_values(values, self.replicates)
        best = int(np.argmin(logs))
        if logs[best] < self.least:
            self.least = float(logs[best])
            run_mean, own_mean = (
                float(rows[:, best].mean()) for rows in (values[: self.replicates], values[self.replicates :])
            )
            label = f" of {labels[best]}" if labels[best] else ""
            self.sentence = f"{name}{label}, {where}: estimate {run_mean:.6g}, expectation {own_mean:.6g}"

    @property
    def chance(self) -> float:
        """Logarithm of a bound on the probability that the smallest p-value of a correct run is at most this small."""
        return self.least + math.log(max(self.number, 1))

    def judge(self) -> tuple[Literal["holds", "differs", "inconclusive"], str]:
        """Return the joint result of all tests, at the given level."""
        samples = f"{self.replicates} replicates against {self.references}"
        if self.chance <= LIMIT:
            return "differs", f"{self.sentence} ({samples}, probability at most {power_of_ten(self.chance)})"
        if self.chance <= math.log(SUSPICIOUS):
            needed = math.ceil(self.replicates * (LIMIT - math.log(self.number)) / self.least)
            return "inconclusive", (
                f"{self.sentence} ({samples}, by chance with probability {power_of_ten(self.chance)}): {needed} "
                "replicates would see so large a difference"
            )
        # with this number, a mean that moved by one standard deviation exceeds the threshold by three
        # standard errors
        needed = math.ceil((math.sqrt(2 * (math.log(2 * self.number) - LIMIT)) + 3) ** 2)
        if self.replicates < needed:
            return (
                "inconclusive",
                f"{samples}: {needed} replicates would see a mean that moved by its deviation",
            )
        return "holds", f"none of {self.number} statistics differs ({samples})"


def _statistics(
    models: np.ndarray, assignments: np.ndarray, own: Trace, tolerance: float
) -> Iterator[Statistic]:
    """Yield every statistic, with the run's replicates before the library's replicates."""
    joined = np.concatenate([models, own.models], axis=1)
    for step, finite in enumerate(np.isfinite(joined).all(axis=(2, 3))):
        yield Statistic("finite runs", step, finite[:, None].astype(float), ["all models"])
    cut = np.clip(np.nan_to_num(joined, nan=LARGEST, posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST)
    yield from statistics_of_models(cut, tolerance)
    chosen = np.concatenate([assignments, own.assignments], axis=1)
    yield from statistics_of_assignments(chosen, own.labels, models.shape[2])
    yield from statistics_of_dependence(cut, chosen, own.labels, tolerance)


def compare_samples(models: np.ndarray, assignments: np.ndarray, own: Trace, tolerance: float) -> SampleTests:
    """Test every statistic separately, and pooled over columns, over rounds, and over both."""
    tests = SampleTests(models.shape[1], own.models.shape[1])
    sums: dict[tuple[str, ...], np.ndarray] = {}
    counts: Counter[tuple[str, ...]] = Counter()
    for one in _statistics(models, assignments, own, tolerance):
        where = f"round {one.round}"
        tests.add(one.name, where, one.values, one.labels)
        standard = standardise(one.values, 0.0)
        if one.raw and (heavy := np.square(standard).max(axis=0) > DOMINATED * len(standard)).any():
            labels = [label for label, is_heavy in zip(one.labels, heavy, strict=True) if is_heavy]
            unit, values = tolerance * float(np.abs(one.values).max()), one.values[:, heavy]
            tests.add(f"{one.name}, ranks", where, scores(values, unit), labels)
            far = np.abs(values - np.median(values, axis=0))
            tests.add(f"{one.name}, ranks of distances from the median", where, scores(far, unit), labels)
        tests.add(one.name, f"{where}, {POOLED}", standard.mean(axis=1)[:, None], ["all columns"])
        key = (one.name, *one.labels)
        sums[key] = sums.get(key, 0.0) + standard
        counts[key] += 1
    for (name, *labels), total in sums.items():
        rounds = counts[name, *labels]
        where, mean = f"pooled over {rounds} rounds, {POOLED}", total / rounds
        tests.add(name, where, mean, labels)
        tests.add(name, where, mean.mean(axis=1)[:, None], ["all columns"])
    return tests
