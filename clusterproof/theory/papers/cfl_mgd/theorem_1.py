"""Claims on Theorem 1 with the appendix's c_4 and with other constants, on its probability, and on Remark 1."""

from __future__ import annotations

import math
from fractions import Fraction

from clusterproof.checker.claims import Q, Sides, Z, among, at_least, at_most, claim, suppose
from clusterproof.theory.exact.algebra import exponential_bounds
from clusterproof.theory.exact.scalar_clusters import exact_path, has_positive_probability
from clusterproof.theory.papers.cfl_mgd.floor import C_4

REPAIRS = ("cfl-mgd/theorem-d", "cfl-mgd/theorem-a")
SHARE = Q[Fraction(1, 10**6) : Fraction(1, 2) : 6]
"""The smallest share l = min l_p."""
ROOT = Q[1::2]
"""The root sqrt(L / mu)."""
SEPARATION = Q[0:2]
"""Delta, which is at most 2 because (A10) has max ||chi*_p|| <= 1."""


def allowed_floor(share: Fraction, root: Fraction, separation: Fraction) -> Fraction:
    """Return the largest rho_0 that (A38) allows, (l / 32) (mu / L)^(3/2) Delta."""
    return share / 32 * separation / root**3


def conclusion(share: Fraction, root: Fraction, floor: Fraction) -> Fraction:
    """Return the final error rho = (16 L / mu l) rho_0 of Theorem 1."""
    return 16 * root**2 / share * floor


@claim(
    "cfl-mgd/theorem-1",
    label="Theorem 1, (11)",
    source="reading",
    repaired_by=(*REPAIRS, "cfl-mgd/theorem-1-without-noise"),
    expected="vacuous",
    headline=(
        "If all optima have norms up to 1, Theorem 1 says nothing: its error bound rho is at least 4, "
        "but by Assumption 4 every run starts within 1/2 of its optimum. If larger norms are allowed, "
        "it is false (cfl-mgd/theorem-1-large-separation)."
    ),
    rank=1,
    places="abstract; contribution 2; section 2; (11)",
)
def theorem_1(
    share: Fraction = SHARE, root_of_kappa: Fraction = ROOT, separation: Fraction = SEPARATION
) -> Sides:
    """After a stated number of rounds, every model is near its optimum.

    Hypotheses
        There are at least two clusters (Assumptions 1-5). All clients of a cluster have the same expected loss, with
        curvatures between mu and L, and draw new samples in every round. chi_p^t is the model of cluster p after t
        rounds, and chi*_p its optimum. The optima are at least Delta apart. By Assumption 4, the initial model of
        cluster p is within (Delta/4) sqrt(mu/L) of chi*_p, and max ||chi*_p|| <~ 1, where <~ omits a constant. We
        read the last condition as max ||chi*_p|| <= 1, which the proof of (A10) uses. Then Delta <= 2, because points
        of the unit ball are at most 2 apart. ``cfl-mgd/theorem-1-large-separation`` allows larger Delta. Option I
        (averaging of gradients) uses all m clients and divides gradients by m, and eta = 1/L. The paper's proof needs
        (A38), so the reading adds it: rho_0 <= (l/32) (mu/L)^(3/2) Delta, where l is the share of the smallest
        cluster.

    Statement
        The check uses only that rho_0 contains c_4 l. With probability at least 1 - lambda, after T = (8L/(l mu))
        log(Delta/(2 rho)) rounds, ||chi_p^T - chi*_p|| <= rho = (16 L/(mu l)) rho_0 for all p, where
            rho_0 = 2 v/(lambda_0 L sqrt(l m n')) + c_4 l
                    + c_3 M v sqrt(l)/(lambda_3 L sqrt(m n'))
                    + (c_1 + c_5 beta) W/lambda_2
                    + (c_2/lambda_1 + c_6 M/lambda_4) R/sqrt(lambda_2)
        with W = sigma^2/(mu^2 Delta^4 n'), R = v sigma sqrt(P)/(mu L Delta^2 n' sqrt(m)), M = beta/(1 - beta). There
        are P clusters, a client draws n' samples, and beta is the momentum. sigma^2 and v^2 bound the variances of a
        sample's loss and gradient. lambda_0, ..., lambda_4 are failure probabilities, and lambda is computed from
        them (``cfl-mgd/theorem-1-probability``). The appendix has c_4 = 1/4, and no summand is negative. So rho_0 is at
        least l/4.

    Proof
        The theorem is vacuous, with (A38) and without it. With (A38), no instance satisfies the hypotheses: l/4
        exceeds the largest rho_0 that (A38) allows (line "(A38)"). Without (A38), the hypotheses already imply the
        conclusion: rho exceeds the largest initial distance (line "conclusion"), and T is negative (line "rounds").
        The check uses l >= 10^-6. Here share is l, separation is Delta, and root_of_kappa is sqrt(L/mu).

    Source
        Zhao et al. (2023), Theorem 1 and Appendix B. The paper prints: "Suppose Assumptions 1-5 hold. We choose eta =
        1/L, with a probability of at least 1 - lambda ... After T = (8L/(l mu)) log(Delta/(2 rho)) parallel
        iterations, constants c_1, ..., c_6 > 0 exist, and we have for all p in [P]" the bound with rho = (16 L/(mu
        p)) rho_0. The reading replaces p, the index of a cluster, by l, as (A42) in the appendix does.
        ``cfl-mgd/theorem-1-small-constant`` treats other constants, because the theorem states only that constants
        exist.
    """
    floor, start = C_4 * share, separation / (4 * root_of_kappa)
    suppose(
        "(A38): rho_0 <= (l/32) (mu/L)^(3/2) Delta", floor <= allowed_floor(share, root_of_kappa, separation)
    )
    # at an instance that satisfies (A38), the initial error is already at most rho
    return at_most(start, rho=conclusion(share, root_of_kappa, floor))


