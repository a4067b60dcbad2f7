"""(A15)-(A17): the number of intruders, and the bound on T_2."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.theory.cfl_mgd.appendix.a9_to_a14 import intrusion
from clusterproof.theory.cfl_mgd.appendix.rounds import one_round
from clusterproof.theory.cfl_mgd.appendix.tasks import PAPER, NoisyTask, Place, basin_models, suppose_units
from clusterproof.theory.cfl_mgd.lemma_1.lemma_1 import CANTELLI
from clusterproof.theory.instruments.intruding import exceeded_across, exceeded_displacement
from clusterproof.theory.instruments.two_point_law import TwoPointLaw, binomial_upper_tail, confirm_choices
from clusterproof.theory.instruments.two_point_losses import TwoPointLosses, tightest
from clusterproof.theory.looseness import Best
from clusterproof.theory.statement import (
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    integers,
    suppose,
)

CONSTANT = 128
"""c_1 of Lemma 1 and (A15)."""

Own = Annotated[int, integers(1, 3)]
"""Clients of cluster 1."""
Foreign = Annotated[int, integers(1, 6)]
"""Clients of cluster 2."""
Crowd = Annotated[int, integers(1, 50, upwards=True)]
"""The same, so many that cluster 1 hardly counts."""
Rate = Annotated[Fraction, choice(*(Fraction(k, 100) for k in (1, 10, 25, 33, 97)))]
"""lambda_1, or lambda_2."""
DIRECTIONS = 10**6
"""Across the line of the models, in which gradients have noise: their sum's length is all but certain."""
Level = Annotated[Fraction, choice(Fraction(1, 2), Fraction(1, 10), Fraction(9, 10), Fraction(99, 100))]
"""lambda_2."""


def without_twos() -> float:
    """64 of Cantelli's inequality for 128, and (1 - l_1) m clients for m, with l_1 near 0."""
    return CANTELLI / CONSTANT


@PAPER.claim("a15", label="(A15)", kind="upper", part="regressions", budget=75,
             looseness=Best(without_twos, "Cantelli's inequality needs 64 for 128"))  # fmt: skip
def a15(task: NoisyTask, stream: Stream) -> Sides:
    """The expected number of intruders is at most c_1 m sigma^2 / (mu^2 Delta^4 n').

    Hypotheses
        Assumptions 1-4 in the round at hand, sigma^2 at the models that are compared.

    Statement
        E |C_1 - C*_1| <= c_1 m sigma^2 / (mu^2 Delta^4 n'), c_1 = 128.

    Symbols
        C_1 - C*_1 the intruders, n' ``samples``, Delta ``separation``.

    Source
        Zhao et al. (2023), (A15), from Lemma 1. Upper bound; (1 - l_1) m is enough for m.

    Checked
        The exact F tails of random regressions, at models in the basin; and laws whose losses take two
        values, exactly, with one own client and up to 50 others.
    """
    models = basin_models(task, stream)
    expected, variance = 0.0, 0.0
    for cluster in range(1, task.clusters):
        # the others stay where they are: a client joins C_1 only if model 1 beats its own
        pair = np.where(np.arange(task.clusters)[:, None] == 0, models[0], models[cluster])
        own = float(task.proportions[cluster]) * task.clients
        expected += own * float(task.misclassification_probability(pair, cluster)[0])
        variance = max(variance, float(task.loss_variance(models[[0, cluster]], cluster).max()))
    scale = task.strong_convexity**2 * task.separation**4 * task.samples
    return at_most(expected, chebyshev=CONSTANT * task.clients * variance / scale)


@a15.also("two values", budget=150, exhaustible=150, extremes=({"law": tightest(), "own": 1, "foreign": 50},))
def a15_of_two_values(law: TwoPointLosses, own: Own, foreign: Crowd) -> Sides:
    """The same for losses with two values, mu = 1 and Delta = 2."""
    allowed = CONSTANT * (own + foreign) * law.loss_variance / (16 * law.samples)
    return at_most(foreign * law.error_probability, chebyshev=allowed)


def many_intruders(law: TwoPointLaw | TwoPointLosses, own: int, foreign: int, level: Fraction) -> Fraction:
    """P(|C_1 - C*_1| > c_1 m sigma^2 / (mu^2 lambda_2 Delta^4 n')), exactly."""
    threshold = CONSTANT * (own + foreign) * law.needed_samples / (level * law.samples)
    return binomial_upper_tail(foreign, law.error_probability, threshold)


