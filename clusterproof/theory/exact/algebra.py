"""Algebra of statements about vectors, sums and gradients, evaluated on numbers or symbols.

A statement about vectors that is linear in them holds if it does in each coordinate; one about a sum over clients,
if each client adds the same to both sides. Norms enter by their squares and inner products.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.claims import Sides, equal, rationals

Number = Annotated[Any, rationals(-2, 2, 2, upwards=True, downwards=True)]
"""Any number; a symbol where a statement about it is proved."""
NotNegative = Annotated[Any, rationals(0, 2, 2, upwards=True)]
Positive = Annotated[Any, rationals(Fraction(1, 2), 2, 2, upwards=True)]
"""Stands for any positive number where nothing divides by it, or where the unit is free."""
Share = Annotated[Any, rationals(0, 1, 4)]
AtLeastOne = Annotated[Any, rationals(1, 3, 2, upwards=True)]


@dataclass(frozen=True)
class OwnTerm:
    """The part of a cluster's clients in a round, in one coordinate: error, mean and summed gradients, numbers."""

    error: Number
    slope: Number
    total: Number
    weight: Number
    count: Positive

    def split(self) -> Sides:
        """Conclude that the step is one of exact descent plus averaged noise, h = weight times count."""
        step = self.weight * self.count
        exact = self.error - step * self.slope
        noise = step * (self.slope - self.total / self.count)
        return equal((self.error - self.weight * self.total, exact + noise))


@dataclass(frozen=True)
class Client:
    """A client in a sum over clients, in one coordinate: a statement about the sum adds up what holds for each.

    Attributes
    ----------
    number
        What is summed.
    member
        1 where the client is summed over, else 0.
    """

    number: Number
    member: Share

    def of_parts(self, is_own: Any) -> Sides:
        """Conclude that a term is that of an own client plus that of a false member."""
        own, foreign = self.member * is_own, self.member * (1 - is_own)
        return equal((self.member * self.number, own * self.number + foreign * self.number))

    def of_deviations(self, mean: Any) -> Sides:
        """Conclude that a term is its distance from a number, plus the number times one, or none."""
        apart = self.member * (self.number - mean)
        return equal((self.member * self.number, apart + self.member * mean))


@dataclass(frozen=True)
class DescentStep:
    """One gradient step from distance 1, in units of mu = 1 and L = kappa.

    Attributes
    ----------
    kappa
        L.
    excess
        ||g||^2 - mu^2: strong convexity makes it nonnegative.
    slack
        Of the inner product g . (chi - chi*) above (mu L + ||g||^2) / (mu + L), its least value for functions
        that are L-smooth and mu-strongly convex (Nesterov 2004, Theorem 2.1.12).
    """

    kappa: AtLeastOne
    excess: NotNegative
    slack: NotNegative

    def squared_distance(self, step: Any) -> Any:
        """||chi - chi* - h g||^2."""
        square = 1 + self.excess
        inner = (self.kappa + square) / (1 + self.kappa) + self.slack
        return 1 - 2 * step * inner + step**2 * square
