"""Theorem 1: its floor, that a reading says nothing, free units, its probability, a smaller constant, and Remark 1."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import Trace
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.dynamics import cfl_mgd_of
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.claims import Sides, at_least, at_most, choice, claim, integers, rationals, suppose
from clusterproof.theory.exact.two_clusters import exact_path, has_positive_probability
from clusterproof.theory.papers.cfl_mgd.hypotheses import is_exact, variances
from clusterproof.theory.papers.cfl_mgd.lemma_2 import MISMATCH


@dataclass(frozen=True)
class FloorConstants:
    """c_1 .. c_6 as they follow from (A17), (A27) and (A33).

    Attributes
    ----------
    c1, c2, c3, c4, c5, c6
        Dimensionless; c4 belongs to a term in l alone, which no amount of data removes.
    """

    c1: float = 384.0
    c2: float = math.sqrt(128.0)
    c3: float = 0.5
    c4: float = 0.25
    c5: float = 384.0
    c6: float = math.sqrt(128.0)


def printed_floor(
    setting: Setting,
    *,
    round_number: int,
    gradient_deviation: float,
    loss_deviation: float,
    failure: float = 0.01,
    constants: FloorConstants = FloorConstants(),
) -> float:
    """rho_0 of (A36), in the literal units of the paper.

    Parameters
    ----------
    setting
        Clients, samples, L, mu, Delta, momentum and proportions.
    round_number
        t of the factor sqrt(t) that Theorem 1 drops.
    gradient_deviation, loss_deviation
        v and sigma of Assumption 3.
    failure
        lambda_0 = ... = lambda_4.
    constants
        c_1 .. c_6.
    """
    share, beta = min(setting.proportions), setting.momentum
    m, n, p = setting.clients, setting.samples, setting.clusters
    smooth, strong, separation = setting.smoothness, setting.strong_convexity, setting.separation
    v, sigma = gradient_deviation, loss_deviation
    wrong = sigma**2 / (strong**2 * failure * separation**4 * n)
    cross = (
        v * sigma * math.sqrt(p) / (failure * strong * smooth * separation**2 * n * math.sqrt(m * failure))
    )
    return (
        2 * v / (failure * smooth * math.sqrt(share * m * n))
        + constants.c1 * wrong
        + constants.c2 * cross
        + constants.c3
        * beta
        * v
        * math.sqrt(share * round_number)
        / (failure * (1 - beta) * smooth * math.sqrt(m * n))
        + constants.c4 * share
        + constants.c5 * beta * wrong
        + constants.c6 * beta * math.sqrt(round_number) / (1 - beta) * cross
    )


def printed_conclusion(setting: Setting, floor: float) -> float:
    """rho = (16 L / mu l) rho_0, (A42): Theorem 1 prints p for l."""
    return 16 * setting.smoothness / (setting.strong_convexity * min(setting.proportions)) * floor


LEVEL = 0.01
"""lambda_0 = ... = lambda_4 on a run."""


@dataclass(frozen=True)
class OnRun:
    """Theorem 1 on a run.

    Attributes
    ----------
    floor, conclusion
        rho_0 and rho, at least if not ``known``.
    allowed
        What (A38) allows rho_0.
    rounds
        T.
    factor
        1 - l mu / 8L.
    known
        Whether v and sigma are; else both are taken as 0.
    certain
        Whether nothing is random and the printed probability is positive, so that a run can break Lemma 2.
    """

    floor: float
    conclusion: float
    allowed: float
    rounds: int
    factor: float
    known: bool
    certain: bool


def on_run(task: Mixture, trace: Trace) -> OnRun:
    """Evaluate Theorem 1 on a run that meets its hypotheses, with lambda_i = ``LEVEL``."""
    exact, algorithm = is_exact(task), cfl_mgd_of(trace)
    share, kappa = float(task.proportions.min()), task.condition_number
    known = exact or isinstance(task, RegressionMixture)
    loss, gradient = variances(task) if isinstance(task, RegressionMixture) and not exact else (0.0, 0.0)
    setting = Setting(
        proportions=tuple(task.proportions.tolist()),
        clients=task.clients,
        samples=int(getattr(task, "samples", 1)),
        rounds=trace.rounds,
        smoothness=task.smoothness,
        strong_convexity=task.strong_convexity,
        separation=task.separation,
        diameter=task.diameter,
        noise=0.0,
        trace=0.0,
        step_size=algorithm.step_size,
        momentum=algorithm.momentum,
        radius=task.basin_radius,
        start=(float(np.asarray(trace.errors)[0].max()),),
        misclassification=0.0,
    )
    v, sigma = math.sqrt(gradient), math.sqrt(loss)
    floor = printed_floor(setting, round_number=1, gradient_deviation=v, loss_deviation=sigma, failure=LEVEL)
    rho = printed_conclusion(setting, floor)
    return OnRun(
        floor,
        rho,
        allowed=share / 32 * kappa**-1.5 * task.separation,
        rounds=math.ceil(8 * kappa / share * math.log(task.separation / (2 * rho))),
        factor=1 - share / (8 * kappa),
        known=known,
        certain=exact and has_positive_probability(4 * task.clusters, round(share * task.clients)),
    )


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


@claim(
    "cfl-mgd/theorem-1",
    label="Theorem 1, (11)",
    judges="reading",
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"),
)
def theorem_1(share: Share, root_of_kappa: RootOfKappa, separation: Separation) -> Sides:
    """After T = (8L / l mu) log(Delta / 2 rho) rounds, every model is within rho of its optimum.

    Hypotheses
        Assumptions 1-5 (two or more clusters whose clients share their expected loss, new samples in every round),
        option I with all clients and gradients divided by m, eta = 1/L, and (A38) rho_0 <= (l/32) (mu/L)^(3/2) Delta,
        which is the appendix's condition, added to the theorem's. Assumption 4 prints max ||chi*_p|| <~ 1; it is read
        as max ||chi*_p|| <= 1, as the proof of (A10) uses it, so that Delta <= 2. In other units:
        ``cfl-mgd/theorem-1-large-separation``.

    Statement
        With probability at least 1 - lambda, ||chi_p^T - chi*_p|| <= rho = (16 L / mu l) rho_0 for
        all p, rho_0 as (A36) with c_1 .. c_6 of the appendix (c_4 = 1/4).

    Source
        Zhao et al. (2023), Theorem 1 and Appendix B; the printed 16L / (mu p) is read as (A42). Constants of which the
        paper states only that they exist: ``cfl-mgd/theorem-1-small-constant``.
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


