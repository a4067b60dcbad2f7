"""Exact tails of a client's loss in Gaussian regression, at the models of a pair."""

from __future__ import annotations

from clusterproof.theory.instruments.basin_pairs import Pair


def midpoint(pair: Pair) -> float:
    """Give delta, the mean of the own clients' expected losses at the two models."""
    return float(pair.task.expected_loss(pair.models, 0).mean())


def _argument(pair: Pair, number: int, level: float) -> float:
    # n' residuals of variance tau^2: 2 n' phi_i / tau^2 is chi-square with n' degrees of freedom
    variance = float(pair.task.residual_variance(pair.models[number], 0))
    return pair.task.samples * level / variance if variance > 0 else float("inf")


def exceeds(pair: Pair, number: int, level: float) -> float:
    """P(phi_i(model) > level) for a client of cluster 0, exactly."""
    from scipy.special import gammaincc

    return float(gammaincc(pair.task.samples / 2, _argument(pair, number, level)))


def at_most(pair: Pair, number: int, level: float) -> float:
    """P(phi_i(model) <= level) for a client of cluster 0, exactly."""
    from scipy.special import gammainc

    return float(gammainc(pair.task.samples / 2, _argument(pair, number, level)))
