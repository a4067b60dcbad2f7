"""Two scalar clusters whose losses' noise takes two values, in rational arithmetic: the laws of the tightest errors.

``synthetic.TwoPointMixture`` with optima 1 and -1, basin 1/2, seen by a client of cluster 2: f(chi; z) =
(chi + 1)^2 / 2 + z (chi - c), where z is a jump with probability ``rarity`` and has mean 0. The jump is
measured by what
makes a client err when one of its n' rows has it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated

import numpy as np

from clusterproof.synthetic import TwoPointMixture
from clusterproof.theory.instruments.two_point_law import binomial_upper_tail
from clusterproof.theory.statement import choice, integers, rationals

Offset = Annotated[Fraction, rationals(Fraction(-1, 2), Fraction(1, 2), 2)]
"""Displacement of a model, within the basin."""
RARE = Fraction(1, 1000)
"""Rarity at which Chebyshev's inequality is nearly attained by the mean of a few rows, too."""


@dataclass(frozen=True)
class TwoPointLosses:
    """A law of this kind, and two models in the basin.

    Attributes
    ----------
    samples
        n'.
    rarity
        Probability of the jump.
    reach
        The jump, in units of the one with which a single rare row decides for the wrong model.
    lever
        c, from the own model (0) to the other one (1).
    first, second
        chi_1 - 1 and chi_2 + 1.
    """

    samples: Annotated[int, integers(1, 3, upwards=True)]
    rarity: Annotated[Fraction, choice(RARE, *map(Fraction, ("1/2", "1/5", "1/10", "2/3", "51/100")))]
    reach: Annotated[Fraction, choice(Fraction(1), Fraction(1, 2), Fraction(501, 1000), Fraction(10))]
    lever: Annotated[Fraction, choice(Fraction(1, 2), Fraction(0), Fraction(1))]
    first: Offset
    second: Offset

    @property
    def models(self) -> tuple[Fraction, Fraction]:
        """chi_1 and chi_2."""
        return 1 + self.first, -1 + self.second

    @cached_property
    def expected(self) -> tuple[Fraction, Fraction]:
        """phi_2(chi_1) and phi_2(chi_2)."""
        other, own = ((model + 1) ** 2 / 2 for model in self.models)
        return other, own

    @property
    def midpoint(self) -> Fraction:
        """delta, the mean of the two expected losses."""
        other, own = self.expected
        return (other + own) / 2

    @cached_property
    def noise(self) -> tuple[Fraction, Fraction]:
        """The rare and the common value of z; the rare one favours chi_1."""
        apart = self.models[0] - self.models[1]
        gap = self.expected[0] - self.expected[1]
        odds = self.rarity / (1 - self.rarity)
        # one rare row and n' - 1 common ones: (1 - (n' - 1) odds) of the jump, over n'
        share = 1 - (self.samples - 1) * odds
        jump = -self.reach * gap / apart * (self.samples / share if share > 0 else 1)
        return jump, -jump * odds

    @property
    def center(self) -> Fraction:
        """c."""
        other, own = self.models
        return own + self.lever * (other - own)

    @property
    def loss_variance(self) -> Fraction:
        """sigma^2: the larger variance of f(chi; z) at the two models."""
        return _error_and_variance(self)[1]

    @property
    def needed_samples(self) -> Fraction:
        """(P - 1) sigma^2 / (mu^2 Delta^4)."""
        return self.loss_variance / 16

    def probability(self, slope: Fraction, level: Fraction, *, strictly: bool = False) -> Fraction:
        """P(slope times the mean of z >= level), or > level."""
        rare, common = self.noise
        chance = Fraction(0)
        for k in range(self.samples + 1):
            value = slope * (k * rare + (self.samples - k) * common) / self.samples
            if value > level or (value == level and not strictly):
                weight = self.rarity**k * (1 - self.rarity) ** (self.samples - k)
                chance += math.comb(self.samples, k) * weight
        return chance

    @property
    def error_probability(self) -> Fraction:
        """P(phi_i(chi_2) >= phi_i(chi_1))."""
        return _error_and_variance(self)[0]

    def own_exceeds(self, level: Fraction) -> Fraction:
        """P(phi_i(chi_2) > level)."""
        return self.probability(self.models[1] - self.center, level - self.expected[1], strictly=True)

    def other_at_most(self, level: Fraction) -> Fraction:
        """P(phi_i(chi_1) <= level)."""
        return self.probability(self.center - self.models[0], self.expected[0] - level)

    def more_intruders(self, foreign: int, threshold: Fraction) -> Fraction:
        """P(more than so many of the clients of cluster 2 err)."""
        return binomial_upper_tail(foreign, self.error_probability, threshold)

    def task(self, own: int = 1, foreign: int = 1) -> TwoPointMixture:
        """The task, for clients of both clusters; cluster 1 has no noise."""
        rare, common = self.noise
        deviation = math.sqrt(self.rarity * (1 - self.rarity)) * float(rare - common)
        return TwoPointMixture(
            optima=np.array([[1.0], [-1.0]]),
            slopes=np.array([[0.0], [deviation]]),
            centers=np.array([float(self.center)]),
            rarity=float(self.rarity),
            labels=np.repeat([0, 1], (own, foreign)),
            samples=self.samples,
        )


@lru_cache(maxsize=4096)
def _error_and_variance(law: TwoPointLosses) -> tuple[Fraction, Fraction]:
    """Evaluate what most claims ask, once for all constants that are tried on a law."""
    rare, common = law.noise
    reach = max(abs(model - law.center) for model in law.models)
    other, own = law.models
    return (
        law.probability(own - other, law.expected[0] - law.expected[1]),
        law.rarity * (1 - law.rarity) * (rare - common) ** 2 * reach**2,
    )


def tightest(samples: int = 1, **others: Fraction) -> TwoPointLosses:
    """Models on the rim towards each other, rare jumps that just make a client err: Cantelli's law."""
    half = Fraction(1, 2)
    known = {"rarity": RARE, "reach": Fraction(1), "lever": half, "first": -half, "second": half}
    return TwoPointLosses(samples, **(known | others))
