"""(A4)-(A6): how many clients of a cluster find their model."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Annotated

import numpy as np

from clusterproof.theory.claims import Sides, Stream, at_most, choice, claim, integers, suppose
from clusterproof.theory.exact.two_point_losses import TwoPointLosses
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import NoisyTask, basin_models, with_samples

CONSTANT = 256
"""Of n' >= 256 (P - 1) sigma^2 / (mu^2 Delta^4): twice the c_1 = 128 of Lemma 1."""

HOEFFDING = Fraction(1, 8)
"""c: a deviation of a quarter of the clients costs 2 (1/4)^2 in the exponent."""

Count = Annotated[int, integers(1, 200, upwards=True)]
"""N = l_1 m."""
Sixteenths = Annotated[int, choice(8, 10, 12, 14, 16)]
"""Sixteen times the probability of the right choice."""


@lru_cache(maxsize=512)
def exponential_bounds(exponent: Fraction, terms: int = 40) -> tuple[Fraction, Fraction]:
    """Return rationals below and above exp(-exponent).

    Parameters
    ----------
    exponent
        At least 0.
    terms
        Of the series of exp(-1/n), n the power that brings the exponent to at most 1; alternating with
        decreasing terms, so that two consecutive partial sums enclose it.
    """
    power = max(1, -(-exponent.numerator // exponent.denominator))
    base = exponent / power
    term = total = Fraction(1)
    sums = [total]
    for k in range(1, terms):
        term *= -base / k
        total += term
        sums.append(total)
    low, high = sorted(sums[-2:])
    # rounded outwards to 30 digits: powers of long fractions are slow
    scale = 10**30
    below = Fraction(low.numerator * scale // low.denominator, scale)
    above = Fraction(-(-high.numerator * scale // high.denominator), scale)
    return below**power, above**power


def quarter_tail(count: int, sixteenths: int) -> Fraction:
    """P(Bin(count, p) <= count / 4) with p = sixteenths / 16."""
    other = 16 - sixteenths
    weights = (math.comb(count, k) * sixteenths**k * other ** (count - k) for k in range(count // 4 + 1))
    return Fraction(sum(weights), 16**count)


def quarter_deviation(count: int, sixteenths: int) -> Fraction:
    """P(|Bin(count, p) - count p| >= count / 4) with p = sixteenths / 16."""
    other = 16 - sixteenths
    weights = (
        math.comb(count, k) * sixteenths**k * other ** (count - k)
        for k in range(count + 1)
        if abs(16 * k - count * sixteenths) >= 4 * count
    )
    return Fraction(sum(weights), 16**count)


@claim("cfl-mgd/appendix-a4", label="(A4)-(A6)")
def clients_that_stay(count: Count, sixteenths: Sixteenths) -> dict[str, Sides]:
    """At least half of the own clients stay in the mean, a quarter with probability at least 1 - 2 exp(-clm), c = 1/8.

    Hypotheses
        Clients of cluster 1 choose independently and rightly with probability at least 1/2; c = 1/8 is Hoeffding's.

    Statement
        P(|C_1 n C*_1| <= l_1 m / 4) <= P(| |C_1 n C*_1| - E | >= l_1 m / 4) <= 2 exp(-clm). N = l_1 m >= l m.

    Lines
        (A4)
            P(a client of cluster 1 chooses model 1) >= 1/2, "using Lemma 1", hence E |C_1 n C*_1| >= l_1 m / 2, in the
            basin and with what Assumption 4 hides in n' >~: n' >= 256 (P - 1) sigma^2 / (mu^2 Delta^4), twice c_1 =
            128. By Cantelli's inequality 64 (2 P - 3) is enough, and for P = 2 nothing less is; with 256 (P - 1) at
            most a fifth errs, for every P. The constant 1 is too small: f(chi; z) = (chi + 1)^2 / 2 - z sin(pi chi / 2)
            with z = 2 with probability 2/3 and -4 else has sigma^2 = 8 and n' = 1, and with both models at their
            optima 1 and -1 two thirds err.
        (A4), regressions
            The sum of the exact pairwise errors with just enough samples, for each cluster.
        (A5)
            The middle term is at most the last. Below 1 only for l m > 8 log 2. The best exponent is KL(3/8 || 5/8) =
            0.1277, at p = 5/8, and KL(1/4 || 1/2) = 0.1308 for the first term; larger c fail, as c = 1/5 for N = 32
            clients with p = 1/2: P(Bin <= 8) = .0035 > .0033.
        (A6)
            The first term is at most the last; exp(-clm) is enough, since only one tail counts.

    Source
        Zhao et al. (2023), (A4) to (A6).
    """
    allowed = 2 * exponential_bounds(HOEFFDING * count)[0]
    return {
        "(A5)": at_most(quarter_deviation(count, sixteenths), hoeffding=allowed),
        "(A6)": at_most(quarter_tail(count, sixteenths), hoeffding=allowed),
    }


@clients_that_stay.line("(A4)")
def a4(law: TwoPointLosses) -> Sides:
    """The exact probability of the wrong choice, for losses with two values."""
    suppose("n' >= 256 (P - 1) sigma^2 / (mu^2 Delta^4)", law.samples >= CONSTANT * law.needed_samples)
    return at_most(law.error_probability, half=Fraction(1, 2))


@clients_that_stay.line("(A4), regressions", evaluations=40)
def a4_of_regressions(task: NoisyTask, stream: Stream) -> Sides:
    """The sum of the exact pairwise errors with just enough samples, for each cluster."""
    models = basin_models(task, stream)
    scale = task.strong_convexity**2 * task.separation**4
    errors = []
    for cluster in range(task.clusters):
        variance = float(task.loss_variance(models, cluster).max())
        enough = with_samples(task, math.ceil(CONSTANT * (task.clusters - 1) * variance / scale))
        errors.append(enough.misclassification_probability(models, cluster).sum())
    return at_most(np.array(errors), half=0.5)