@PAPER.claim("a16", label="(A16)", kind="probability", confirm=lambda law, **_: confirm_choices(law),
             repaired_by="cfl-mgd/a16-meant")  # fmt: skip
def a16(law: TwoPointLaw, own: Own, foreign: Foreign, level: Level) -> Sides:
    """There are few intruders with probability at most 1 - lambda_2.

    Hypotheses
        As (A15), lambda_2 in (0, 1).

    Statement
        P(|C_1 - C*_1| <= c_1 m sigma^2 / (mu^2 lambda_2 Delta^4 n')) <= 1 - lambda_2.

    Symbols
        As (A15).

    Source
        Zhao et al. (2023), (A16), as printed: the inequality points the wrong way.

    Checked
        Two scalar clusters, samples with two values: hypothesis searches law, models, clients and
        lambda_2, the probability is a binomial sum in rational arithmetic, and a round of the algorithm
        with one client for each possible batch confirms who joins C_1.
    """
    return at_most(1 - many_intruders(law, own, foreign, level), printed=1 - level)


# one intruder is one too many, and every foreign client is one with probability 1/1000
SPENT = {"law": tightest(), "own": 1, "foreign": 48, "level": Fraction(1, 10)}


@PAPER.claim("a16-meant", label="(A16), meant", kind="probability", budget=150, exhaustible=150, extremes=(SPENT,),
             looseness=Best(without_twos, "Markov's inequality with the 64 of Cantelli's for 128"))  # fmt: skip
def a16_meant(law: TwoPointLosses, own: Own, foreign: Crowd, level: Level) -> Sides:
    """There are few intruders with probability at least 1 - lambda_2.

    Hypotheses
        As (A16).

    Statement
        P(|C_1 - C*_1| <= c_1 m sigma^2 / (mu^2 lambda_2 Delta^4 n')) >= 1 - lambda_2.

    Symbols
        As (A15).

    Source
        Zhao et al. (2023), (A16) as (A17) uses it. Probability, by Markov's inequality on (A15).

    Checked
        Two scalar clusters whose losses take two values, exactly: searched, and the law that comes nearest to
        Markov's inequality first.
    """
    return at_most(many_intruders(law, own, foreign, level), markov=level)


def markov_on_the_mean() -> float:
    """Give 1/4: ||T_2|| exceeds E||T_2|| / (P lambda_1 + lambda_2) with that probability at most.

    A client whose optimum is s Delta / 2 from chi_1, s >= 3/2, errs with a probability of at most (8 / (4 s^2 - 1))^2
    times x = 64 sigma^2 / (mu^2 Delta^4 n'), by Cantelli's inequality, and its mean gradient is at most L s there,
    as Delta <= 2. s (8 / (4 s^2 - 1))^2 falls from 3/2 on. So E||T_2|| <= 3 x / 2 + sqrt(x) v / (L sqrt(m n')), the
    latter since fresh gradients' noise is uncorrelated. Of the first term of (36), 6 x / lambda_2, that needs 1/4
    lambda_2 / (P lambda_1 + lambda_2), and of the second one sqrt(lambda_2 / 2P) lambda_1 / (P lambda_1 + lambda_2),
    which is less than sqrt(1 / 2P) / P <= 1/4. With lambda_2 near 1 and many clients 1/4 is needed.
    """
    return 1.5 * CANTELLI / (3 * CONSTANT)


# 10 000 clients err, give or take a hundred, and their noise averages out
CERTAIN = {
    "law": tightest(), "own": 1, "foreign": 10**7, "level_1": Fraction(1, 100), "level_2": Fraction(97, 100)
}  # fmt: skip


@PAPER.claim("a17", label="(A17)", kind="probability", part="regressions", budget=15, replicates=200,
             looseness=Best(markov_on_the_mean, "Markov's inequality on the mean, with Cantelli's 64 for 128")
             )  # fmt: skip