@theorem_1.step("conclusion")
def weaker_conclusion(
    share: Fraction = SHARE, root_of_kappa: Fraction = ROOT, separation: Fraction = SEPARATION
) -> Sides:
    """The bound rho is at least 8 (L/mu)^(3/2) times the largest initial distance."""
    rho = conclusion(share, root_of_kappa, C_4 * share)
    return at_least(rho, start=8 * root_of_kappa**3 * separation / (4 * root_of_kappa))


@theorem_1.step("(A38)")
def impossible_floor(
    share: Fraction = SHARE, root_of_kappa: Fraction = ROOT, separation: Fraction = SEPARATION
) -> Sides:
    """rho_0 is at least four times the largest value that (A38) allows."""
    return at_least(C_4 * share, allowed=4 * allowed_floor(share, root_of_kappa, separation))


@theorem_1.step("rounds")
def negative_rounds(
    share: Fraction = SHARE, root_of_kappa: Fraction = ROOT, separation: Fraction = SEPARATION
) -> Sides:
    """Delta/(2 rho) <= 1/4, so T <= (8 L/(l mu)) log(1/4) < 0."""
    return at_most(separation / (2 * conclusion(share, root_of_kappa, C_4 * share)), quarter=Fraction(1, 4))


def printed_guarantee(failure: Fraction, clusters: int) -> Fraction:
    """Return 1 - lambda to more than 30 digits, where lambda = 1 - lambda_0 - ... - 4 exp(-clm) and c l m = 100/8."""
    return (4 + 2 * clusters) * failure + 4 * exponential_bounds(Fraction(100, 8))[1]


@claim(
    "cfl-mgd/theorem-1-probability",
    label="Theorem 1, probability",
    repaired_by=REPAIRS,
    ill_posed=True,
    expected="ill-posed",
    headline=True,
    places="section 2; after (38)",
)
def theorem_1_probability(
    clusters: int = Z[2:], rounds: int = among(1, 50), failure: Fraction = among(Fraction(1, 100))
) -> Sides:
    """Theorem 1 holds with probability at least 1 - lambda.

    Hypotheses
        The hypotheses of Theorem 1 hold, without the appendix's condition (A38). c = 1/8 (Hoeffding), l m = 100 and
        lambda_i = 0.01. The authors probably mean the probability 1 - T P lambda_5.

    Statement
        lambda = 1 - lambda_0 - P lambda_1 - 2 lambda_2 - lambda_3 - P lambda_4 - 4 exp(-clm), for any lambda in (0,
        1). Here lambda_0, ..., lambda_4 are the failure probabilities of the appendix. So the printed guarantee 1 -
        lambda is a sum of failure probabilities. The claim states that this sum is at least 1 - T P lambda_5, where
        lambda_5 is the same sum, and T is 1 or 50.

    Source
        Zhao et al. (2023), Theorem 1 and (A37). In Theorem D, delta_1, delta_2 and delta_3 cover all rounds and
        clusters.
    """
    guarantee, half = printed_guarantee(failure, clusters), printed_guarantee(failure / 2, clusters)
    meant = 1 - rounds * clusters * guarantee
    return at_least(
        guarantee,
        meant=meant,
        words=lambda: (
            f"at lambda_i = {float(failure):g}, P = {clusters}, lm = 100, T = {rounds} the printed guarantee is "
            f"{float(guarantee):.3f}, and falls to {float(half):.3f} when the lambda_i are halved; (A37) means "
            f"{float(meant):.3f}"
        ),
    )


