"""Claims on (A15)-(A17): the number of misassigned clients in a cluster, and the bound on T_2."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from clusterproof.checker.claims import Replicates, Sides, Stream, Z, among, at_most, claim, suppose
from clusterproof.theory.exact.two_point_law import binomial_upper_tail
from clusterproof.theory.exact.two_point_losses import TwoPointLosses, tightest
from clusterproof.theory.papers.cfl_mgd.appendix.a3_to_a14 import false_member_norms
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import (
    NoisyTask,
    Place,
    basin_models,
    simulate_round,
    suppose_units,
)

NEGLIGIBLE = 1e-15
"""Smallest probability of an outcome that is not omitted."""
CONSTANT = 128
"""The constant c_1 of Lemma 1 and (A15)."""
OWN, CROWD = Z[1:3], Z[1:]
"""Number of clients of cluster 1, and the so much larger number of cluster 2 that cluster 1 is negligible."""
RATE = among(*(Fraction(k, 100) for k in (1, 10, 25, 33, 97)))
"""The probability lambda_1 or lambda_2."""
DIRECTIONS = 10**6
"""Number of noisy directions orthogonal to the line of the models.

With this number, the norm of the noise is nearly constant.
"""


@lru_cache(maxsize=256)
def exceeded_displacement(law: TwoPointLosses, clients: int, foreign: int, failure: float) -> float:
    """Return the largest x with P(||T_2|| >= x) > failure.

    Parameters
    ----------
    law
        Distribution of the losses for one sample, with L = 1.
    clients, foreign
        Number m of all clients, and number of clients in cluster 2. Each client of cluster 2 chooses model 1 with the
        error probability of the distribution. If it does, it draws a new sample for its gradient. T_2 is the sum of
        these gradients at chi_1, divided by m.
    failure
        Probability in (0, 1).
    """
    rare, common = map(float, law.noise)
    gradient = float(law.models[0]) + 1
    counts, chances = _binomial(foreign, float(law.error_probability))
    sizes, weights = [], []
    for count, chance in zip(counts.tolist(), chances.tolist(), strict=True):
        jumps, shares = _binomial(count, float(law.rarity))
        sizes.append(np.abs(count * (gradient + common) + jumps * (rare - common)) / clients)
        weights.append(chance * shares)
    size, weight = np.concatenate(sizes), np.concatenate(weights)
    order = np.argsort(-size)
    beyond = np.cumsum(weight[order])
    # the omitted outcomes count as not exceeding
    rank = int(np.searchsorted(beyond, failure, side="right"))
    return float(size[order][rank]) if rank < len(order) else 0.0


@lru_cache(maxsize=64)
def exceeded_across(
    law: TwoPointLosses, clients: int, foreign: int, failure: float, noise: float, directions: int
) -> float:
    """Return the largest x with P(||T_2 across|| >= x) > failure, for normal noise orthogonal to chi_1 - chi_2.

    If N clients are misassigned, the sum of their noise has a normal distribution. Its squared length is N noise^2 /
    m^2 times a chi-squared variable, divided by the degrees of freedom.

    Parameters
    ----------
    law, clients, foreign, failure
        See ``exceeded_displacement``. No loss depends on the orthogonal directions.
    noise
        Root of the total variance of the gradient in the orthogonal directions.
    directions
        Number of orthogonal directions, which all have the same variance.
    """
    from scipy.optimize import brentq
    from scipy.stats import chi2

    counts, chances = _binomial(foreign, float(law.error_probability))
    counts, chances = counts[counts > 0], chances[counts > 0]
    unit = noise * math.sqrt(counts.max()) / clients

    def beyond(length: float) -> float:
        return float(
            (chances * chi2.sf((length / noise * clients) ** 2 * directions / counts, directions)).sum()
        )

    if chances.sum() <= failure:
        return 0.0
    exceeded = brentq(lambda length: beyond(length) - failure, 0.0, 2 * unit, xtol=1e-12 * unit)
    return float(exceeded) - 1e-12 * unit


def _binomial(count: int, probability: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of Bin(count, probability) that are not too rare, and their probabilities."""
    from scipy.special import gammaln, xlog1py, xlogy

    spread = 12 * np.sqrt(count * probability * (1 - probability)) + 40
    low, high = max(0, int(count * probability - spread)), min(count, int(count * probability + spread))
    values = np.arange(low, high + 1)
    choices = gammaln(count + 1) - gammaln(values + 1) - gammaln(count - values + 1)
    chances = np.exp(choices + xlogy(values, probability) + xlog1py(count - values, -probability))
    likely = chances > NEGLIGIBLE
    return values[likely], chances[likely]


