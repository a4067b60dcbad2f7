"""Theorem 1 with a smaller constant c_4: no longer vacuous, and then false."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.theory.claims import Sides, at_most, choice, claim, integers, suppose
from clusterproof.theory.claims.confirm import confirm_equal
from clusterproof.theory.exact.two_clusters import exact_path, has_positive_probability, run_two_clusters

CONSTANTS = tuple(Fraction(1, denominator) for denominator in (33, 64, 256, 1024))
"""Values of c_4 for which Theorem 1 is not vacuous."""
Clients = Annotated[int, integers(3, 100, upwards=True)]
Own = Annotated[int, integers(2, lambda clients: clients - 1)]
Momentum = Annotated[Fraction, choice(*(Fraction(10**k - 1, 10**k) for k in (1, 2, 3, 4, 5)))]


def rounds_of(constant: Fraction, clients: int, own: int) -> int:
    """T = (8 / l) log(1 / rho), rounded up, with kappa = 1, Delta = 2 and rho = 16 c_4."""
    smallest = Fraction(min(own, clients - own), clients)
    return math.ceil(8 / smallest * math.log(1 / float(16 * constant)))


def last_errors(clients: int, own: int, momentum: Fraction) -> list[Fraction]:
    """|e_T| for each constant, for two scalar clusters without noise, |e_0| = 1/2."""
    counts = [rounds_of(constant, clients, own) for constant in CONSTANTS]
    path = exact_path(Fraction(own, clients), momentum, Fraction(1, 2), max(counts))
    return [abs(path[count]) for count in counts]


def run_the_algorithm(clients: Clients, own: Own, momentum: Momentum) -> None:
    """Run the algorithm for each constant's number of rounds."""
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum))
    for constant, expected in zip(CONSTANTS, last_errors(clients, own, momentum), strict=True):
        trace = run_two_clusters(clients, own, algorithm, 0.5, rounds_of(constant, clients, own))
        confirm_equal(f"c_4 = {constant}", float(np.asarray(trace.errors)[-1, 0]), float(expected))


@claim(
    "cfl-mgd/theorem-1-small-constant",
    label="Theorem 1, c_4 < 1/32",
    judges="ours",
    confirm=run_the_algorithm,
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"),
    example={"clients": 39, "own": 17, "momentum": Fraction(999, 1000)},
)
def theorem_1_small_constant(clients: Clients, own: Own, momentum: Momentum) -> Sides:
    """Some constant c_4 below 1/32, for which Theorem 1 is not vacuous, makes it true.

    Hypotheses
        As Theorem 1, with c_4 any of 1/33, 1/64, 1/256, 1/1024: from 1/32 on rho >= ||e_0||. The probability
        1 - P lambda_5 of a round is positive, 8 exp(-l m / 8) < 1, and with it that of Theorem 1 as meant,
        1 - ... - 4 exp(-clm).

    Statement
        With that probability, after T = (8L / l mu) log(Delta / 2 rho) rounds, rounded up,
        ||chi_p^T - chi*_p|| <= rho.

    Source
        Ours: four values of a constant that Zhao et al. (2023), Theorem 1, leave open, "constants c_1, ..., c_6 > 0
        exist"; (A38) is the appendix's condition, added to the theorem's. That every value below 1/32
        fails is evidence from four values, not a proof for all. Only the shares of the clusters matter: the same
        shares with more clients refute it where the probability is that of all T rounds, 1 - T P lambda_5, too.
    """
    suppose("1 - P lambda_5 > 0", has_positive_probability(2 * 4, min(own, clients - own)))
    errors = last_errors(clients, own, momentum)
    ratios = [error / (16 * constant) for error, constant in zip(errors, CONSTANTS, strict=True)]
    shown = "; ".join(
        f"c_4 = {constant}: after T = {rounds_of(constant, clients, own)} rounds |e_T| = {float(error):.4g} > rho = "
        f"{float(16 * constant):.4g}"
        for constant, error in zip(CONSTANTS, errors, strict=True)
    )
    words = (
        f"m = {clients}, l_1 m = {own}, chi* = +-1, mu = L = 1, v = sigma = 0, e_0 = 1/2, beta = {momentum}: "
        f"{shown}"
    )
    # one constant for which it holds would be enough
    return at_most(min(ratios), one=1, words=words)