CONSTANTS = tuple(Fraction(1, denominator) for denominator in (33, 64, 256, 1024))
"""Values of c_4 for which the bound of Theorem 1 is below the initial error."""
CLIENTS = Z[3:]
OWN = Z[2 : lambda clients: clients - 1]
MOMENTUM = among(*(Fraction(10**k - 1, 10**k) for k in (1, 2, 3, 4, 5)))


def rounds_of(constant: Fraction, clients: int, own: int) -> int:
    """Return T = (8 / l) log(1 / rho), rounded up. Here kappa = 1, Delta = 2 and rho = 16 c_4."""
    smallest, rho = Fraction(min(own, clients - own), clients), 16 * constant
    below, above = exponential_bounds(smallest / 8)
    rounds = 0
    while above**rounds > rho:
        rounds += 1
    suppose("30 digits of exp(-l / 8) decide which round is T", below ** (rounds - 1) > rho)
    return rounds


@claim(
    "cfl-mgd/theorem-1-small-constant",
    label="Theorem 1, c_4 < 1/32",
    source="ours",
    repaired_by=REPAIRS,
    example={"clients": 39, "own": 17, "momentum": Fraction(999, 1000)},
    expected="violated",
    headline=(
        "A smaller constant does not save Theorem 1. With c_4 = 1/33, momentum 0.999 and 39 "
        "clients, 17 of them in one cluster, it promises an error of 0.485 after 14 rounds. The "
        "error is 0.497."
    ),
    rank=3,
    places="(11)",
)
def theorem_1_small_constant(clients: int = CLIENTS, own: int = OWN, momentum: Fraction = MOMENTUM) -> Sides:
    """Theorem 1 is true for some constant c_4 below 1/32, so that its bound is below the initial error.

    Hypotheses
        The hypotheses of Theorem 1 hold, and c_4 is 1/33, 1/64, 1/256 or 1/1024. (For c_4 >= 1/32, rho >= ||e_0||.)
        The probability 1 - P lambda_5 of a round is positive, that is, 8 exp(-l m / 8) < 1. The probability 1 - ... -
        4 exp(-clm), which Theorem 1 should have, is positive, as well.

    Statement
        With that probability, after T = (8L / l mu) log(Delta / 2 rho) rounds, rounded up, ||chi_p^T - chi*_p|| <= rho.

    Source
        Ours. Theorem 1 of Zhao et al. (2023) does not state its constants: "constants c_1, ..., c_6 > 0 exist". (A38)
        is an additional condition in the appendix. The four values suggest that Theorem 1 is false for every c_4
        below 1/32, but do not prove it. Only the shares of the clusters matter: the same shares with more clients
        also refute the theorem with the probability 1 - T P lambda_5, which covers all T rounds.
    """
    suppose("1 - P lambda_5 > 0", has_positive_probability(2 * 4, min(own, clients - own)))
    rounds = [rounds_of(constant, clients, own) for constant in CONSTANTS]
    path = exact_path(Fraction(own, clients), momentum, Fraction(1, 2), max(rounds))
    ratios = [abs(path[T]) / (16 * constant) for T, constant in zip(rounds, CONSTANTS, strict=True)]

    # a single constant for which the theorem is true would be enough
    return at_most(
        min(ratios),
        one=1,
        words=lambda: (
            f"m = {clients}, l_1 m = {own}, chi* = +-1, mu = L = 1, v = sigma = 0, e_0 = 1/2, beta = {momentum}: "
            + "; ".join(
                f"c_4 = {c}: after T = {T} rounds |e_T| = {abs(float(path[T])):.4g} > rho = {float(16 * c):.4g}"
                for c, T in zip(CONSTANTS, rounds, strict=True)
            )
        ),
    )


