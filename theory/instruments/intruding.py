"""How far intruders move a model, when losses take two values: the exact law of ||T_2|| in one round."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from clusterproof.theory.instruments.two_point_losses import TwoPointLosses

NEGLIGIBLE = 1e-15
"""Outcomes less likely than this are left out."""


@lru_cache(maxsize=256)
def exceeded_displacement(law: TwoPointLosses, clients: int, foreign: int, failure: float) -> float:
    """Largest x with P(||T_2|| >= x) > failure, T_2 the sum of the intruders' gradients at chi_1 over m.

    Parameters
    ----------
    law
        Of the losses; with one row, L = 1.
    clients, foreign
        m, and those of cluster 2, each of which is an intruder with the law's error probability and then draws a
        fresh row for its gradient.
    failure
        Probability in (0, 1).
    """
    if law.samples != 1:
        raise ValueError("one row a client")
    rare, common = map(float, law.noise)
    slope = float(law.models[0]) + 1
    counts, chances = _binomial(foreign, float(law.error_probability))
    sizes, weights = [], []
    for count, chance in zip(counts.tolist(), chances.tolist(), strict=True):
        jumps, shares = _binomial(count, float(law.rarity))
        sizes.append(np.abs(count * (slope + common) + jumps * (rare - common)) / clients)
        weights.append(chance * shares)
    size, weight = np.concatenate(sizes), np.concatenate(weights)
    order = np.argsort(-size)
    beyond = np.cumsum(weight[order])
    # what was left out counts as not exceeding
    place = int(np.searchsorted(beyond, failure, side="right"))
    return float(size[order][place]) if place < len(order) else 0.0


@lru_cache(maxsize=64)
def exceeded_across(
    law: TwoPointLosses, clients: int, foreign: int, failure: float, noise: float, directions: int
) -> float:
    """Largest x with P(||T_2 across|| >= x) > failure, for normal gradient noise across the line of the models.

    Given N intruders the sum of their noise is normal, its squared length N noise^2 / m^2 times a chi-squared
    variable over its degrees of freedom.

    Parameters
    ----------
    law, clients, foreign, failure
        As for ``exceeded_displacement``; no loss depends on what is across.
    noise
        Root of the total variance of the gradient across.
    directions
        In which that is spread evenly.
    """
    from scipy.optimize import brentq
    from scipy.stats import chi2

    counts, chances = _binomial(foreign, float(law.error_probability))
    counts, chances = counts[counts > 0], chances[counts > 0]
    unit = noise * math.sqrt(counts.max()) / clients

    def beyond(length: float) -> float:
        return float(
            (chances * chi2.sf((length / noise * clients) ** 2 * directions / counts, directions)).sum()
        )

    if chances.sum() <= failure:
        return 0.0
    found = brentq(lambda length: beyond(length) - failure, 0.0, 2 * unit, xtol=1e-9 * unit)
    return float(found) - 1e-9 * unit


def _binomial(count: int, probability: float) -> tuple[np.ndarray, np.ndarray]:
    """Likely values of Bin(count, probability), and their probabilities."""
    from scipy.special import gammaln, xlog1py, xlogy

    spread = 12 * np.sqrt(count * probability * (1 - probability)) + 40
    low, high = max(0, int(count * probability - spread)), min(count, int(count * probability + spread))
    values = np.arange(low, high + 1)
    choices = gammaln(count + 1) - gammaln(values + 1) - gammaln(count - values + 1)
    chances = np.exp(choices + xlogy(values, probability) + xlog1py(count - values, -probability))
    kept = chances > NEGLIGIBLE
    return values[kept], chances[kept]
