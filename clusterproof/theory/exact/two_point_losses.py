"""Two scalar clusters whose losses have two-valued noise, in rational arithmetic: the laws with the largest errors.

``synthetic.TwoPointMixture`` with optima 1 and -1 and basin 1/2, for a client of cluster 2. Its loss is f(chi; z) =
(chi + 1)^2 / 2 + z (chi - c), where z is a jump with probability ``rarity`` and has mean 0. The unit of z is the least
jump in one of its n' samples that makes a client err.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated

import numpy as np

from clusterproof.checker.claims import choice, integers, rationals
from clusterproof.synthetic import TwoPointMixture

Offset = Annotated[Fraction, rationals(Fraction(-1, 2), Fraction(1, 2), 2)]
"""Displacement of a model, within the basin."""
RARE = Fraction(1, 1000)
"""Rarity at which the mean over a few samples also nearly attains Chebyshev's inequality."""


@dataclass(frozen=True)
class TwoPointLosses:
    """A two-point law, and two models in the basin.

    Attributes
    ----------
    samples
        n'.
    rarity
        Probability of the jump.
    reach
        The jump, in units of the least jump for which a single rare sample makes a client err.
    lever
        c, from 0 at the own model to 1 at the other model.
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
        at_other, at_own = ((model + 1) ** 2 / 2 for model in self.models)
        return at_other, at_own

    @property
    def midpoint(self) -> Fraction:
        """delta, the mean of the two expected losses."""
        at_other, at_own = self.expected
        return (at_other + at_own) / 2

    @cached_property
    def noise(self) -> tuple[Fraction, Fraction]:
        """The rare and the common value of z; the rare value favours chi_1."""
        apart = self.models[0] - self.models[1]
        gap = self.expected[0] - self.expected[1]
        odds = self.rarity / (1 - self.rarity)
        # one rare row and n' - 1 common ones: (1 - (n' - 1) odds) of the jump, divided by n'
        share = 1 - (self.samples - 1) * odds
        jump = -self.reach * gap / apart * (self.samples / share if share > 0 else 1)
        return jump, -jump * odds

    @property
    def center(self) -> Fraction:
        """c."""
        at_other, at_own = self.models
        return at_own + self.lever * (at_other - at_own)

    @property
    def loss_variance(self) -> Fraction:
        """sigma^2: the larger variance of f(chi; z) at the two models."""
        return _error_and_variance(self)[1]

    @property
    def needed_samples(self) -> Fraction:
        """(P - 1) sigma^2 / (mu^2 Delta^4)."""
        return self.loss_variance / 16

    def probability(self, factor: Fraction, level: Fraction, *, strictly: bool = False) -> Fraction:
        """Return P(factor times the mean of z >= level), or > level if ``strictly``."""
        rare, common = self.noise
        chance = Fraction(0)
        for k in range(self.samples + 1):
            value = factor * (k * rare + (self.samples - k) * common) / self.samples
            if value > level or (value == level and not strictly):
                weight = self.rarity**k * (1 - self.rarity) ** (self.samples - k)
                chance += math.comb(self.samples, k) * weight
        return chance

    @property
    def error_probability(self) -> Fraction:
        """P(phi_i(chi_2) >= phi_i(chi_1))."""
        return _error_and_variance(self)[0]

    def own_exceeds(self, level: Fraction) -> Fraction:
        """Return P(phi_i(chi_2) > level)."""
        return self.probability(self.models[1] - self.center, level - self.expected[1], strictly=True)

    def other_at_most(self, level: Fraction) -> Fraction:
        """Return P(phi_i(chi_1) <= level)."""
        return self.probability(self.center - self.models[0], self.expected[0] - level)

    def task(self, own: int = 1, foreign: int = 1) -> TwoPointMixture:
        """Return the task, with clients of both clusters; cluster 1 has no noise."""
        rare, common = self.noise
        deviation = math.sqrt(self.rarity * (1 - self.rarity)) * float(rare - common)
        return TwoPointMixture(
            optima=np.array([[1.0], [-1.0]]),
            noise_gradients=np.array([[0.0], [deviation]]),
            centers=np.array([float(self.center)]),
            rarity=float(self.rarity),
            labels=np.repeat([0, 1], (own, foreign)),
            samples=self.samples,
        )


@lru_cache(maxsize=4096)
def _error_and_variance(law: TwoPointLosses) -> tuple[Fraction, Fraction]:
    """Return the error probability and the variance of a law, cached for all constants that are compared with it."""
    rare, common = law.noise
    reach = max(abs(model - law.center) for model in law.models)
    at_other, at_own = law.models
    return (
        law.probability(at_own - at_other, law.expected[0] - law.expected[1]),
        law.rarity * (1 - law.rarity) * (rare - common) ** 2 * reach**2,
    )


def tightest(samples: int = 1, **others: Fraction) -> TwoPointLosses:
    """Return Cantelli's law: models displaced towards each other, to the boundary, and the least jump for an error."""
    half = Fraction(1, 2)
    known = {"rarity": RARE, "reach": Fraction(1), "lever": half, "first": -half, "second": half}
    return TwoPointLosses(samples, **(known | others))
