"""Lemma 1 with Cantelli's inequality: same assumptions, half the constant, never above 1."""

from __future__ import annotations

from clusterproof.theory.claims import Sides, at_most, claim
from clusterproof.theory.exact.basin_pairs import Pair
from clusterproof.theory.exact.two_point_losses import TwoPointLosses


def cantelli_bound(pair: Pair) -> float:
    """64 sigma^2 / (64 sigma^2 + n' mu^2 Delta^4)."""
    task = pair.task
    variance = 64 * pair.sigma**2
    gap = task.samples * task.strong_convexity**2 * task.separation**4
    return variance / (variance + gap)


@claim("cfl-mgd/lemma-1-cantelli", label="Lemma 1, Cantelli", judges="ours", tight=True, evaluations=350)
def lemma_1_cantelli(pair: Pair) -> Sides:
    """A client prefers a given wrong model with probability at most 64 s^2 / (64 s^2 + n' mu^2 D^4).

    Hypotheses
        As Lemma 1: models in the paper's basin, sigma^2 (s^2 in the title) bounds the variance of
        one row's loss at the two models, Delta (D in the title) the separation.

    Statement
        P(phi_i(chi_p) >= phi_i(chi_p')) <= 64 sigma^2 / (64 sigma^2 + n' mu^2 Delta^4).

    Proof
        Cantelli's inequality for phi_i(chi_p) - phi_i(chi_p'), whose mean is at most -mu Delta^2 / 4
        by (28) and whose variance is at most 4 sigma^2 / n'.

    Source
        Ours. Tight: attained for one row by losses with two values.
    """
    return at_most(pair.exact, cantelli=cantelli_bound(pair))


@lemma_1_cantelli.line("two values")
def of_two_values(law: TwoPointLosses) -> Sides:
    """The same for losses with two values, mu = 1 and Delta = 2, in rational arithmetic."""
    variance = 64 * law.loss_variance
    return at_most(law.error_probability, cantelli=variance / (variance + 16 * law.samples))
