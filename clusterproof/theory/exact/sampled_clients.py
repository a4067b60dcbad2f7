"""Scalar clients with a few samples each, whose random orders are enumerated."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.theory.checker import choice, earlier, integers, rationals

PATTERNS = ("none", "all", "samples", "clients", "both")


@dataclass(frozen=True)
class SampledClients:
    """Losses f_m^i(x* + d) = a_mi d^2 / 2 + g_mi d of client m on its sample i; f is their mean, and x* minimises it.

    Attributes
    ----------
    clients, samples
        M and n.
    smoothness, low
        Largest and smallest curvature.
    steep
        Which curvatures are the largest: of no or all samples, of every second sample, of every second client, or
        where m + i is even.
    between
        Gradient at x* of even clients, minus that of odd ones: half of it.
    within
        Gradient at x* of even samples, minus that of odd ones: half of it.
    opposed
        Whether the samples' gradients of odd clients have the opposite sign.
    """

    clients: Annotated[int, integers(1, 3)]
    samples: Annotated[int, integers(1, 3)]
    smoothness: Annotated[Fraction, choice(Fraction(1), Fraction(2))]
    low: Annotated[Fraction, rationals(0, earlier("smoothness"), 10)]
    steep: Annotated[str, choice(*PATTERNS)]
    between: Annotated[Fraction, rationals(-2, 2, 2, upwards=True, downwards=True)]
    within: Annotated[Fraction, rationals(-2, 2, 2, upwards=True, downwards=True)]
    opposed: Annotated[bool, choice(False, True)]

    @property
    def curvatures(self) -> np.ndarray:
        """a_mi, (M, n)."""
        m, i = self._places
        steep = {"none": m < 0, "all": m >= 0, "samples": i % 2 == 0, "clients": m % 2 == 0}
        values = np.array([self.low, self.smoothness], dtype=object)
        return np.asarray(values[steep.get(self.steep, (m + i) % 2 == 0).astype(int)])

    @property
    def gradients(self) -> np.ndarray:
        """g_mi, (M, n), of mean 0."""
        m, i = self._places
        signs = (-1) ** (i + m) if self.opposed else (-1) ** i
        values = (-1) ** m * self.between + signs * self.within
        return np.asarray(values - values.sum() / Fraction(values.size))

    @property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """m and i, both (M, n), of a type that fractions multiply."""
        m, i = np.indices((self.clients, self.samples)).astype(object)
        return m, i

    def orders(self) -> list[tuple[int, ...]]:
        """All orders of the samples."""
        return list(itertools.permutations(range(self.samples)))

    def shuffling_radius(self, common: bool) -> Fraction:
        """sigma_rad^2: the largest mean Bregman distance from x* after some samples at x*, over gamma^2.

        All orders are equally likely: one for all clients, or one each.
        """
        each = itertools.product(self.orders(), repeat=self.clients)
        taken = [(order,) * self.clients for order in self.orders()] if common else list(each)
        every = np.arange(self.clients)
        totals = [Fraction(0)] * self.samples
        for orders in taken:
            moved = Fraction(0)
            for place in range(self.samples):
                samples = [order[place] for order in orders]
                totals[place] += average(self.curvatures[every, samples]) * moved**2 / 2
                moved += average(self.gradients[every, samples])
        return Fraction(max(totals) / len(taken))


def average(values: Iterable[Fraction]) -> Fraction:
    """Mean."""
    every = list(values)
    return sum(every, Fraction(0)) / len(every)