def printed(failure: float, clusters: int, tail: float) -> float:
    """1 - lambda with the printed lambda = 1 - lambda_0 - P lambda_1 - ... - 4 exp(-clm)."""
    return (4 + 2 * clusters) * failure + 4 * tail


@claim(
    "cfl-mgd/theorem-1-probability",
    label="Theorem 1, probability",
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"),
    ill_posed=True,
)
def theorem_1_probability(
    clusters: Annotated[int, integers(2, 4, upwards=True)],
    rounds: Annotated[int, choice(1, 50)],
    failure: Annotated[float, choice(0.01)],
) -> Sides:
    """Theorem 1 holds with probability at least 1 - lambda.

    Hypotheses
        As Theorem 1; (A38), the appendix's condition, plays no part. c = 1/8 (Hoeffding), l m = 100, lambda_i = 0.01;
        the meant probability is 1 - T P lambda_5.

    Statement
        lambda = 1 - lambda_0 - P lambda_1 - 2 lambda_2 - lambda_3 - P lambda_4 - 4 exp(-clm), for any lambda in (0, 1).

    Symbols
        lambda_0 .. lambda_4 the failure probabilities of the appendix, c = 1/8 (Hoeffding), l m the
        smallest cluster's clients.

    Source
        Zhao et al. (2023), Theorem 1 and (A37). Theorem D carries delta_1, delta_2, delta_3 through
        all rounds and clusters.
    """
    guarantee = printed(failure, clusters, math.exp(-100 / 8))
    meant = 1 - rounds * clusters * guarantee
    half = printed(failure / 2, clusters, math.exp(-100 / 8))
    return at_least(
        guarantee,
        meant=meant,
        words=lambda: (
            f"at lambda_i = {failure:g}, P = {clusters}, lm = 100, T = {rounds} the printed guarantee is "
            f"{guarantee:.3f}, and falls to {half:.3f} when the lambda_i are halved; (A37) means {meant:.3f}"
        ),
    )


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


