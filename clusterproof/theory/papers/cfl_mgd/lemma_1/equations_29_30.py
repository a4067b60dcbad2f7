"""(29) and (30): Chebyshev for the two losses, against exact chi-square tails."""

from __future__ import annotations

from fractions import Fraction

from clusterproof.theory.claims import Sides, at_most, claim
from clusterproof.theory.exact.basin_pairs import Pair
from clusterproof.theory.exact.two_point_losses import TwoPointLosses


def chebyshev_of(law: TwoPointLosses) -> Fraction:
    """The same for losses with two values, mu = 1 and Delta = 2."""
    return 64 * law.loss_variance / (16 * law.samples)


def towards(noise: Fraction, samples: int, own_angle: Fraction) -> dict[str, Pair]:
    """Both models on the rim, the other one between the optima, kappa = 1: where the bound is tightest."""
    rim, ahead = Fraction(1), Fraction(1)
    return {"pair": Pair(1, rim, noise, samples, 0, rim, own_angle, rim, ahead)}


def chebyshev(pair: Pair) -> float:
    """64 sigma^2 / (Delta^4 mu^2 n')."""
    task = pair.task
    return 64 * pair.sigma**2 / (task.separation**4 * task.strong_convexity**2 * task.samples)


@claim(
    "cfl-mgd/equation-29",
    label="(29)",
    tight=True,
    evaluations=100,
    example=(towards(Fraction(3, 2), 200, Fraction(4, 5)),),
)
def equation_29(pair: Pair) -> Sides:
    """The own loss exceeds delta with probability at most 64 sigma^2 / (Delta^4 mu^2 n').

    Hypotheses
        Models in the paper's basin; sigma^2 bounds the variance of one row's loss at both models;
        delta = (phi^1(chi_1) + phi^1(chi_p)) / 2.

    Statement
        P(phi_i(chi_1) > delta) <= 64 sigma^2 / (Delta^4 mu^2 n').

    Source
        Zhao et al. (2023), (29): Chebyshev with the gap mu Delta^2 / 8 of (28) and variance
        sigma^2 / n'. Tight for rare jumps of the loss; for Gaussian rows the truth is exponentially small in n'.

    Symbols
        n' ``samples``, Delta ``separation``, mu ``strong_convexity``.
    """
    return at_most(pair.loss_exceeds(0, pair.midpoint), chebyshev=chebyshev(pair))


@equation_29.line("two values")
def equation_29_of_two_values(law: TwoPointLosses) -> Sides:
    """The own loss jumps above delta, for a law whose noise lies on that loss."""
    return at_most(law.own_exceeds(law.midpoint), chebyshev=chebyshev_of(law))


@claim(
    "cfl-mgd/equation-30",
    label="(30)",
    tight=True,
    evaluations=100,
    example=(towards(Fraction(3, 7), 19, Fraction(4, 7)),),
)
def equation_30(pair: Pair) -> Sides:
    """The other loss is at most delta with probability at most 64 sigma^2 / (Delta^4 mu^2 n').

    Hypotheses
        As (29).

    Statement
        P(phi_i(chi_p) <= delta) <= 64 sigma^2 / (Delta^4 mu^2 n').

    Source
        Zhao et al. (2023), (30). Tight, as (29).

    Symbols
        n' ``samples``, Delta ``separation``, mu ``strong_convexity``.
    """
    return at_most(pair.loss_at_most(1, pair.midpoint), chebyshev=chebyshev(pair))


@equation_30.line("two values")
def equation_30_of_two_values(law: TwoPointLosses) -> Sides:
    """The other loss jumps to delta, for a law whose noise lies on that loss."""
    return at_most(law.other_at_most(law.midpoint), chebyshev=chebyshev_of(law))
