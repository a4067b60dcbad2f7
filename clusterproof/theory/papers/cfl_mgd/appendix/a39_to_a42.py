"""(A39)-(A42): what T rounds of a contraction with a floor give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from clusterproof.theory.claims import Sides, at_most, choice, claim, equal, integers, iterate, rationals


@dataclass(frozen=True)
class Recursion:
    """The worst case of (A37): e_(t+1) = (1 - l mu / 8L) e_t + rho_0, from the rim of the basin.

    Attributes
    ----------
    root
        sqrt(L / mu), rational.
    share, separation
        l and Delta.
    part_of_floor
        rho_0 > 0, as a part of what (A38) allows.
    """

    root: Annotated[Fraction, choice(Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3))]
    share: Annotated[Fraction, choice(*(Fraction(1, k) for k in (2, 3, 4, 10)))]
    separation: Annotated[Fraction, choice(Fraction(2), Fraction(1), Fraction(1, 2))]
    part_of_floor: Annotated[Fraction, rationals(Fraction(1, 20), 1, 20)]

    @property
    def floor(self) -> Fraction:
        """rho_0."""
        return self.part_of_floor * self.share / 32 / self.root**3 * self.separation

    @property
    def decay(self) -> Fraction:
        """x = l mu / 8L."""
        return self.share / (8 * self.root**2)

    @property
    def start(self) -> Fraction:
        """sqrt(mu / L) Delta / 4."""
        return self.separation / (4 * self.root)

    @property
    def argument(self) -> Fraction:
        """Argument of the logarithm in T: l mu Delta / (32 rho_0 L), at least sqrt(L / mu) by (A38)."""
        return self.share * self.separation / (32 * self.floor * self.root**2)

    @property
    def radius(self) -> Fraction:
        """rho of (A42)."""
        return 16 * self.root**2 / self.share * self.floor

    @property
    def rounds(self) -> int:
        """T of Theorem 1, rounded up."""
        return math.ceil(math.log(self.argument) / self.decay)

    def after(self, rounds: int) -> Fraction:
        """e_T, in closed form."""
        factor = (1 - self.decay) ** rounds
        return factor * self.start + (1 - factor) / self.decay * self.floor


@claim("cfl-mgd/appendix-a39", label="(A39)-(A42)", judges={"(A40), meant": "reading"}, evaluations=120)
def rounds_of_a_contraction(recursion: Recursion) -> dict[str, Sides]:
    """After T = (8L / l mu) log(Delta / 2 rho) rounds the error is at most rho = (16 L / mu l) rho_0.

    Hypotheses
        (A37) in every round, with the same rho_0, and (A38), were they true (``cfl-mgd/appendix-a35``); chi_p^0 on the
        rim of the basin. Each round costs P lambda_5 of probability, T P lambda_5 in all, which the paper leaves out.

    Statement
        ||chi_p^T - chi*_p|| <= rho, conditional on what ``cfl-mgd/appendix-a35`` refutes.

    Lines
        (A39)
            ||chi_p^T - chi*_p|| <= (1 - l mu / 8L)^T ||chi_p^0 - chi*_p|| + (8L / l mu) rho_0, for any T; attained as
            T grows.
        (A40), meant
            (sqrt(mu / L) Delta / 4) (1 - l mu / 8L)^T <= (8 rho_0 / l) sqrt(L / mu) for T = (8L / l mu) log(l mu Delta
            / (32 rho_0 L)), rounded up, which is what (A41) uses; printed is =, ``cfl-mgd/appendix-misprints``.
        (A41)
            (8 rho_0 / l) sqrt(L / mu) + (8L / mu l) rho_0 <= (16 L / mu l) rho_0; an equality at L = mu.
        (A42)
            ||chi_p^T - chi*_p|| <= rho for that T, which is (8L / l mu) log(Delta / 2 rho), rounded up.

    Source
        Zhao et al. (2023), (A39)-(A42).
    """
    left = (1 - recursion.decay) ** recursion.rounds * recursion.start
    return {
        "(A40), meant": at_most(left, left=8 * recursion.floor / recursion.share * recursion.root),
        "(A42)": at_most(recursion.after(recursion.rounds), radius=recursion.radius),
    }


@rounds_of_a_contraction.line("(A39)")
def error_after_rounds(recursion: Recursion, rounds: Annotated[int, integers(0, 30)]) -> Sides:
    """Error and start shrink by the same factor, and the floor is added to the error."""
    decay, floors = recursion.decay, recursion.floor / recursion.decay

    def one_round(state: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
        error, kept = state
        return (1 - decay) * error + recursion.floor, (1 - decay) * kept

    def within(state: tuple[Fraction, Fraction], passed: int) -> bool:
        error, kept = state
        return error <= kept + floors

    error, kept = iterate(one_round, (recursion.start, recursion.start), rounds, invariant=within)
    return at_most(error, start=kept, floors=floors)


@rounds_of_a_contraction.line("(A41)")
def floors_together(recursion: Recursion) -> Sides:
    """Whatever T is."""
    floor, root = recursion.floor, recursion.root
    return at_most(8 * floor / recursion.share * (root + root**2), radius=recursion.radius)


@claim(
    "cfl-mgd/appendix-misprints",
    label="(A40), and rho of Theorem 1",
    failure="misprint",
    repaired_by="cfl-mgd/appendix-a39",
)
def misprints(recursion: Recursion, p: Annotated[int, integers(1, 4)]) -> dict[str, Sides]:
    """After T rounds exactly 8 rho_0 sqrt(L / mu) / l is left of the start, and rho is (16 L / mu p) rho_0.

    Hypotheses
        As ``cfl-mgd/appendix-a39``; p the number of the cluster.

    Statement
        What ``cfl-mgd/appendix-a39`` states, as printed.

    Lines
        (A40)
            (sqrt(mu / L) Delta / 4) (1 - l mu / 8L)^T = (8 rho_0 / l) sqrt(L / mu) for T = (8L / l mu) log(l mu Delta
            / (32 rho_0 L)), not rounded. It is less, since log(1 - x) < -x. Divided by the right side.
        Theorem 1, rho
            After T = (8L / l mu) log(Delta / 2 rho) rounds, rounded up, the error is at most rho = (16 L / mu p) rho_0,
            with p for l. Since p >= 1 >= 2 l, the floor (8L / l mu) rho_0 of (A39) alone reaches it.

    Source
        Zhao et al. (2023), (A40), which uses (1 - x)^(1/x) = 1/e, and Theorem 1; meant are <= and l.
    """
    decay, log = recursion.decay, math.log(recursion.argument)
    # relative to the right side, so that the start cancels
    ratio = math.exp(log * math.log1p(-float(decay)) / float(decay) + log)
    radius = 16 * recursion.root**2 / p * recursion.floor
    rounds = math.ceil(max(0.0, math.log(recursion.separation / (2 * radius))) / decay)
    return {
        "(A40)": equal((ratio, 1.0), rounding=1e-9),
        "Theorem 1, rho": at_most(recursion.after(rounds), radius=radius),
    }