@claim(
    "cfl-mgd/theorem-1-large-separation",
    label="Theorem 1, Delta > 2",
    source="reading",
    repaired_by=REPAIRS,
    example={"clients": 39, "own": 17, "momentum": Fraction(999, 1000), "separation": Fraction(33, 2)},
    expected="violated",
    headline=True,
    places="assumption 4; (11)",
)
def theorem_1_large_separation(
    clients: int = CLIENTS,
    own: int = OWN,
    momentum: Fraction = MOMENTUM,
    separation: Fraction = among(Fraction(33, 2), Fraction(32), Fraction(128), Fraction(512)),
) -> Sides:
    """Theorem 1 is true if the optima are so far apart that its bound is below the initial error.

    Hypotheses
        The hypotheses of Theorem 1 hold, where we read max ||chi*_p|| <~ 1 in Assumption 4 as max ||chi*_p|| <= Delta
        / 2. With the appendix's c_4 = 1/4, an initial error can exceed rho = 4 kappa if Delta > 16 kappa^(3/2). (A38)
        holds for Delta >= 8 kappa^(3/2). Here kappa = 1. The probability 1 - P lambda_5 of a round is positive, that
        is, 8 exp(-l m / 8) < 1.

    Statement
        With that probability, after T = (8L / l mu) log(Delta / 2 rho) rounds, rounded up, ||chi_p^T - chi*_p|| <= rho.

    Source
        Zhao et al. (2023), Theorem 1, (A38) and Appendix B, for two scalar clusters at chi* = +-Delta / 2 without
        noise. The initial errors have the largest value that Assumption 4 allows, Delta / 4. Our reading adds the
        constant Delta / 2.
    """
    suppose("1 - P lambda_5 > 0", has_positive_probability(2 * 4, min(own, clients - own)))
    rounds = rounds_of(
        2 * C_4 / separation, clients, own
    )  # in units of Delta / 2, the constant c_4 is smaller
    path = exact_path(Fraction(own, clients), momentum, Fraction(1, 2), rounds)
    return at_most(separation / 2 * abs(path[-1]), rho=16 * C_4)


@claim(
    "cfl-mgd/remark-1",
    label="Theorem 1, Remark 1",
    repaired_by="cfl-mgd/theorem-d",
    # Theorem 1 prints p instead of l in rho; with p it is also false
    example={"exponent": 7, "constant": Fraction(10**6)},
    expected="violated",
    headline=(
        "Remark 1 is false: the error bound rho of Theorem 1 does not vanish with more clients (m) and "
        "samples (n'), because it contains 4 kappa, four times the condition number. At m = n' = 10^7 and "
        "kappa = 1, rho is 4."
    ),
    rank=6,
    places="remark 1; section 7",
)
def remark_1(exponent: int = Z[0:16], constant: Fraction = among(Fraction(10**6))) -> Sides:
    """The final error rho is of order 1 / sqrt(m n') + 1 / n' + 1 / (n' sqrt(m)).

    Hypotheses
        The hypotheses of Theorem 1 without the appendix's condition (A38). m and n' grow, and all other quantities
        are fixed. There are two equal clusters, and L = mu. Losses and gradients are exact, v = sigma = 0, which
        Assumption 3 allows.

    Statement
        rho = (16 L / mu l) rho_0 <= C (1 / sqrt(m n') + 1 / n' + 1 / (n' sqrt(m))), up to logarithms, for some
        constant C. The check uses c_4 = 1/4 and C = 10^6, and a counterexample refutes every smaller C, as well. For
        every c_4 > 0, rho stays above 16 kappa c_4. So no C is large enough, even if a power of log(m n') multiplies
        the right side.

    Source
        Zhao et al. (2023), Theorem 1 and Remark 1. In the repaired theorem, the additive error is O(1 / sqrt(m n')),
        see ``cfl-mgd/theorem-d``.
    """
    size, kappa, share = 10**exponent, 1, Fraction(1, 2)
    rho = 16 * kappa / share * (C_4 * share)
    scale = constant / size
    cross = scale / math.isqrt(size)  # a lower bound of the allowed value
    return at_most(
        rho,
        own=scale,
        false_members=scale,
        cross=cross,
        words=lambda: (
            f"rho = {float(rho):.4g} at m = n' = 10^{exponent} exceeds {constant} (1/sqrt(m n') + 1/n' + "
            f"1/(n' sqrt(m))) = {float(2 * scale + cross):.4g}: the term 16 kappa c_4 = 4 kappa of rho does not "
            "vanish, so every constant is exceeded"
        ),
    )