@claim(
    "cfl-mgd/theorem-1-small-constant",
    label="Theorem 1, c_4 < 1/32",
    judges="ours",
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
        With that probability, after T = (8L / l mu) log(Delta / 2 rho) rounds, rounded up, ||chi_p^T - chi*_p|| <= rho.

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


Separations = Annotated[Fraction, choice(*map(Fraction, ("33/2", "32", "128", "512")))]
"""Values of Delta for which Theorem 1 with c_4 = 1/4 is not vacuous at kappa = 1: more than 16."""


def rounds_apart(clients: int, own: int, separation: Fraction) -> int:
    """T = (8 / l) log(Delta / 2 rho), rounded up, with rho = 16 c_4: in units of Delta / 2, c_4 is smaller."""
    return rounds_of(2 * MISMATCH / separation, clients, own)


@claim(
    "cfl-mgd/theorem-1-large-separation",
    label="Theorem 1, Delta > 2",
    judges="reading",
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"),
    example={"clients": 39, "own": 17, "momentum": Fraction(999, 1000), "separation": Fraction(33, 2)},
)
def theorem_1_large_separation(
    clients: Clients, own: Own, momentum: Momentum, separation: Separations
) -> Sides:
    """Where the optima are so far from each other that Theorem 1 says something, it is true.

    Hypotheses
        As Theorem 1, with Assumption 4's max ||chi*_p|| <~ 1 read with a constant of Delta / 2. With the appendix's
        c_4 = 1/4 a start may be farther than rho = 4 kappa from its optimum if Delta > 16 kappa^(3/2), and (A38) holds
        from 8 kappa^(3/2) on; here kappa = 1. The probability 1 - P lambda_5 of a round is positive, 8 exp(-l m / 8)
        < 1.

    Statement
        With that probability, after T = (8L / l mu) log(Delta / 2 rho) rounds, rounded up, ||chi_p^T - chi*_p|| <= rho.

    Source
        Zhao et al. (2023), Theorem 1, (A38) and Appendix B, at two clusters of scalars at chi* = +-Delta / 2 without
        noise, and a start at the largest distance of Assumption 4, Delta / 4. The constant Delta / 2 is the reading's.
    """
    suppose("1 - P lambda_5 > 0", has_positive_probability(2 * 4, min(own, clients - own)))
    path = exact_path(
        Fraction(own, clients), momentum, Fraction(1, 2), rounds_apart(clients, own, separation)
    )
    return at_most(separation / 2 * abs(path[-1]), rho=16 * MISMATCH)


def base_setting() -> Setting:
    """Return the setting "two equal"."""
    return experiment("S1", None).setting


@claim(
    "cfl-mgd/remark-1",
    label="Theorem 1, Remark 1",
    repaired_by="cfl-mgd/theorem-d",
    # refutes it with p for l in rho, as Theorem 1 prints it, too
    example={"exponent": 7, "constant": Fraction(10**6)},
)
def remark_1(
    exponent: Annotated[int, integers(0, 16)], constant: Annotated[Fraction, choice(Fraction(10**6))]
) -> Sides:
    """The final error rho is of the order 1 / sqrt(m n') + 1 / n' + 1 / (n' sqrt(m)).

    Hypotheses
        As Theorem 1 without (A38), which is the appendix's condition; m and n' grow, everything else is fixed. With
        exact losses and gradients, v = sigma = 0, which Assumption 3 allows.

    Statement
        rho = (16 L / mu l) rho_0 <= C (1 / sqrt(m n') + 1 / n' + 1 / (n' sqrt(m))), up to logarithms, for some
        constant C. Checked for C = 10^6, and with it for every smaller one. c_4 = 1/4; for any c_4 > 0 rho stays
        above 16 kappa c_4, so that no C and no power of log(m n') helps.

    Source
        Zhao et al. (2023), Theorem 1 and Remark 1. The repaired floor is O(1 / sqrt(m n')): ``cfl-mgd/theorem-d``.
    """
    size = 10**exponent
    setting = replace(base_setting(), clients=size, samples=size)
    floor = printed_floor(
        setting,
        round_number=1,
        gradient_deviation=0.0,
        loss_deviation=0.0,
    )
    rho, scale = printed_conclusion(setting, floor), float(constant)
    return at_most(
        rho,
        own=scale / size,
        false_members=scale / size,
        cross=scale / size**1.5,
        words=f"rho = {rho:.4g} at m = n' = 10^{exponent} exceeds {constant} (1/sqrt(m n') + 1/n' + 1/(n' sqrt(m))) = "
        f"{2 * scale / size + scale / size**1.5:.4g}: the term 16 kappa c_4 = 4 kappa of rho does not vanish, so every "
        "constant is exceeded",
    )
