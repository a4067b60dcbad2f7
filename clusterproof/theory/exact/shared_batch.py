"""The gradient of a client that chose its model on the same batch, on a law with two values.

y is -1 or 1 with probability 1/2 each, f(chi; y) = (chi - y)^2 / 2, so that chi* = 0 and grad phi(chi) = chi.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Annotated

from clusterproof.theory.claims import integers, rationals


@dataclass(frozen=True)
class OneBatch:
    """A client that chooses between its own and another model on a batch of ``samples`` rows."""

    own: Annotated[Fraction, rationals(Fraction(-1, 2), Fraction(1, 2), 4)]
    other: Annotated[Fraction, rationals(1, 2, 4)]
    samples: Annotated[int, integers(1, 5)]

    @property
    def mean_gradient(self) -> Fraction | None:
        """Mean gradient given that the own model was chosen; None if it never is."""
        total, chosen = Fraction(0), 0
        for ones in range(self.samples + 1):
            mean = Fraction(2 * ones - self.samples, self.samples)
            # the loss is (chi - mean)^2 / 2 plus a constant that both models share
            if (self.own - mean) ** 2 <= (self.other - mean) ** 2:
                total += comb(self.samples, ones) * (self.own - mean)
                chosen += comb(self.samples, ones)
        return total / chosen if chosen else None
