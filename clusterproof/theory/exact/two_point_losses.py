"""Two scalar clusters with two-valued noise, in rational arithmetic, for which error probabilities are largest.

The task is ``synthetic.TwoPointMixture`` with optima 1 and -1 and basin radius 1/2. A client of cluster 2 has the
loss f(chi; z) = (chi + 1)^2 / 2 + z (chi - c), where z has mean 0, and is a large *jump* with probability ``rarity``.
The unit of z is the smallest jump that makes a client choose the wrong model if one of its n' samples has it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.checker.claims import choice, integers, rationals
from clusterproof.synthetic import TwoPointMixture

Offset = Annotated[Fraction, rationals(Fraction(-1, 2), Fraction(1, 2), 2)]
"""Displacement of a model from its optimum, in the basin."""
RARE = Fraction(1, 1000)
"""Probability of a jump for which Chebyshev's inequality is nearly attained, even for the mean over a few samples."""


@dataclass(frozen=True)
class TwoPointLosses:
    """A two-point distribution, and two models in the basin.

    Attributes
    ----------
    samples
        Number of samples n'.
    rarity
        Probability of a jump.
    reach
        Size of the jump, in units of the smallest jump for which a single rare sample leads to a wrong choice.
    lever
        Position of c, from 0 at the client's own model to 1 at the other model.
    first, second
        Displacements chi_1 - 1 and chi_2 + 1.
    """

    samples: Annotated[int, integers(1, 3, upwards=True)]
    rarity: Annotated[Fraction, choice(RARE, *map(Fraction, ("1/2", "1/5", "1/10", "2/3", "51/100")))]
    reach: Annotated[Fraction, choice(Fraction(1), Fraction(1, 2), Fraction(501, 1000), Fraction(10))]
    lever: Annotated[Fraction, choice(Fraction(1, 2), Fraction(0), Fraction(1))]
    first: Offset
    second: Offset

    @property
    def models(self) -> tuple[Fraction, Fraction]:
        """The two models chi_1 and chi_2."""
        return 1 + self.first, -1 + self.second

    @property
    def expected(self) -> tuple[Fraction, Fraction]:
        """The expected losses phi_2(chi_1) and phi_2(chi_2)."""
        at_other, at_own = ((model + 1) ** 2 / 2 for model in self.models)
        return at_other, at_own

    @property
    def midpoint(self) -> Fraction:
        """The level delta, the mean of both expected losses."""
        at_other, at_own = self.expected
        return (at_other + at_own) / 2

    @property
    def noise(self) -> tuple[Fraction, Fraction]:
        """The rare value and the common value of z. The rare value favours chi_1."""
        apart = self.models[0] - self.models[1]
        gap = self.expected[0] - self.expected[1]
        odds = self.rarity / (1 - self.rarity)
        # the mean over one rare and n' - 1 common samples is the jump times (1 - (n' - 1) odds) / n'
        share = 1 - (self.samples - 1) * odds
        jump = -self.reach * gap / apart * (self.samples / share if share > 0 else 1)
        return jump, -jump * odds

    @property
    def center(self) -> Fraction:
        """The point c."""
        at_other, at_own = self.models
        return at_own + self.lever * (at_other - at_own)

    @property
    def loss_variance(self) -> Fraction:
        """The larger of the variances of f(chi; z) at both models, sigma^2."""
        return _error_and_variance(self)[1]

    @property
    def needed_samples(self) -> Fraction:
        """The bound (P - 1) sigma^2 / (mu^2 Delta^4)."""
        return self.loss_variance / 16

    def probability(self, factor: Fraction, level: Fraction, *, strictly: bool = False) -> Fraction:
        """Return P(factor * mean of z >= level), with > instead of >= if ``strictly`` is True."""
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
        """The probability P(phi_i(chi_2) >= phi_i(chi_1))."""
        return _error_and_variance(self)[0]

    def own_exceeds(self, level: Fraction) -> Fraction:
        """Return P(phi_i(chi_2) > level)."""
        return self.probability(self.models[1] - self.center, level - self.expected[1], strictly=True)

    def other_at_most(self, level: Fraction) -> Fraction:
        """Return P(phi_i(chi_1) <= level)."""
        return self.probability(self.center - self.models[0], self.expected[0] - level)

    def task(self, own: int = 1, foreign: int = 1) -> TwoPointMixture:
        """Return the task with clients of both clusters, where cluster 1 has no noise."""
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


def _error_and_variance(law: TwoPointLosses) -> tuple[Fraction, Fraction]:
    """Return the error probability and the variance of a distribution."""
    rare, common = law.noise
    reach = max(abs(model - law.center) for model in law.models)
    at_other, at_own = law.models
    return (
        law.probability(at_own - at_other, law.expected[0] - law.expected[1]),
        law.rarity * (1 - law.rarity) * (rare - common) ** 2 * reach**2,
    )


def tightest(samples: int = 1, **others: Fraction) -> TwoPointLosses:
    """Return the worst case of Cantelli's inequality: nearest models on the boundary, and the smallest harmful jump."""
    half = Fraction(1, 2)
    known = {"rarity": RARE, "reach": Fraction(1), "lever": half, "first": -half, "second": half}
    return TwoPointLosses(samples, **(known | others))
