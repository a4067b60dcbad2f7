"""Bounds on the p-values of permutation tests, for samples of any law and size."""

from __future__ import annotations

import numpy as np

SCREEN = 4.0
"""Difference of the two means, in standard errors, up to which a column is given the p-value 1."""

MOST = 16
"""Number of columns for which the bound is computed, those that differ most; the others have p = 1."""

STEPS = 25
"""Newton steps; every iterate gives a valid bound."""


def log_p_values(values: np.ndarray, count: int) -> np.ndarray:
    """Bound the two-sided p-values of the mean of the first rows among all rows, column by column.

    Parameters
    ----------
    values
        (N, K), finite. Under the hypothesis the rows are exchangeable; or each of the first ``count`` rows is
        exchangeable with the same number of the others.
    count
        n, number of rows of the first sample, at most N / 2.

    Returns
    -------
    np.ndarray
        Logarithms of upper bounds on the p-values, (K,).

    Notes
    -----
    The mean of n rows drawn without replacement has a moment generating function below that of n independent draws
    (Hoeffding 1963, Theorem 4), so that P(mean >= a) <= min over s of exp(n (log mean exp(s x) - s a)).
    No law and no finite moments are assumed: the p-values are valid for heavy tails and rare events, too.
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
    """Minimise log mean exp(s x) - s a over s >= 0, for centred columns x (N, K) of variance 1 and means a > 0."""
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
    """Replace the entries of each column by centred ranks; entries nearer than the tolerance are ties.

    Parameters
    ----------
    values
        (N, K), infinite entries allowed.
    tolerance
        What rounding may add to an entry.
    """
    from scipy.stats import rankdata

    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    with np.errstate(invalid="ignore"):
        new = np.diff(ordered, axis=0) > tolerance
    groups = np.concatenate([np.zeros((1, values.shape[1]), dtype=int), np.cumsum(new, axis=0)])
    ranks = rankdata(groups, axis=0)  # of the ordered entries
    centred = np.empty(values.shape)
    np.put_along_axis(centred, order, ranks - ranks.mean(axis=0), axis=0)
    return centred
