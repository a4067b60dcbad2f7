"""Theorem 1: exponential convergence of option I."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.theory.claims import Sides, at_least, at_most, claim, rationals, suppose
from clusterproof.theory.papers.cfl_mgd.lemma_2.lemma_2 import MISMATCH

Share = Annotated[Fraction, rationals(Fraction(1, 10**6), Fraction(1, 2), 6)]
"""l = min l_p."""
RootOfKappa = Annotated[Fraction, rationals(1, 3, 2, upwards=True)]
Separation = Annotated[Fraction, rationals(0, 2, 3)]
"""Delta, at most 2 by max ||chi*_p|| <= 1 of (A10)."""


def largest_start(root_of_kappa: Fraction, separation: Fraction) -> Fraction:
    """||e_0|| that Assumption 4 allows."""
    return separation / (4 * root_of_kappa)


def least_floor(share: Fraction) -> Fraction:
    """rho_0 >= c_4 l, even with v = sigma = beta = 0."""
    return MISMATCH * share


def allowed_floor(share: Fraction, root_of_kappa: Fraction, separation: Fraction) -> Fraction:
    """What (A38) allows rho_0."""
    return share / 32 * separation / root_of_kappa**3


def least_conclusion(share: Fraction, root_of_kappa: Fraction) -> Fraction:
    """rho = (16 L / mu l) rho_0."""
    return 16 * root_of_kappa**2 / share * least_floor(share)


@claim("cfl-mgd/theorem-1", label="Theorem 1, (11)", repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"))
def theorem_1(share: Share, root_of_kappa: RootOfKappa, separation: Separation) -> Sides:
    """After T = (8L / l mu) log(Delta / 2 rho) rounds, every model is within rho of its optimum.

    Hypotheses
        Assumptions 1-5, eta = 1/L, and (A38) rho_0 <= (l/32) (mu/L)^(3/2) Delta, which is the appendix's condition,
        added to the theorem's.

    Statement
        With probability at least 1 - lambda, ||chi_p^T - chi*_p|| <= rho = (16 L / mu l) rho_0 for
        all p, rho_0 as (A36) with c_1 .. c_6 of the appendix (c_4 = 1/4).

    Source
        Zhao et al. (2023), Theorem 1 and Appendix B; the printed 16L / (mu p) is read as (A42).
        Constants of which the paper states only that they exist:
        ``cfl-mgd/theorem-1-small-constant``.
    """
    suppose(
        "(A38): rho_0 <= (l/32) (mu/L)^(3/2) Delta",
        least_floor(share) <= allowed_floor(share, root_of_kappa, separation),
    )
    # an instance that meets (A38) would already have to start within rho
    return at_most(largest_start(root_of_kappa, separation), rho=least_conclusion(share, root_of_kappa))


@theorem_1.step("conclusion")
def weaker_conclusion(share: Share, root_of_kappa: RootOfKappa, separation: Separation) -> Sides:
    """rho is at least 8 kappa^(3/2) times the largest start."""
    start = largest_start(root_of_kappa, separation)
    return at_least(least_conclusion(share, root_of_kappa), start=8 * root_of_kappa**3 * start)


@theorem_1.step("(A38)")
def impossible_floor(share: Share, root_of_kappa: RootOfKappa, separation: Separation) -> Sides:
    """rho_0 is at least four times what (A38) allows it."""
    return at_least(least_floor(share), allowed=4 * allowed_floor(share, root_of_kappa, separation))


@theorem_1.step("rounds")
def negative_rounds(share: Share, root_of_kappa: RootOfKappa, separation: Separation) -> Sides:
    """Delta / 2 rho <= 1/4, so that T <= (8 kappa / l) log(1/4) < 0."""
    return at_most(separation / (2 * least_conclusion(share, root_of_kappa)), quarter=Fraction(1, 4))
