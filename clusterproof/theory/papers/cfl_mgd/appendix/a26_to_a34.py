"""Claims on (A27)-(A34): the momentum of misassigned clients, and the bounds on T_31, T_32 and T_3."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import prod
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.checker.claims import Excluded, Q, Sides, Z, among, at_most, claim, given, suppose
from clusterproof.checker.claims.ranges import integers, reals
from clusterproof.checker.claims.space import Replicates, Stream
from clusterproof.theory.exact.prescribed_samples import Table, play
from clusterproof.theory.exact.scalar_clusters import carried, exact_path, has_positive_probability
from clusterproof.theory.exact.two_point_law import TwoPointLaw, binomial_upper_tail
from clusterproof.theory.papers.cfl_mgd.appendix.a1_to_a9 import ScalarRun, around_a_center, total
from clusterproof.theory.papers.cfl_mgd.appendix.a15_to_a17 import CONSTANT
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import NoisyTask, basin_models, record, suppose_units

LEVEL = 0.1
"""Value of lambda_2 = lambda_4 on random runs."""

# an instance that a reader can follow by hand
BY_HAND = ScalarRun(12, 6, Fraction(2, 3), Fraction(1, 2), 1, 0, Fraction(0))


@claim(
    "cfl-mgd/appendix-a27",
    label="(A27)-(A34), (38)",
    repaired_by={"(A27)": "cfl-mgd/theorem-d", "(A34)": "cfl-mgd/theorem-d"},
    example={"run": BY_HAND},
    evaluations=300,
    expected="violated",
    places="(38); (A28); (A33); (A34)",
)
def momentum_of_a_round(run: ScalarRun) -> dict[str, Sides | Excluded]:
    """The momentum of a round is at most the last four terms of (38).

    Hypotheses
        The hypotheses of (A25) and (A26) hold, eta = 1/L, and |C_1 n C*_1| >= l_1 m / 4. The printed probability is
        positive: 2 exp(-l m / 8) < 1, that is, l m >= 6.

    Statement
        ||T_3|| <= c_3 beta v sqrt(l t) / (lambda_3 (1 - beta) L sqrt(m n')) + c_4 l + the bound of (A33), c_3 = 1/2,
        c_4 = 1/4.

    Lines
        (A27)
            With probability at least 1 - lambda_3 - 2 exp(-clm), ||T_31|| is at most the first two terms. False: the
            line uses the lower bound l m / 4 of |C_1 n C*_1| as an upper bound. It also omits beta and, like (A25),
            the bias. Without bias the correct term is beta l_1 ||grad phi^1|| / L, which is a length, whereas l / 4
            has no unit.
        (A28)
            T_3p = sum over C_1 n C*_p of S_i = sum over C_1 n C*_p of (S_i - grad phi_p(chi_1)) + |C_1 n C*_p| grad
            phi_p(chi_1), where S_i = sum_(k < t) beta^(t-1-k) g_i^k. Here p = 2. The next line of the paper, T_32 =
            (beta eta / m) sum_(p >= 2) T_3p, is (A21).
        (A34)
            (38) holds with probability at least 1 - lambda_2 - lambda_3 - P lambda_4 - 2 exp(-clm). This line repeats
            the mistake of (A27), and is false for every c_4: with l_1 = 1 - l the left side of round 1 tends to beta
            / 2 as l tends to 0. Lemma H (``cfl-mgd/lemma-h``) bounds the error without dividing a round into T_1, T_2
            and T_3.
        (A33)
            With probability at least 1 - lambda_2 - P lambda_4, ||T_32|| <= c_1 beta sigma^2 / (mu^2 lambda_2 Delta^4
            n') + c_2 beta sigma v sqrt(P t) / (lambda_4 mu L Delta^2 n' (1 - beta) sqrt(m lambda_2)), c_1 = 384, c_2
            = sqrt(128). The check omits the second term on the right side. In the check, the rounds before round t
            have no noise, and in round t clients of one cluster out of two choose the wrong model. The derivation is
            wrong, because (A32) is false, but no instance breaks the bound. By line 15 the buffer of a client from
            cluster q is the last displacement of model q, divided by eta |C_q| / m. Within the basin it is at most 2
            B L m / |C_q|. Moreover, 128 is at least twice the constant that Chebyshev's inequality needs. For
            hundreds of clusters the bound is nearly attained.
        (A33), regressions
            The line checks the last round of random runs, where the models are in the basin.

    Source
        Zhao et al. (2023), (A27) to (A34) = (38). The proof of Theorem D does not divide the momentum into such
        parts.
    """
    fewest = min(run.own, run.clients - run.own)
    usable = run.spread == 0 and run.outliers == 0 and has_positive_probability(2, fewest)
    positive = ("v = sigma = 0, 1 - ... - 2 exp(-clm) > 0", usable)
    T_3, T_31 = (abs(run.weight * total(run.buffers, who)) for who in (run.members, run.own_members))
    c_4_l = Fraction(fewest, 4 * run.clients)
    return {
        "(A27)": given(*positive, lambda: at_most(T_31, mismatch=c_4_l)),
        "(A34)": given(*positive, lambda: at_most(T_3, mismatch=c_4_l)),
    }


momentum_of_a_round.line("(A28)")(around_a_center)


# a single misassigned client breaks the line, and each of seven clients is misassigned with probability
# 1/1000
ERRING = {
    "clients": 8,
    "foreign": 7,
    "round_": 1,
    "momentum": Fraction(99, 100),
    "start": Fraction(1, 2),
    "rarity": Fraction(1, 1000),
    "jump": Fraction(8, 5),
    "level": Fraction(99, 100),
}


@momentum_of_a_round.line("(A33)", evaluations=150, example=ERRING)
def momentum_of_clients_that_err(
    clients: int = Z[2:20],
    foreign: int = Z[1 : lambda clients: clients - 1],
    round_: int = Z[1:12],
    momentum: Fraction = among(Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)),
    start: Fraction = among(Fraction(1, 2), Fraction(-1, 2)),
    rarity: Fraction = among(*(Fraction(1, k) for k in (5, 10, 50, 1000))),
    jump: Fraction = Q[Fraction(1, 4) :: 4],
    level: Fraction = among(Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(99, 100)),
) -> Sides:
    """(A33): the momentum of misassigned clients exceeds the first term with probability at most lambda_2.

    There are two scalar clusters. The rounds before t have no noise. In round t, a two-point distribution of the
    samples makes some clients choose the wrong model.
    """
    share = Fraction(foreign, clients)
    own_path, path = (exact_path(each, momentum, start, round_) for each in (1 - share, share))
    law = TwoPointLaw(samples=1, rarity=rarity, jump=jump, first=-own_path[-1], second=-path[-1])
    buffer = abs(carried(path[:round_], momentum))  # for each client of cluster 2
    suppose("the models are in the basin", max(abs(law.first), abs(law.second)) <= Fraction(1, 2))
    if buffer == 0:
        return at_most(Fraction(0), markov=level)
    threshold = 3 * CONSTANT * law.needed_samples * clients / (level * buffer)
    return at_most(binomial_upper_tail(foreign, law.error_probability, threshold), markov=level)


@momentum_of_a_round.line("(A33), regressions", replicates=100, evaluations=30)
def momentum_on_regressions(
    task: NoisyTask,
    momentum: Annotated[float, reals(Fraction(1, 20), Fraction(19, 20))],
    round_: Annotated[int, integers(1, 2)],
    stream: Stream,
    replicates: Replicates,
) -> Sides:
    """Check the last round of random runs, where the models are in the basin."""
    suppose_units(task)
    start, seed, t = basin_models(task, stream), int(stream.integers(2**31)), round_
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=momentum, momentum_owner="client")
    initial = np.broadcast_to(start, (replicates, *start.shape))
    seen = record(task, algorithm, rounds=t + 1, initial=initial, seed=seed)
    models, false = seen.models[t], (seen.assignments[t] == 0) & (task.labels != 0)
    inside = np.linalg.norm(models - task.optima, axis=-1).max(axis=-1) <= task.basin_radius
    others = range(1, task.clusters)
    deviation = np.sqrt(np.max([task.gradient_variance(models[:, 0], p) for p in others], axis=0))
    spread = np.max([task.loss_variance(models[:, q], p) for p in others for q in (0, p)], axis=0)
    buffers = np.linalg.norm((seen.buffers[t] * false[..., None]).sum(axis=-2), axis=-1)
    size = momentum * buffers / (task.smoothness * task.clients)
    gap = task.strong_convexity * task.separation**2
    root = np.sqrt(float(CONSTANT) * spread * task.clusters * t / (task.clients * LEVEL))
    return at_most(
        np.where(inside, size, 0.0),
        count=3 * CONSTANT * momentum * spread / (gap**2 * LEVEL * task.samples),
        cross=momentum * deviation * root / (LEVEL * gap * task.smoothness * task.samples * (1 - momentum)),
        failure=LEVEL * (1 + task.clusters),
    )


NOISE = Fraction(2)
"""Scalar clusters where a sample of cluster 2's client is -1 or, with probability ``rarity`` each, -1 +- 2; n' = 1."""


def noise_bound(rarity: Fraction, round_: int, momentum: Fraction) -> Fraction:
    """Suppose that n' = 1 is large enough, and return v^2 t / (1 - beta)^2 for one misassigned client.

    sigma^2 is the variance of f = (chi - y)^2 / 2 at chi = 3/2, which lies beyond every model in the basins.
    """
    losses = {(Fraction(5, 2) - z) ** 2 / 2: p for z, p in law_of(rarity)}
    mean = sum(loss * p for loss, p in losses.items())
    sigma_squared = sum((loss - mean) ** 2 * p for loss, p in losses.items())
    suppose("n' >= 256 (P - 1) sigma^2 / (mu^2 Delta^4)", 16 * sigma_squared <= 1)
    return 2 * rarity * NOISE**2 * round_ / (1 - momentum) ** 2


def law_of(rarity: Fraction) -> list[tuple[Fraction, Fraction]]:
    """Return the possible values of y + 1 for the client of cluster 2, and their probabilities."""
    return [(Fraction(0), 1 - 2 * rarity), (NOISE, rarity), (-NOISE, rarity)]


def scripts(
    clients: int, round_: int, start: Fraction, rarity: Fraction
) -> Iterator[tuple[Fraction, Table, Table, list[Fraction]]]:
    """Yield every outcome of the gradient batches before round t: probability, tables of batches, and models.

    Cluster 1 has m - 1 clients without noise and chi_1^0 = chi*_1 = 1; cluster 2 has one client and chi_2^0 = -1 +
    start. The client of cluster 2 chooses its model with the sample -1 in rounds 0 .. t - 1, and with the rare value
    +1 in round t. Choices and gradients use separate batches, so the choices are independent of the gradients.
    """
    others = [Fraction(1)] * (clients - 1)
    choices = [[*others, Fraction(-1)]] * round_ + [[*others, Fraction(1)]]
    for outcome in product(law_of(rarity), repeat=round_):
        gradients = [[*others, -1 + value] for value, _ in outcome] + [[*others, Fraction(-1)]]
        yield prod((p for _, p in outcome), start=Fraction(1)), choices, gradients, [Fraction(1), -1 + start]


@claim(
    "cfl-mgd/appendix-a29",
    label="(A29)-(A32)",
    source="reading",
    repaired_by="cfl-mgd/theorem-d",
    evaluations=200,
    expected="violated",
    places="(A30); (A31); (A32)",
)
def false_members(
    clients: int = Z[2:5],
    round_: int = Z[1:2],
    momentum: Fraction = Q[Fraction(1, 10) : Fraction(9, 10) : 10],
    start: Fraction = among(Fraction(0), Fraction(1, 2), Fraction(-1, 2)),
    rarity: Fraction = among(*(Fraction(1, 10**k) for k in (3, 4, 5))),
    level: Fraction = among(Fraction(1, 2), Fraction(1, 10)),
) -> dict[str, Sides]:
    """The weighted past gradients of misassigned clients equal the present gradient up to noise.

    Hypotheses
        Assumptions 1-4 hold with the constants of the proof, conditionally on the clusters, and lambda_4 = ``level``.
        The assumed conditions are n' >= 256 (P - 1) sigma^2 / (mu^2 Delta^4) and max ||chi*|| <= 1; sigma^2 bounds
        the loss's variance in the basins.

    Statement
        Let D = sum over C_1 n C*_p of (S_i - grad phi_p(chi_1)) with S_i as in (A28), and N = |C_1 n C*_p| v^2 t /
        ((1 - beta)^2 n'). Then ||D|| is at most sqrt(N), except with the stated probability. False: most past
        gradients of a misassigned client were computed at its own model, where they vanish, but grad phi_p(chi_1) has
        length mu Delta.

    Lines
        (A29)
            E ||D||^2 <= N, by the three steps of (A23).
        (A30)
            E ||D|| <= sqrt(N), squared.
        (A31)
            P(||D|| > sqrt(N) / lambda_4) <= lambda_4, Markov's inequality.
        (A32)
            With probability at least 1 - P lambda_4, ||T_32|| <= (3 L beta eta / m) |C_1 - C*_1| + (beta eta v
            sqrt(P) / (m (1 - beta) lambda_4)) sqrt(|C_1 - C*_1| t / n'). False: a misassigned client still has the
            buffer of its previous cluster. For a small cluster, this buffer can be as large as ||e|| / (1 - beta).

    Source
        Zhao et al. (2023), (A29)-(A32). The paper derives (A32) from (A28), (A10) and (A31). Our reading adds
        "conditionally on the clusters": the paper prints "with probability of at least 1 - lambda_4" without a
        condition.
    """
    allowed = noise_bound(rarity, round_, momentum)
    mean = square = fails = Fraction(0)
    for weight, choices, gradients, initial in scripts(clients, round_, start, rarity):
        rounds = play(choices, gradients, initial, momentum)
        if rounds.assignments[round_][-1] == 0:  # the client is a false member
            past = carried([drawn[-1] for drawn in rounds.gradients[:round_]], momentum)
            distance = abs(past - (rounds.models[round_][0] + 1))
            mean, square = mean + weight * distance, square + weight * distance**2
            fails += weight if distance**2 > allowed / level**2 else 0
    return {
        "(A29)": at_most(square, noise=allowed),
        "(A30)": at_most(mean**2, noise=allowed),
        "(A31)": at_most(fails, markov=level),
    }


@false_members.line("(A32)")
def momentum_of_false_members(
    clients: int = among(10, 20, 50, 100),
    round_: int = Z[1:20],
    momentum: Fraction = among(Fraction(1, 2), Fraction(9, 10), Fraction(19, 20)),
    start: Fraction = among(Fraction(1, 2), Fraction(1, 4)),
    rarity: Fraction = among(*(Fraction(1, 10**k) for k in (4, 6, 8))),
    level: Fraction = among(Fraction(1, 4)),
) -> Sides:
    """Check (A32) for one misassigned client, with more clients and rounds.

    The check omits outcomes with noise in some gradient. It compares squares instead of square roots.
    """
    allowed = noise_bound(rarity, round_, momentum)
    path = exact_path(Fraction(1, clients), momentum, start, round_)
    excess = abs(carried(path[:round_], momentum)) - 3
    fails = excess > 0 and excess**2 > 2 * allowed / level**2
    return at_most((1 - 2 * rarity) ** round_ if fails else Fraction(0), union=2 * level)
