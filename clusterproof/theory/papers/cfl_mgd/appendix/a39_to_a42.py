"""(A39)-(A42): what T rounds of a contraction with a floor give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from clusterproof.theory.claims import Sides, at_most, choice, claim, equal, integers, rationals
from clusterproof.theory.exact.algebra import NotNegative
from clusterproof.theory.exact.algebra import Share as Part

"""Claims that follow from (A39)."""


@dataclass(frozen=True)
class Recursion:
    """The worst case of (A37): e_(t+1) = (1 - l mu / 8L) e_t + rho_0, from the rim of the basin.

    Fractions are long after many rounds, so that the claims are searched instead of exhausted.

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


@claim("cfl-mgd/a39", label="(A39)", evaluations=120)
def a39(recursion: Recursion, rounds: Annotated[int, integers(0, 30)]) -> Sides:
    """T rounds of (A37) give (1 - l mu / 8L)^T ||e_0|| + (8L / l mu) rho_0.

    Hypotheses
        (A37) in every round, with the same rho_0; see ``cfl-mgd/a37`` for whether it holds.

    Statement
        ||chi_p^T - chi*_p|| <= (1 - l mu / 8L)^T ||chi_p^0 - chi*_p|| + (8L / l mu) rho_0.

    Symbols
        l = min l_p, rho_0 of (A36).

    Source
        Zhao et al. (2023), (A39): a geometric sum. Upper bound, attained as T grows. Each round costs
        P lambda_5 of probability, T P lambda_5 in all, which the paper leaves out.
    """
    error = recursion.start
    for _ in range(rounds):
        error = (1 - recursion.decay) * error + recursion.floor
    return at_most(
        error,
        start=(1 - recursion.decay) ** rounds * recursion.start,
        floors=recursion.floor / recursion.decay,
    )


def last_round(recursion: Recursion, rounds: int) -> dict[str, Fraction]:
    """Give what the induction says of the last round; of none, that nothing decays."""
    decay = recursion.decay if rounds else Fraction(0)
    start, floors = (
        (1 - recursion.decay) ** max(rounds - 1, 0) * recursion.start,
        recursion.floor / recursion.decay,
    )
    return {
        "decay": decay,
        "kept": start,
        "floors": floors,
        "used": recursion.after(max(rounds - 1, 0)) / (start + floors),
    }


@a39.proof("induction", at=last_round)
def a39_on_symbols(decay: Part, kept: NotNegative, floors: NotNegative, used: Part) -> Sides:
    """Step T to T + 1 for an error within kept + floors, where rho_0 = decay times floors; at T = 0, floors = 0."""
    error = used * (kept + floors)
    return at_most((1 - decay) * error + decay * floors, start=(1 - decay) * kept, floors=floors)


@claim("cfl-mgd/a40", label="(A40)", failure="misprint", repaired_by="cfl-mgd/a40-meant")
def a40(recursion: Recursion) -> Sides:
    """After T = (8L / l mu) log(l mu Delta / (32 rho_0 L)) rounds, exactly 8 rho_0 sqrt(L / mu) / l is left.

    Hypotheses
        (A38), ||chi_p^0 - chi*_p|| on the rim of the basin.

    Statement
        (sqrt(mu / L) Delta / 4) (1 - l mu / 8L)^((8L / l mu) log(l mu Delta / (32 rho_0 L))) =
        (sqrt(mu / L) Delta / 4) exp(-log(l mu Delta / (32 rho_0 L))) = (8 rho_0 / l) sqrt(L / mu).

    Source
        Zhao et al. (2023), (A40), as printed: (1 - x)^(1/x) = 1/e. Identity; it is less, since
        log(1 - x) < -x.
    """
    # relative to the right side, so that the start cancels; T is not rounded
    exponent = math.log(recursion.argument) * math.log1p(-float(recursion.decay)) / float(recursion.decay)
    return equal((math.exp(exponent + math.log(recursion.argument)), 1.0), rounding=1e-9)


@claim("cfl-mgd/a40-meant", label="(A40), meant", judges="ours", evaluations=120)
def a40_meant(recursion: Recursion) -> Sides:
    """After T rounds, rounded up, at most 8 rho_0 sqrt(L / mu) / l is left of the start.

    Hypotheses
        As (A40); T = (8L / l mu) log(l mu Delta / (32 rho_0 L)) rounded up to an integer.

    Statement
        (1 - l mu / 8L)^T ||chi_p^0 - chi*_p|| <= (8 rho_0 / l) sqrt(L / mu).

    Source
        What (A41) of Zhao et al. (2023) uses of (A40). Upper bound.
    """
    return at_most(
        (1 - recursion.decay) ** recursion.rounds * recursion.start,
        left=8 * recursion.floor / recursion.share * recursion.root,
    )


Root = Annotated[Fraction, rationals(1, 3, 2, upwards=True)]
"""sqrt(L / mu)."""
Share = Annotated[Fraction, rationals(Fraction(1, 10), Fraction(1, 2), 10)]
"""l."""
Floor = Annotated[Fraction, rationals(0, 1, 4, upwards=True)]
"""rho_0."""


@claim("cfl-mgd/a41", label="(A41)", tight=True)
def a41(root: Root, share: Share, floor: Floor) -> Sides:
    """What is left of the start and the floors together are at most (16 L / mu l) rho_0.

    Hypotheses
        (A39) and (A40) as meant.

    Statement
        ||chi_p^T - chi*_p|| <= (8 rho_0 / l) sqrt(L / mu) + (8L / mu l) rho_0 <= (16 L / mu l) rho_0.

    Source
        Zhao et al. (2023), (A41). Upper bound, the second an equality at L = mu.
    """
    return at_most(8 * floor / share * (root + root**2), radius=16 * root**2 / share * floor)


@claim("cfl-mgd/a42", label="(A42)", evaluations=120)
def a42(recursion: Recursion) -> Sides:
    """After T rounds the error is at most rho = (16 L / mu l) rho_0.

    Hypotheses
        (A37) in every round and (A38), were they true; T rounded up.

    Statement
        rho = (16 L / mu l) rho_0, T = (8L / l mu) log(Delta / 2 rho), which is that of (A40).

    Source
        Zhao et al. (2023), (A42). Upper bound, conditional: ``cfl-mgd/a38`` finds (A38) unsatisfiable with
        the paper's constants.
    """
    return at_most(recursion.after(recursion.rounds), radius=recursion.radius)


@claim("cfl-mgd/a42-printed", label="Theorem 1, rho", failure="misprint", repaired_by="cfl-mgd/a42")
def a42_printed(recursion: Recursion, p: Annotated[int, integers(1, 4)]) -> Sides:
    """After T = (8L / l mu) log(Delta / 2 rho) rounds the error is at most rho = (16 L / mu p) rho_0.

    Hypotheses
        As (A42); p the number of the cluster.

    Statement
        rho = (16 L / mu p) rho_0, p instead of l.

    Source
        Zhao et al. (2023), Theorem 1, as printed. Upper bound; a misprint of (A42). Since p >= 1 >= 2 l, the
        floor (8L / l mu) rho_0 of (A39) alone reaches it.
    """
    radius = 16 * recursion.root**2 / p * recursion.floor
    rounds = math.ceil(max(0.0, math.log(recursion.separation / (2 * radius))) / recursion.decay)
    return at_most(recursion.after(rounds), radius=radius)
