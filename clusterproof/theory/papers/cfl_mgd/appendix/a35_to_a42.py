"""Claims on (A35)-(A42): the contraction in a round, the additive error rho_0, and the error after T rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from clusterproof.checker.claims import Excluded, Q, Sides, Z, among, at_most, claim, equal, given, iterate
from clusterproof.theory.exact.scalar_clusters import has_positive_probability
from clusterproof.theory.papers.cfl_mgd.floor import C_4, FloorConstants, printed_floor
from clusterproof.theory.papers.cfl_mgd.lemma_2 import BY_HAND, START, after_a_round
from clusterproof.theory.papers.cfl_mgd.theorem_1 import allowed_floor

POSITIVE = Q[Fraction(1, 100) : 10 : 10]
ROOT = Q[1:]
"""The root sqrt(L / mu)."""
SHARE = Q[Fraction(1, 10**6) : Fraction(1, 2) : 10]
"""The smallest share l of a cluster."""
SEPARATION = Q[0:2:4]
"""The separation Delta of the optima."""
PART = Q[0:1:4]
"""A share of the radius, or of the largest rho_0 that (A38) allows."""


@claim(
    "cfl-mgd/appendix-a35",
    label="(A35)-(A37)",
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"),
    example=(BY_HAND | {"clients": 24, "own": 12}, BY_HAND),
    evaluations=300,
    expected="violated",
    places="theorem 1; (A36); (A37)",
)
def one_round(
    clients: int = Z[2:],
    own: int = Z[1 : lambda clients: clients - 1],
    momentum: Fraction = Q[0 : Fraction(9, 10) : 10],
    start: Fraction = START,
    round_: int = Z[0:],
) -> dict[str, Sides | Excluded]:
    """Every round multiplies the error of each cluster by at most 1 - l mu / 8L, and adds at most rho_0.

    Hypotheses
        The hypotheses of (A8), (A17) and (A34) hold. The printed probability is positive, with c = 1/8 (A5). The
        constants of the appendix are c_1 = c_5 = 384, c_2 = c_6 = sqrt(128), c_3 = 1/2 and c_4 = 1/4.

    Statement
        ||chi_p^(t+1) - chi*_p|| <= (1 - l mu / 8L) ||chi_p^t - chi*_p|| + rho_0, l = min l_p.

    Lines
        (A35)
            For p = 1, with the additive terms of (A8), (A17) and (A34), the bound holds with probability at least 1 -
            lambda_0 - P lambda_1 - 2 lambda_2 - lambda_3 - P lambda_4 - 4 exp(-clm), which is positive for l m >= 12.
            False, because the derivation uses (A34). The union bound counts the event of (A6) twice.
        (A37) = (31) of Lemma 2
            For all p, the bound holds with probability at least 1 - P lambda_5, which is positive for two clusters if
            l m >= 17.
        (A36)
            rho_0 = 2 v / (lambda_0 L sqrt(l m n')) + c_1 sigma^2 / (mu^2 lambda_2 Delta^4 n') + c_2 v sigma sqrt(P) /
            (lambda_1 mu L Delta^2 n' sqrt(m lambda_2)) + c_3 beta v sqrt(l t) / (lambda_3 (1 - beta) L sqrt(m n')) +
            c_4 l + c_5 beta sigma^2 / (mu^2 lambda_2 Delta^4 n') + c_6 beta sigma v sqrt(P t) / (lambda_4 mu L
            Delta^2 n' (1 - beta) sqrt(m lambda_2)). This defines rho_0 as the sum of the three additive terms. The
            sum grows with t, which (A37), (A39) and Theorem 1 ignore. Its term c_4 l is a length only in the units of
            (A10).

    Source
        Zhao et al. (2023), (A35)-(A37). "For any lambda_5 in (0, 1)" needs l m > 8 log 4, and a positive probability
        needs l m > 8 log 4P.
    """
    fewest = min(own, clients - own)
    after = lambda: after_a_round(clients, own, momentum, start, round_, C_4)  # noqa: E731 - of both lines
    return {
        "(A35)": given("1 - ... - 4 exp(-clm) > 0", has_positive_probability(4, fewest), after),
        "(A37) = (31) of Lemma 2": given(
            "1 - P lambda_5 > 0", has_positive_probability(2 * 4, fewest), after
        ),
    }


@one_round.line("(A36)", evaluations=200)
def floor_of_a_round(
    clients: int = Z[10:1000],
    samples: int = Z[1 : 10**5],
    clusters: int = Z[2:10],
    share: Fraction = SHARE,
    smoothness: Fraction = POSITIVE,
    strong_convexity: Fraction = POSITIVE,
    separation: Fraction = POSITIVE,
    momentum: Fraction = Q[0 : Fraction(99, 100) : 10],
    gradient_deviation: Fraction = POSITIVE,
    loss_deviation: Fraction = POSITIVE,
    level: Fraction = Q[Fraction(1, 100) : 1 : 10],
    round_: int = Z[1:],
) -> Sides:
    """rho_0 in Theorem 1 is the sum of the additive terms of (A8), (A17) and (A34), with lambda_i = ``level``."""
    whole = printed_floor(
        share=float(share),
        clusters=clusters,
        clients=clients,
        samples=samples,
        smoothness=float(smoothness),
        strong_convexity=float(strong_convexity),
        separation=float(separation),
        momentum=float(momentum),
        gradient_deviation=float(gradient_deviation),
        loss_deviation=float(loss_deviation),
        round_number=round_,
        failure=float(level),
        constants=FloorConstants(),
    )
    wrong = loss_deviation**2 / ((strong_convexity * separation**2) ** 2 * samples)
    carried = gradient_deviation * math.sqrt(round_) / (1 - momentum)

    def of_false_members(scale: Fraction | int, deviation: Fraction | float) -> float:
        noise = deviation * math.sqrt(clusters / samples) / (level * smoothness)
        return scale * (384 * wrong / level + noise * math.sqrt(128 * wrong / (clients * level)))

    of_descent = 2 * gradient_deviation / (level * smoothness * math.sqrt(share * clients * samples))  # (A8)
    own_momentum = momentum * carried * math.sqrt(share / (clients * samples)) / (2 * level * smoothness)
    of_momentum = own_momentum + share / 4 + of_false_members(momentum, carried)  # (A34) with (A33)
    parts = of_descent + of_false_members(1, gradient_deviation) + of_momentum  # (A17) is the second
    return equal((whole / parts, 1.0), rounding=1e-10)


@claim(
    "cfl-mgd/appendix-a38",
    label="(A38)",
    source={"(A38)": "reading"},
    repaired_by="cfl-mgd/theorem-d",
    expected="vacuous",
    places="section 5; after (A38)",
)
def small_floor(
    root: Fraction = ROOT,
    share: Fraction = SHARE,
    separation: Fraction = SEPARATION,
    other_terms: Fraction = Q[0::2],
) -> dict[str, Sides | Excluded]:
    """The additive error rho_0 is so small that all iterates stay in the basin.

    Hypotheses
        rho_0 is defined by (A36) with c_4 = 1/4. Assumption 4 has max ||chi*|| <~ 1, which we read as max ||chi*|| <=
        1. Therefore Delta <= 2.

    Statement
        rho_0 <= (l / 32) (mu / L)^(3/2) Delta, and ||chi_p^t - chi*_p|| <= sqrt(mu / L) Delta / 4 for all t.

    Lines
        (A38)
            rho_0, the sum of c_4 l and other terms, satisfies the first inequality of the statement, and a model on
            the boundary of the basin stays in the basin. Vacuous: c_4 l = l / 4 alone exceeds the bound, which is at
            most l / 16.
        after (A38)
            If (A37) and (A38) were true, no model would ever leave the basin. Both sides are equal for a model on the
            boundary if (A38) is an equality.

    Source
        Zhao et al. (2023), (A38) and the line after it.
    """
    radius, floor = separation / (4 * root), C_4 * share + other_terms
    small = floor <= allowed_floor(share, root, separation)
    next_error = (1 - share / (8 * root**2)) * radius + floor
    return {"(A38)": given("(A38)", small, lambda: at_most(next_error, radius=radius))}


@small_floor.line("after (A38)")
def staying_in_the_basin(
    root: Fraction = ROOT,
    share: Fraction = SHARE,
    separation: Fraction = SEPARATION,
    part_of_radius: Fraction = PART,
    part_of_floor: Fraction = PART,
) -> Sides:
    """One round of (A37) from a model in the basin, with an error rho_0 that (A38) allows."""
    radius, floor = separation / (4 * root), part_of_floor * allowed_floor(share, root, separation)
    return at_most((1 - share / (8 * root**2)) * part_of_radius * radius + floor, radius=radius)


@dataclass(frozen=True)
class Recursion:
    """The worst case of (A37): e_(t+1) = (1 - l mu / 8L) e_t + rho_0, where e_0 is the radius of the basin.

    Attributes
    ----------
    root
        sqrt(L / mu), as a fraction.
    share, separation
        l and Delta.
    part_of_floor
        rho_0 > 0, as a share of the largest rho_0 that (A38) allows.
    """

    root: Annotated[Fraction, among(Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3))]
    share: Annotated[Fraction, among(*(Fraction(1, k) for k in (2, 3, 4, 10)))]
    separation: Annotated[Fraction, among(Fraction(2), Fraction(1), Fraction(1, 2))]
    part_of_floor: Annotated[Fraction, Q[Fraction(1, 20) : 1 : 20]]

    @property
    def floor(self) -> Fraction:
        """The error rho_0 that a round adds."""
        return self.part_of_floor * allowed_floor(self.share, self.root, self.separation)

    @property
    def decay(self) -> Fraction:
        """The relative decrease l mu / 8L of the error in a round."""
        return self.share / (8 * self.root**2)

    @property
    def start(self) -> Fraction:
        """Largest initial error, sqrt(mu / L) Delta / 4."""
        return self.separation / (4 * self.root)

    @property
    def argument(self) -> Fraction:
        """Argument of the logarithm in T: l mu Delta / (32 rho_0 L), at least sqrt(L / mu) by (A38)."""
        return self.root / self.part_of_floor

    @property
    def rounds(self) -> int:
        """The number T of rounds in Theorem 1, rounded up."""
        return math.ceil(math.log(self.argument) / self.decay)

    def after(self, rounds: int) -> Fraction:
        """Return e_T, in closed form."""
        factor = (1 - self.decay) ** rounds
        return factor * self.start + (1 - factor) / self.decay * self.floor


@claim(
    "cfl-mgd/appendix-a39",
    label="(A39)-(A42)",
    source={"(A40), meant": "reading"},
    evaluations=120,
    expected="consistent, tight within 2",
    places="theorem 1; (A40); (A41); (A42)",
)
def rounds_of_a_contraction(recursion: Recursion) -> dict[str, Sides]:
    """After T = (8L / l mu) log(Delta / 2 rho) rounds the error is at most rho = (16 L / mu l) rho_0.

    Hypotheses
        (A37) holds in every round with the same rho_0, and (A38) holds (compare ``cfl-mgd/appendix-a35``). chi_p^0 is
        on the boundary of the basin. Each round adds P lambda_5 to the failure probability. The paper omits the sum T
        P lambda_5 over all rounds.

    Statement
        ||chi_p^T - chi*_p|| <= rho. The claim assumes (A37), which ``cfl-mgd/appendix-a35`` refutes.

    Lines
        (A39)
            ||chi_p^T - chi*_p|| <= (1 - l mu / 8L)^T ||chi_p^0 - chi*_p|| + (8L / l mu) rho_0, for any T. Equality is
            approached as T grows.
        (A40), meant
            (sqrt(mu / L) Delta / 4) (1 - l mu / 8L)^T <= (8 rho_0 / l) sqrt(L / mu) for T = (8L / l mu) log(l mu
            Delta / (32 rho_0 L)), rounded up. (A41) uses this inequality. The paper prints = instead of <=, see
            ``cfl-mgd/appendix-misprints``.
        (A41)
            (8 rho_0 / l) sqrt(L / mu) + (8L / mu l) rho_0 <= (16 L / mu l) rho_0. Both sides are equal for L = mu.
        (A42)
            ||chi_p^T - chi*_p|| <= rho for that T, which is (8L / l mu) log(Delta / 2 rho), rounded up.

    Checked for
        sqrt(L / mu) = 1, 3/2, 2 or 3, l = 1/2, 1/3, 1/4 or 1/10, and Delta = 2, 1 or 1/2. rho_0 is at least a twentieth
        of the largest rho_0 that (A38) allows, and (A39) has at most 30 rounds.

    Source
        Zhao et al. (2023), (A39)-(A42).
    """
    one, rounds = recursion, recursion.rounds
    return {
        "(A40), meant": at_most(
            (1 - one.decay) ** rounds * one.start, left=8 * one.floor / one.share * one.root
        ),
        "(A42)": at_most(one.after(rounds), radius=2 * one.floor / one.decay),
    }


@rounds_of_a_contraction.line("(A39)")
def error_after_rounds(recursion: Recursion, rounds: int = Z[0:30]) -> Sides:
    """Each round multiplies the error by 1 - l mu / 8L, and adds rho_0."""
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
    """Check (A39) for every T."""
    floor, root = recursion.floor, recursion.root
    return at_most(8 * floor / recursion.share * (root + root**2), radius=2 * floor / recursion.decay)


@claim(
    "cfl-mgd/appendix-misprints",
    label="(A40), and rho of Theorem 1",
    error_kind="misprint",
    repaired_by="cfl-mgd/appendix-a39",
    expected="violated",
    places="theorem 1; (A42)",
)
def misprints(recursion: Recursion, p: int = Z[1:4]) -> dict[str, Sides]:
    """T rounds decrease the initial error to exactly 8 rho_0 sqrt(L / mu) / l, and rho is (16 L / mu p) rho_0.

    Hypotheses
        The hypotheses of ``cfl-mgd/appendix-a39`` hold. Here p is the index of the cluster.

    Statement
        The statement is the statement of ``cfl-mgd/appendix-a39``, as printed.

    Lines
        (A40)
            (sqrt(mu / L) Delta / 4) (1 - l mu / 8L)^T = (8 rho_0 / l) sqrt(L / mu) for T = (8L / l mu) log(l mu Delta
            / (32 rho_0 L)), not rounded. False: the left side is smaller than the right side, since log(1 - x) < -x.
            The check divides both sides by the right side.
        Theorem 1, rho
            After T = (8L / l mu) log(Delta / 2 rho) rounds, rounded up, the error is at most rho = (16 L / mu p)
            rho_0, with p instead of l. Since p >= 1 >= 2 l, the term (8L / l mu) rho_0 of (A39) alone is at least
            this rho.

    Source
        Zhao et al. (2023), Theorem 1, and (A40), which uses (1 - x)^(1/x) = 1/e. The correct forms have <= instead of
        =, and l instead of p.
    """
    decay, log = recursion.decay, math.log(recursion.argument)
    # relative to the right side, so that the initial error cancels
    ratio = math.exp(log * math.log1p(-float(decay)) / float(decay) + log)
    radius = 16 * recursion.root**2 / p * recursion.floor
    rounds = math.ceil(max(0.0, math.log(recursion.separation / (2 * radius))) / decay)
    return {
        "(A40)": equal((ratio, 1.0), rounding=1e-9),
        "Theorem 1, rho": at_most(recursion.after(rounds), radius=radius),
    }