def a17(
    task: NoisyTask,
    level: Annotated[Fraction, choice(Fraction(1, 10), Fraction(1, 4))],
    place: Place,
    stream: Stream,
    replicates: Replicates,
) -> Sides:
    """The intruders move model 1 by at most the two terms of (36).

    Hypotheses
        As (A14) and (A15), eta = 1/L.

    Statement
        With probability at least 1 - P lambda_1 - lambda_2, ||T_2|| <= c_1 sigma^2 / (mu^2 lambda_2 Delta^4
        n') + c_2 v sigma sqrt(P) / (lambda_1 mu L Delta^2 n' sqrt(m lambda_2)), c_1 = 384 = 3 * 128,
        c_2 = sqrt(128).

    Symbols
        As (A14) and (A15).

    Source
        Zhao et al. (2023), (A17) = (36), from (A14) and (A16) as meant. Probability; a quarter of the right side is
        enough, and needed as lambda_2 nears 1.

    Checked
        Drawn rounds on random regressions with misclassified clients, max ||chi*|| <= 1,
        lambda_1 = lambda_2 = 1/10 or 1/4; for losses with two values and one row the exact law of ||T_2||, with
        lambda_2 up to 97/100; and with as much gradient noise across the line of the models, of which the second
        term is needed.
    """
    failure = (task.clusters + 1) * float(level)
    suppose("P lambda_1 + lambda_2 < 1", failure < 1)
    suppose_units(task)
    one = one_round(task, place, replicates, stream)
    norms, _, deviation = intrusion(one)
    spread = max(one.loss_variance(p) for p in range(1, task.clusters))
    curvature, rate = task.strong_convexity, float(level)
    gap, rows = task.separation**2, task.samples
    root = math.sqrt(CONSTANT * spread * task.clusters / (task.clients * rate))
    return at_most(
        norms,
        count=3 * CONSTANT * spread / (curvature**2 * rate * gap**2 * rows),
        cross=deviation * root / (rate * curvature * task.smoothness * gap * rows),
        failure=failure,
    )


@a17.also("two values", budget=60, exhaustible=60, extremes=(CERTAIN,))
def exact_intrusion(law: TwoPointLosses, own: Own, foreign: Crowd, level_1: Rate, level_2: Rate) -> Sides:
    """What ||T_2|| exceeds with more than the probability 2 lambda_1 + lambda_2, for losses with two values."""
    suppose("n' = 1", law.samples == 1)
    failure = suppose_levels(level_1, level_2)
    # whose number of outcomes can be gone through
    suppose("at most 10 000 intruders are expected", foreign * law.error_probability <= 10_000)
    rare, common = law.noise
    deviation = math.sqrt(law.rarity * (1 - law.rarity)) * float(abs(rare - common))
    measured = exceeded_displacement(law, own + foreign, foreign, failure)
    return at_most(measured, **printed_terms(law, own + foreign, level_1, level_2, deviation))


def suppose_levels(first: Fraction, second: Fraction) -> float:
    """P lambda_1 + lambda_2 for two clusters, where that is less than 1."""
    suppose("P lambda_1 + lambda_2 < 1", 2 * first + second < 1)
    return float(2 * first + second)


def printed_terms(
    law: TwoPointLosses, clients: int, first: Fraction, second: Fraction, deviation: float
) -> dict[str, Any]:
    """The two terms of (36) with mu = L = 1, P = Delta = 2, n' = 1 and v the ``deviation``."""
    spread = float(law.loss_variance)
    root = math.sqrt(CONSTANT * spread * 2 / (clients * second))
    return {"count": 3 * CONSTANT * spread / float(16 * second), "cross": deviation * root / float(4 * first)}


@a17.also("noise across")
def intrusion_across(
    foreign: Annotated[int, choice(10**6, 10**5)],
    noise: Annotated[int, choice(10**6, 1)],
    level: Annotated[Fraction, choice(Fraction(33, 100), Fraction(1, 4))],
) -> Sides:
    """Gradients with normal noise in 10^6 directions across the line of the models, where no loss depends on it.

    Only the part of T_2 that lies across is measured. lambda_1 = lambda_2.
    """
    law = tightest()
    failure = suppose_levels(level, level)
    across = exceeded_across(law, foreign + 1, foreign, failure, noise, DIRECTIONS)
    along = math.sqrt(law.rarity * (1 - law.rarity)) * float(abs(law.noise[0] - law.noise[1]))
    return at_most(across, **printed_terms(law, foreign + 1, level, level, math.hypot(along, noise)))
