"""Scalar clients with two-valued samples: misclassification probabilities and counts, in rational arithmetic.

A client of cluster 2, chi*_2 = -1, has f(chi; y) = (chi - y)^2 / 2 with y = -1 + jump with probability ``rarity`` and y
= -1 - jump rarity / (1 - rarity) otherwise, so phi_2 = (chi + 1)^2 / 2 up to a constant. Cluster 1, chi*_1 = 1, has no
noise. Here mu = L = 1, Delta = 2, max ||chi*|| = 1, and the basin radius is 1/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, floor
from typing import Annotated

from clusterproof.checker.claims import choice, integers, rationals

Offset = Annotated[Fraction, rationals(Fraction(-1, 2), Fraction(1, 2), 4)]
"""Displacement of a model from its optimum, in the basin."""


@dataclass(frozen=True)
class TwoPointLaw:
    """A two-point distribution, and two models in the basin."""

    samples: Annotated[int, integers(1, 4)]
    rarity: Annotated[Fraction, choice(*(Fraction(1, k) for k in (2, 3, 10, 100, 1000)), Fraction(2, 3))]
    jump: Annotated[Fraction, rationals(Fraction(1, 4), 4, 4, upwards=True)]
    first: Offset
    second: Offset

    @property
    def values(self) -> tuple[Fraction, Fraction]:
        """The rare value and the common value of y."""
        return -1 + self.jump, -1 - self.jump * self.rarity / (1 - self.rarity)

    @property
    def models(self) -> tuple[Fraction, Fraction]:
        """The two models chi_1 and chi_2."""
        return 1 + self.first, -1 + self.second

    @property
    def least_rare(self) -> int:
        """Smallest number of rare samples among n' that leads to a wrong choice. In a tie, the smaller index wins."""
        rare, common = self.values
        return ceil(self.samples * (sum(self.models) / 2 - common) / (rare - common))

    @property
    def error_probability(self) -> Fraction:
        """The probability P(phi_i(chi_2) >= phi_i(chi_1)) for a client of cluster 2."""
        return binomial_upper_tail(self.samples, self.rarity, self.least_rare - 1)

    @property
    def loss_variance(self) -> Fraction:
        """The larger of the variances of f(chi; y) at both models, sigma^2."""
        rare, common = self.values
        lever = max(abs(chi - (rare + common) / 2) for chi in self.models)
        return self.rarity * (1 - self.rarity) * (rare - common) ** 2 * lever**2

    @property
    def needed_samples(self) -> Fraction:
        """The bound (P - 1) sigma^2 / (mu^2 Delta^4)."""
        return self.loss_variance / 16


def binomial_upper_tail(count: int, probability: Fraction, threshold: Fraction | int) -> Fraction:
    """Return the exact probability P(Bin(count, probability) > threshold)."""
    return sum(
        (
            comb(count, k) * probability**k * (1 - probability) ** (count - k)
            for k in range(max(0, floor(threshold) + 1), count + 1)
        ),
        Fraction(0),
    )