FEW = {"law": tightest(), "own": 1, "foreign": 50, "level": Fraction(1, 2)}
# a single misassigned client breaks the line, and every client of cluster 2 is misassigned with probability
# 1/1000
SPENT = {"law": tightest(), "own": 1, "foreign": 48, "level": Fraction(1, 10)}


@claim(
    "cfl-mgd/appendix-a15",
    label="(A15)-(A17), (36)",
    source={"(A16), meant": "ours"},
    error_kind={"(A16)": "misprint"},
    evaluations=150,
    example=(FEW, SPENT),
    expected="violated",
    places="(36); (A16); (A17)",
)
def false_members(
    law: TwoPointLosses,
    own: int = OWN,
    foreign: int = CROWD,
    level: Fraction = among(Fraction(1, 2), Fraction(1, 10), Fraction(9, 10), Fraction(99, 100)),
) -> dict[str, Sides]:
    """Few clients are misassigned to cluster 1, and they change model 1 by at most the sum of the two terms in (36).

    Hypotheses
        Assumptions 1-4 hold in the round, where sigma^2 is the variance of the loss at the compared models. For
        (A17), the hypotheses of (A14) hold, and eta = 1/L.

    Statement
        The constants are c_1 = 128 and lambda_2 = ``level``. For two-valued losses, mu = L = 1 and Delta = 2.

    Lines
        (A15)
            E |C_1 - C*_1| <= c_1 m sigma^2 / (mu^2 Delta^4 n'), from Lemma 1. The bound holds with (1 - l_1) m
            instead of m, as well.
        (A15), regressions
            (A15) on random regressions.
        (A16)
            P(|C_1 - C*_1| <= c_1 m sigma^2 / (mu^2 lambda_2 Delta^4 n')) <= 1 - lambda_2. This is a misprint: the
            inequality points in the wrong direction.
        (A16), meant
            (A16) with >=, by Markov's inequality on (A15), as (A17) uses it.
        (A17)
            With probability at least 1 - P lambda_1 - lambda_2, ||T_2|| <= 3 c_1 sigma^2 / (mu^2 lambda_2 Delta^4 n')
            + sqrt(c_1) v sigma sqrt(P) / (lambda_1 mu L Delta^2 n' sqrt(m lambda_2)), from (A14) and (A16) as meant.
            ||T_2|| is at most a quarter of the right side, and it reaches this quarter as lambda_2 tends to 1.

    Source
        Zhao et al. (2023), (A15)-(A17) = (36).
    """
    allowed = CONSTANT * (own + foreign) * law.loss_variance / (16 * law.samples)
    many = binomial_upper_tail(foreign, law.error_probability, allowed / level)
    return {
        "(A15)": at_most(foreign * law.error_probability, chebyshev=allowed),
        "(A16)": at_most(1 - many, printed=1 - level),
        "(A16), meant": at_most(many, markov=level),
    }


@false_members.line("(A15), regressions", evaluations=75)
def expected_of_regressions(task: NoisyTask, stream: Stream) -> Sides:
    """Check (A15) on regressions, with the exact error probability for each pair of models."""
    models = basin_models(task, stream)
    expected, variance = 0.0, 0.0
    for cluster in range(1, task.clusters):
        # it suffices to compare pairs: a client joins C_1 only if its loss at model 1 is at most its loss
        # at its own model
        pair = np.where(np.arange(task.clusters)[:, None] == 0, models[0], models[cluster])
        members = float(task.proportions[cluster]) * task.clients
        expected += members * float(task.misclassification_probability(pair, cluster)[0])
        variance = max(variance, float(task.loss_variance(models[[0, cluster]], cluster).max()))
    scale = task.strong_convexity**2 * task.separation**4 * task.samples
    return at_most(expected, chebyshev=CONSTANT * task.clients * variance / scale)


