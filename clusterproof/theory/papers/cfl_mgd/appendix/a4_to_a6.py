"""(A4)-(A6): how many clients of a cluster find their model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated

import numpy as np

from clusterproof.theory.claims import Sides, Stream, at_most, choice, claim, integers, rationals, suppose
from clusterproof.theory.exact.two_point_law import binomial_upper_tail
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


@claim("cfl-mgd/a4", label="(A4)")
def a4(law: TwoPointLosses) -> Sides:
    """At least half of a cluster's clients find their model, in expectation.

    Hypotheses
        Models in the basin, Lemma 1 with c_1 = 128, and what Assumption 4 hides in n' >~: n' >=
        256 (P - 1) sigma^2 / (mu^2 Delta^4).

    Statement
        P(a client of cluster 1 chooses model 1) >= 1/2, hence E |C_1 n C*_1| >= l_1 m / 2.

    Source
        Zhao et al. (2023), (A4), "using Lemma 1". Lower bound; by Cantelli's inequality 64 (2 P - 3)
        is enough, and for P = 2 nothing less is; with 256 (P - 1) at most a fifth errs, for every P. That some
        constant is needed: ``cfl-mgd/a4-constant``.
    """
    suppose("n' >= 256 (P - 1) sigma^2 / (mu^2 Delta^4)", law.samples >= CONSTANT * law.needed_samples)
    return at_most(law.error_probability, half=Fraction(1, 2))


@a4.line("regressions", evaluations=40)
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


@dataclass(frozen=True)
class BoundedLosses:
    """Losses of two values at each model, whose variance is at most sigma^2 at every model.

    f(chi; z) = (chi + 1)^2 / 2 - z sin(pi chi / 2) for the clients of cluster 2, where z is ``jump`` with probability
    ``rarity`` and has mean 0; chi*_1 = 1, chi*_2 = -1. So mu = L = 1, Delta = 2, and Var f <= sigma^2 = Var z for all
    chi. At the optima the losses are f(1; z) = 2 - z and f(-1; z) = z.

    Attributes
    ----------
    samples
        n'.
    rarity, jump
        The law of z.
    """

    samples: Annotated[int, integers(1, 4)]
    rarity: Annotated[Fraction, choice(*map(Fraction, ("1/2", "1/3", "2/3", "1/10")))]
    jump: Annotated[Fraction, rationals(Fraction(1, 4), 4, 4, upwards=True)]

    @property
    def loss_variance(self) -> Fraction:
        """sigma^2."""
        return self.jump**2 * self.rarity / (1 - self.rarity)

    @property
    def error_probability(self) -> Fraction:
        """P(phi_i(chi*_2) > phi_i(chi*_1)): that the mean of z exceeds 1. A tie counts as the right choice."""
        common = -self.jump * self.rarity / (1 - self.rarity)
        threshold = self.samples * (1 - common) / (self.jump - common)
        return binomial_upper_tail(self.samples, self.rarity, threshold)


@claim("cfl-mgd/a4-constant", label="(A4), constant 1", judges="ours", repaired_by="cfl-mgd/a4")
def a4_constant(law: BoundedLosses) -> Sides:
    """The constant hidden in n' >~ p sigma^2 / (mu^2 Delta^4) may be one.

    Hypotheses
        Assumptions 1 to 4, with n' >= P sigma^2 / (mu^2 Delta^4) and models at their optima.

    Statement
        P(a client chooses its own model) >= 1/2.

    Source
        Ours: the constant 1, which the paper hides, on Zhao et al. (2023), Assumption 4, "n' >~ p sigma^2 / (mu^2
        Delta^4)", and before (A4): "Using Lemma 1 and ([23], Theorem 1), we can obtain the probability that each client
        i is correctly classified, given by P(xi_i) >= 1/2". It shows that the constant matters.
    """
    # P = 2, mu = 1, Delta = 2
    suppose("n' >= P sigma^2 / (mu^2 Delta^4)", law.samples >= law.loss_variance / 8)
    return at_most(law.error_probability, half=Fraction(1, 2))


@claim("cfl-mgd/appendix-a5", label="(A5), (A6)")
def clients_that_stay(count: Count, sixteenths: Sixteenths) -> dict[str, Sides]:
    """Fewer than a quarter of the own clients stay with probability at most 2 exp(-clm), c = 1/8.

    Hypotheses
        Clients of cluster 1 choose independently and rightly with probability at least 1/2; c = 1/8 is Hoeffding's.

    Statement
        P(|C_1 n C*_1| <= l_1 m / 4) <= P(| |C_1 n C*_1| - E | >= l_1 m / 4) <= 2 exp(-clm). N = l_1 m >= l m.

    Lines
        (A5)
            The middle term is at most the last. Below 1 only for l m > 8 log 2. The best exponent is KL(3/8 || 5/8) =
            0.1277, at p = 5/8, and KL(1/4 || 1/2) = 0.1308 for the first term; larger c fail:
            ``cfl-mgd/a5-constant``.
        (A6)
            The first term is at most the last; exp(-clm) is enough, since only one tail counts.

    Source
        Zhao et al. (2023), (A5) and (A6).
    """
    allowed = 2 * exponential_bounds(HOEFFDING * count)[0]
    return {
        "(A5)": at_most(quarter_deviation(count, sixteenths), hoeffding=allowed),
        "(A6)": at_most(quarter_tail(count, sixteenths), hoeffding=allowed),
    }


def best_exponent() -> float:
    """KL(1/4 || 1/2)."""
    return math.log(2) + 0.25 * math.log(0.25) + 0.75 * math.log(0.75)


@claim("cfl-mgd/a5-constant", label="(A5), c = 1/5", judges="ours", repaired_by="cfl-mgd/appendix-a5")
def a5_constant(count: Count, constant: Annotated[Fraction, choice(Fraction(1, 5))]) -> Sides:
    """The constant c of (A5) may be 1/5.

    Hypotheses
        As (A5).

    Statement
        P(|C_1 n C*_1| <= l_1 m / 4) <= 2 exp(-l_1 m / 5).

    Source
        Ours, on the sharpness of (A5) in Zhao et al. (2023), which names no c and is true with c = 1/8,
        ``cfl-mgd/appendix-a5``. c can be at most KL(1/4 || 1/2) = log 2 + (1/4) log(1/4) + (3/4) log(3/4) = 0.1308.
    """
    measured, allowed = quarter_tail(count, 8), 2 * exponential_bounds(constant * count)[1]
    return at_most(
        measured,
        hoeffding=allowed,
        words=lambda: (
            f"P(Bin({count}, 1/2) <= {count}/4) = {float(measured):.4g} > 2 exp(-{count}/5) = {float(allowed):.4g}; "
            f"no c above KL(1/4 || 1/2) = {best_exponent():.4f} serves all N"
        ),
    )
