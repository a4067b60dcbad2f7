"""Claims on (A3)-(A6), (A8) and (A11)-(A14): correct assignments, and the noise in T_1 and T_2."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from clusterproof.checker.claims import Excluded, Q, Sides, Z, among, at_most, claim, given, suppose
from clusterproof.checker.claims.space import Replicates, Stream
from clusterproof.theory.exact.algebra import exponential_bounds
from clusterproof.theory.exact.two_point_losses import TwoPointLosses
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import (
    ExtremeTask,
    Level,
    NoisyTask,
    Place,
    Round,
    basin_models,
    simulate_round,
    suppose_units,
    two_values,
    with_samples,
)

# one own client has noise with the constant norm v, so Markov's inequality for the norm is an equality
ALWAYS = {"task": two_values(1, 1, 0.1), "level": Fraction(9, 10), "place": "optima"}
# a tenth of the clients, which all stay, with almost no noise; and noise without other effects
QUIET = {"task": two_values(8, 72, 1e-3), "level": Fraction(1, 10), "place": "apart"}
NOISE = {"task": two_values(40, 40, 0.2), "level": Fraction(1, 10), "place": "optima"}


@claim(
    "cfl-mgd/appendix-a3",
    label="(A3), (A8) = (35)",
    replicates=300,
    evaluations=30,
    example=(ALWAYS, QUIET, NOISE),
    expected="consistent, tight within 2",
    places="(35); before (A3); (A8)",
)
def own_clients(
    task: ExtremeTask, level: Level, place: Place, stream: Stream, replicates: Replicates
) -> dict[str, Sides | Excluded]:
    """Correctly assigned clients multiply the error by 1 - l mu / 8L, and add at most 2 v / (lambda_0 L sqrt(l m n')).

    Hypotheses
        Assumptions 1-4 hold, eta = 1/L, the models are in the basin, and v is taken at chi_1. Gradients and the choice
        of clusters use separate batches. lambda_0 = ``level``.

    Statement
        Each line holds with the stated probability, by Markov's inequality. Chebyshev's inequality would replace
        lambda_0 by lambda_0^(1/2).

    Lines
        (A3)
            Conditionally on the clusters, with probability at least 1 - lambda_0, ||T_12|| <= v / (lambda_0 sqrt(n'
            |C_1 n C*_1|)). The line before (A3) in the paper prints E ||T_12||^2 = v^2 / (n' |C_1 n C*_1|), where =
            should be <=.
        (A8)
            With probability at least 1 - lambda_0 - 2 exp(-clm), c = 1/8, ||T_1|| <= (1 - l mu / 8L) ||chi_1 -
            chi*_1|| + 2 v / (lambda_0 L sqrt(l m n')), from (A3), (A6) and (A7). Since cluster 1 has at most l_1 m
            clients, the last term can be replaced by v sqrt(l_1) / (lambda_0 L sqrt(m n')), which is smaller by a
            factor of up to 2 / l.

    Source
        Zhao et al. (2023), (A3) and (A8) = (35).
    """
    share, smooth = float(task.proportions.min()), task.smoothness
    failure = float(level) + 2 * math.exp(-share * task.clients / 8)
    one = simulate_round(task, place, replicates, stream)
    own = one.with_clients_of(0)
    # both sides are multiplied by |C_1 n C*_1|
    spread = one.gradient_deviation(0) * np.sqrt(own.shared(0) / task.samples)
    before = one.models[0] - task.optima[0]
    after = before - one.total(0) / (task.clients * smooth)
    root = math.sqrt(share * task.clients * task.samples)
    return {
        "(A3)": given(
            "some client of cluster 1 joins C_1",
            len(own.members) > 0,
            lambda: at_most(
                np.linalg.norm(own.deviation(0), axis=-1), noise=spread / float(level), failure=float(level)
            ),
        ),
        "(A8)": given(
            "lambda_0 + 2 exp(-clm) < 1",
            failure < 1,
            lambda: at_most(
                np.linalg.norm(after, axis=-1),
                contraction=(1 - share / (8 * task.condition_number)) * np.linalg.norm(before),
                noise=2 * one.gradient_deviation(0) / (float(level) * smooth * root),
                failure=failure,
            ),
        ),
    }


# one false member whose noise has the constant norm v; many false members far from chi_1
ALONE = {"task": two_values(1, 1, 4.0), "level": Fraction(9, 10), "place": "apart"}
CROWD = {"task": two_values(1, 99, 1.6), "level": Fraction(9, 10), "place": "apart"}
HALF = CROWD | {"level": Fraction(2, 5)}
RARELY = ALONE | {"level": Fraction(1, 10)}


def false_member_norms(one: Round) -> tuple[np.ndarray, np.ndarray, float]:
    """Return ||T_2|| and the number of misassigned clients in each replicate, and the largest v of a cluster."""
    others = range(1, one.task.clusters)
    total = np.sum([one.total(p) for p in others], axis=0)
    norms = np.linalg.norm(total, axis=-1) / (one.task.clients * one.task.smoothness)
    counts = np.sum([one.shared(p) for p in others], axis=0)
    return norms, counts, max(one.gradient_deviation(p) for p in others)


@claim(
    "cfl-mgd/appendix-a12",
    label="(A11)-(A14)",
    replicates=600,
    evaluations=30,
    example=(ALONE, CROWD, HALF, RARELY),
    expected="consistent, tight within 2",
    places="(A12); (A13); (A14)",
)
def false_members(
    task: ExtremeTask, level: Level, place: Place, stream: Stream, replicates: Replicates
) -> dict[str, Sides | Excluded]:
    """Misassigned clients change model 1 by at most 3 L eta times their share, plus noise.

    Hypotheses
        The hypotheses of (A10) hold. Batches are independent of each other and of the choice of clusters, and
        lambda_1 = ``level``.

    Statement
        Each line holds with the stated probability, by Markov's inequality, if some client of cluster 2 joins C_1 (p =
        2).

    Lines
        (A11)
            Conditionally on the clusters, E ||sum over C_1 n C*_p of (g_i - grad phi_p(chi_1))||^2 <= |C_1 n C*_p|
            v^2 / n'. Both sides are equal if v^2 is the variance at chi_1.
        (A12)
            With probability at least 1 - lambda_1, ||sum over C_1 n C*_p of (g_i - grad phi_p(chi_1))|| <=
            sqrt(|C_1 n C*_p|) v / (lambda_1 sqrt(n')).
        (A13)
            With probability at least 1 - lambda_1, ||T_2p|| <= 3 L |C_1 n C*_p| + sqrt(|C_1 n C*_p|) v / (lambda_1
            sqrt(n')), from (A10) and (A12).
        (A14)
            With probability at least 1 - P lambda_1, ||T_2|| <= (3 L eta / m) |C_1 - C*_1| + (eta v sqrt(P) /
            (lambda_1 m sqrt(n'))) sqrt(|C_1 - C*_1|), where v is the largest over the clusters. This follows from a
            union bound over p and the Cauchy-Schwarz inequality.

    Source
        Zhao et al. (2023), (A11)-(A14).
    """
    suppose_units(task)
    one, rate = simulate_round(task, place, replicates, stream).with_clients_of(1), float(level)
    suppose("some client of cluster 2 joins C_1", len(one.members) > 0)
    noise = one.gradient_deviation(1) * np.sqrt(one.shared(1) / task.samples) / rate
    total, counts, deviation = false_member_norms(one)
    cross = (
        deviation * np.sqrt(task.clusters * counts / task.samples) / (task.smoothness * rate * task.clients)
    )
    failure = task.clusters * rate
    return {
        "(A12)": at_most(np.linalg.norm(one.deviation(1), axis=-1), noise=noise, failure=rate),
        "(A13)": at_most(
            np.linalg.norm(one.total(1), axis=-1),
            count=3 * task.smoothness * one.shared(1),
            noise=noise,
            failure=rate,
        ),
        "(A14)": given(
            "P lambda_1 < 1",
            failure < 1,
            lambda: at_most(total, count=3 * counts / task.clients, noise=cross, failure=failure),
        ),
    }


@false_members.line("(A11)")
def second_moment(
    clients: int = Z[1:3],
    samples: int = Z[1:3],
    rarity: Fraction = among(Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)),
    jump: Fraction = Q[Fraction(1, 4) :: 4],
) -> Sides:
    """Check (A11): sum the squared noise over all two-valued batches."""
    rare, common = jump, -jump * rarity / (1 - rarity)
    variance = rarity * rare**2 + (1 - rarity) * common**2
    drawn, moment = clients * samples, Fraction(0)
    for k in range(drawn + 1):
        chance = math.comb(drawn, k) * rarity**k * (1 - rarity) ** (drawn - k)
        moment += chance * (k * rare + (drawn - k) * common) ** 2
    return at_most(moment / samples**2, variance=clients * variance / samples)


CONSTANT = 256
"""Factor in n' >= 256 (P - 1) sigma^2 / (mu^2 Delta^4): twice the c_1 = 128 of Lemma 1."""

HOEFFDING = Fraction(1, 8)
"""c: a deviation of a quarter of the clients gives 2 (1/4)^2 in Hoeffding's exponent."""


def share_of_counts(count: int, sixteenths: int, is_far: Callable[[int], bool]) -> Fraction:
    """Return the probability of a large deviation of Bin(count, p), with p = sixteenths / 16."""
    far, ways = 0, 1
    for k in range(count + 1):  # ways is binomial(count, k) sixteenths^k; far is summed by Horner's scheme
        far = far * (16 - sixteenths) + (ways if is_far(k) else 0)
        ways = ways * sixteenths * (count - k) // (k + 1)
    return Fraction(far, 16**count)


@claim(
    "cfl-mgd/appendix-a4",
    label="(A4)-(A6)",
    evaluations=300,
    expected="consistent, tight within 2",
    places="assumption 4; before (A4); (A5); (A6); after (A25)",
)
def clients_that_stay(count: int = Z[1:1000], sixteenths: int = among(8, 10, 12, 14, 16)) -> dict[str, Sides]:
    """At least half of cluster 1 chooses model 1 on average, and a quarter with probability at least 1 - 2 exp(-clm).

    Hypotheses
        Clients of cluster 1 choose independently, and choose model 1 with probability at least 1/2. The constant c =
        1/8 is from Hoeffding's inequality.

    Statement
        P(|C_1 n C*_1| <= l_1 m / 4) <= P(| |C_1 n C*_1| - E | >= l_1 m / 4) <= 2 exp(-clm). N = l_1 m >= l m is the
        ``count``, and each client makes the correct choice with probability ``sixteenths`` / 16.

    Lines
        (A4)
            P(a client of cluster 1 chooses model 1) >= 1/2, "using Lemma 1", hence E |C_1 n C*_1| >= l_1 m / 2, in
            the basin. Assumption 4 states n' >~ without a constant. The claim takes n' >= 256 (P - 1) sigma^2 / (mu^2
            Delta^4), where 256 is twice c_1 = 128. By Cantelli's inequality the constant 64 (2 P - 3) suffices, and
            for P = 2 no smaller constant does. With 256 (P - 1) at most a fifth of the clients is misassigned, for
            every P. The constant 1 is too small: take f(chi; z) = (chi + 1)^2 / 2 - z sin(pi chi / 2), with z = 2
            with probability 2/3 and otherwise -4. Then sigma^2 = 8 and n' = 1. With both models at their optima 1 and
            -1, two thirds of the clients choose the wrong model.
        (A4), regressions
            For each cluster, the sum of the exact pairwise error probabilities, with the smallest number of samples
            that the claim allows. (A5) The middle term is at most the last, which is below 1 only for l m > 8 log 2.
            The best exponent is KL(3/8 || 5/8) = 0.1277, at p = 5/8, and KL(1/4 || 1/2) = 0.1308 for the first term.
            Larger c fail, for example c = 1/5 for N = 32 clients with p = 1/2: P(Bin <= 8) = .0035 > .0033.
        (A6)
            The first term is at most the last. It is even at most exp(-clm), since only one tail counts.

    Source
        Zhao et al. (2023), (A4) to (A6).
    """
    allowed = 2 * exponential_bounds(HOEFFDING * count)[0]
    apart = share_of_counts(count, sixteenths, lambda k: abs(16 * k - count * sixteenths) >= 4 * count)
    few = share_of_counts(count, sixteenths, lambda k: 4 * k <= count)
    return {"(A5)": at_most(apart, hoeffding=allowed), "(A6)": at_most(few, hoeffding=allowed)}


@clients_that_stay.line("(A4)")
def a4(law: TwoPointLosses) -> Sides:
    """Check (A4) for two-valued losses, with the exact probability of a wrong choice."""
    suppose("n' >= 256 (P - 1) sigma^2 / (mu^2 Delta^4)", law.samples >= CONSTANT * law.needed_samples)
    return at_most(law.error_probability, half=Fraction(1, 2))


@clients_that_stay.line("(A4), regressions", evaluations=40)
def a4_of_regressions(task: NoisyTask, stream: Stream) -> Sides:
    """Sum the exact pairwise error probabilities of each cluster, with the smallest allowed number of samples."""
    models = basin_models(task, stream)
    scale = task.strong_convexity**2 * task.separation**4
    errors = []
    for cluster in range(task.clusters):
        variance = float(task.loss_variance(models, cluster).max())
        enough = with_samples(task, math.ceil(CONSTANT * (task.clusters - 1) * variance / scale))
        errors.append(enough.misclassification_probability(models, cluster).sum())
    return at_most(np.array(errors), half=0.5)