# about 10 000 clients err, and their noise averages out
CERTAIN = {
    "law": tightest(),
    "own": 1,
    "foreign": 10**7,
    "level_1": Fraction(1, 100),
    "level_2": Fraction(97, 100),
}


@false_members.line("(A17)", replicates=200, evaluations=30)
def displacement(
    task: NoisyTask,
    level: Annotated[Fraction, among(Fraction(1, 10), Fraction(1, 4))],
    place: Place,
    stream: Stream,
    replicates: Replicates,
) -> Sides:
    """Check (A17) on random rounds, with lambda_1 = lambda_2 = ``level``."""
    failure = (task.clusters + 1) * float(level)
    suppose("P lambda_1 + lambda_2 < 1", failure < 1)
    suppose_units(task)
    observed = simulate_round(task, place, replicates, stream)
    norms, _, deviation = false_member_norms(observed)
    spread = max(observed.loss_variance(p) for p in range(1, task.clusters))
    curvature, rate = task.strong_convexity, float(level)
    gap, rows = task.separation**2, task.samples
    root = math.sqrt(CONSTANT * spread * task.clusters / (task.clients * rate))
    return at_most(
        norms,
        count=3 * CONSTANT * spread / (curvature**2 * rate * gap**2 * rows),
        cross=deviation * root / (rate * curvature * task.smoothness * gap * rows),
        failure=failure,
    )


@false_members.line("(A17), two values", evaluations=60, example=(CERTAIN,))
def exact_displacement(
    law: TwoPointLosses,
    own: int = OWN,
    foreign: int = CROWD,
    level_1: Fraction = RATE,
    level_2: Fraction = RATE,
) -> Sides:
    """||T_2|| exceeds (36) with probability at most 2 lambda_1 + lambda_2, for two-valued losses."""
    suppose("n' = 1", law.samples == 1)
    failure = suppose_levels(level_1, level_2)
    # with these sizes, all outcomes can be enumerated
    suppose("at most 10 000 false members are expected", foreign * law.error_probability <= 10_000)
    rare, common = law.noise
    deviation = math.sqrt(law.rarity * (1 - law.rarity)) * float(abs(rare - common))
    measured = exceeded_displacement(law, own + foreign, foreign, failure)
    return at_most(measured, **printed_terms(law, own + foreign, level_1, level_2, deviation))


def suppose_levels(first: Fraction, second: Fraction) -> float:
    """Return P lambda_1 + lambda_2 for two clusters, and suppose that it is less than 1."""
    suppose("P lambda_1 + lambda_2 < 1", 2 * first + second < 1)
    return float(2 * first + second)


def printed_terms(
    law: TwoPointLosses, clients: int, first: Fraction, second: Fraction, deviation: float
) -> dict[str, Any]:
    """Return the two terms of (36) with mu = L = 1, P = Delta = 2, n' = 1 and v the ``deviation``."""
    spread = float(law.loss_variance)
    root = math.sqrt(CONSTANT * spread * 2 / (clients * second))
    return {"count": 3 * CONSTANT * spread / float(16 * second), "cross": deviation * root / float(4 * first)}


@false_members.line("(A17), noise across")
def noise_across(
    foreign: int = among(10**6, 10**5),
    noise: int = among(10**6, 1),
    level: Fraction = among(Fraction(33, 100), Fraction(1, 4)),
) -> Sides:
    """Check (A17) for normal noise in 10^6 directions that are orthogonal to the line through the models.

    No loss depends on these directions. The claim measures only the part of T_2 in these directions, with lambda_1 =
    lambda_2.
    """
    law = tightest()
    failure = suppose_levels(level, level)
    across = exceeded_across(law, foreign + 1, foreign, failure, noise, DIRECTIONS)
    along = math.sqrt(law.rarity * (1 - law.rarity)) * float(abs(law.noise[0] - law.noise[1]))
    return at_most(across, **printed_terms(law, foreign + 1, level, level, math.hypot(along, noise)))
