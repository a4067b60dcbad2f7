"""Algebra of statements about vectors, sums and gradients, evaluated on numbers or symbols.

A statement about vectors that is linear in them holds if it does in each coordinate; one about a sum over clients,
if each client adds the same to both sides. Norms enter by their squares and inner products.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.synthetic import Mixture
from clusterproof.theory.claims import Sides, equal, rationals

Number = Annotated[Any, rationals(-2, 2, 2, upwards=True, downwards=True)]
"""Any number; a symbol where a statement about it is proved."""
NotNegative = Annotated[Any, rationals(0, 2, 2, upwards=True)]
Positive = Annotated[Any, rationals(Fraction(1, 2), 2, 2, upwards=True)]
"""Stands for any positive number where nothing divides by it, or where the unit is free."""
Share = Annotated[Any, rationals(0, 1, 4)]
AtLeastOne = Annotated[Any, rationals(1, 3, 2, upwards=True)]


def fraction(value: Any, low: Any = None, high: Any = None) -> Fraction:
    """Give the exact value of a number; what lies beyond an end, where only rounding leads, is moved to it.

    What is moved further makes other sides than the statement has.
    """
    exact = Fraction(value.item() if isinstance(value, np.generic) else value)
    exact = exact if low is None else max(exact, Fraction(low))
    return exact if high is None else min(exact, Fraction(high))


@dataclass(frozen=True)
class OwnTerm:
    """The part of a cluster's clients in a round, in one coordinate: error, mean and summed gradients, numbers."""

    error: Number
    slope: Number
    total: Number
    weight: Number
    count: Positive

    @classmethod
    def each(
        cls, errors: np.ndarray, slopes: np.ndarray, totals: np.ndarray, weight: float, counts: np.ndarray
    ) -> list[dict[str, Any]]:
        """Give the arguments of a proof for each coordinate of vectors (..., d), with counts (..., 1)."""
        columns = np.broadcast_arrays(errors, slopes, totals, weight, counts)
        rows = zip(*(column.ravel() for column in columns), strict=True)
        return [{"one": cls(*map(fraction, row))} for row in rows]

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

    @classmethod
    def each(
        cls, numbers: np.ndarray, members: np.ndarray, **others: np.ndarray
    ) -> list[list[dict[str, Any]]]:
        """Give the arguments of a proof for each coordinate: those of the clients that are summed over.

        Parameters
        ----------
        numbers
            (..., m, d).
        members
            (..., m).
        others
            Further quantities, broadcast to ``numbers``.
        """
        spread = {name: np.broadcast_to(other, numbers.shape) for name, other in others.items()}
        found = []
        for *place, coordinate in np.ndindex(*numbers.shape[:-2], numbers.shape[-1]):
            # nobody adds what a client who is not summed over does
            chosen = np.flatnonzero(members[*place])
            found.append(
                [
                    {"one": cls(fraction(numbers[*place, i, coordinate]), Fraction(chosen.size > 0))}
                    | {name: fraction(other[*place, i, coordinate]) for name, other in spread.items()}
                    for i in (chosen if chosen.size else [0])
                ]
            )
        return found

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

    @classmethod
    def each(cls, task: Mixture, offsets: np.ndarray, gradients: np.ndarray) -> list[DescentStep]:
        """Give those of gradients at offsets from their optima, both (..., d)."""
        mu, kappa = task.strong_convexity, task.condition_number
        length = (offsets**2).sum(axis=-1)
        square = (gradients**2).sum(axis=-1) / (mu**2 * length)
        inner = (offsets * gradients).sum(axis=-1) / (mu * length)
        slack = inner - (kappa + square) / (1 + kappa)
        rows = zip(square.ravel() - 1, slack.ravel(), strict=True)
        return [cls(fraction(kappa, 1), fraction(above, 0), fraction(more, 0)) for above, more in rows]

    def squared_distance(self, step: Any) -> Any:
        """||chi - chi* - h g||^2."""
        square = 1 + self.excess
        inner = (self.kappa + square) / (1 + self.kappa) + self.slack
        return 1 - 2 * step * inner + step**2 * square
