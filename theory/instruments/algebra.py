"""Algebra behind statements about vectors, sums and gradients, on numbers: what proofs on symbols evaluate.

A statement about vectors that is linear in them holds if it does in each coordinate; one about a sum over clients,
if each client adds the same to both sides. Norms enter by their squares and inner products.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.statement import Sides, choice, equal, rationals, suppose

Number = Annotated[Fraction, rationals(-2, 2, 2, upwards=True, downwards=True)]
"""Any number."""
NotNegative = Annotated[Fraction, rationals(0, 2, 2, upwards=True)]
Positive = Annotated[Fraction, rationals(Fraction(1, 2), 2, 2, upwards=True)]
"""Stands for any positive number where nothing divides by it, or where the unit is free."""
Share = Annotated[Fraction, rationals(0, 1, 4)]
AtLeastOne = Annotated[Fraction, rationals(1, 3, 2, upwards=True)]
Where = Annotated[str, choice("own", "foreign", "elsewhere")]
"""Whether a client is one of the model's cluster's own, an intruder, or chose another model."""


@dataclass(frozen=True)
class OwnTerm:
    """The own clients' part of a round, in one coordinate: error, mean gradient, their summed gradients, numbers."""

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
class SplitSum:
    """Three clients with a number each, and where they are."""

    first: Number
    second: Number
    third: Number
    mean: Number
    where_first: Where
    where_second: Where
    where_third: Where

    def over(self, *places: str) -> list[Any]:
        """The numbers of the clients that are there."""
        numbers = (self.first, self.second, self.third)
        found = zip(numbers, (self.where_first, self.where_second, self.where_third), strict=True)
        return [number for number, where in found if where in places]

    def of_parts(self) -> Sides:
        """Conclude that the sum over a model's clients is that over own ones plus that over intruders."""
        whole = sum(self.over("own", "foreign"), Fraction(0))
        return equal((whole, sum(self.over("own"), Fraction(0)) + sum(self.over("foreign"), Fraction(0))))

    def of_deviations(self, place: str) -> Sides:
        """Conclude that a sum is that of the distances from a number, plus their count times the number."""
        numbers = self.over(place)
        apart = sum((number - self.mean for number in numbers), Fraction(0))
        return equal((sum(numbers, Fraction(0)), apart + len(numbers) * self.mean))


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


@dataclass(frozen=True)
class BasinPair:
    """An own and another model of the basin: Delta = 1, mu = 1, L = root^2.

    Attributes
    ----------
    root
        sqrt(kappa).
    own, other
        Their distances from their own optima, in basin radii.
    beyond
        Of the other model's distance from the client's optimum above Delta less its own distance: the
        triangle inequality makes it nonnegative.
    """

    root: AtLeastOne
    own: Share
    other: Share
    beyond: NotNegative

    @property
    def own_cost(self) -> Any:
        """(L / 2) times the squared distance of the own model, the most that it costs."""
        return self.root**2 * (self.own / (4 * self.root)) ** 2 / 2

    @property
    def other_cost(self) -> Any:
        """(mu / 2) times the squared distance of the other model, the least that it costs."""
        return (1 - self.other / (4 * self.root) + self.beyond) ** 2 / 2


@dataclass(frozen=True)
class TwoBatches:
    """A client that chooses on one of three batches, by any rule, and then draws the gradient from another one.

    Attributes
    ----------
    first, second, third
        Weights of the batches, whose shares of the sum are their probabilities.
    chosen_first, chosen_second, chosen_third
        Probability that the client chooses the model on each; a rule that draws nothing has 0 or 1.
    slope_first, slope_second, slope_third
        The gradient at the model on each.
    """

    first: Positive
    second: NotNegative
    third: NotNegative
    chosen_first: Share
    chosen_second: Share
    chosen_third: Share
    slope_first: Number
    slope_second: Number
    slope_third: Number

    def resampled(self) -> Sides:
        """Conclude that the gradient's mean over the clients that chose the model is that over all.

        The sum over the nine pairs of batches is written out: that it factorises is what is to be shown.
        """
        weights = (self.first, self.second, self.third)
        choices = (self.chosen_first, self.chosen_second, self.chosen_third)
        slopes = (self.slope_first, self.slope_second, self.slope_third)
        suppose(
            "the model is chosen on some batch", sum(w * c for w, c in zip(weights, choices, strict=True)) > 0
        )
        pairs = [
            (w * u * c, g)
            for w, c in zip(weights, choices, strict=True)
            for u, g in zip(weights, slopes, strict=True)
        ]
        given = sum(weight * slope for weight, slope in pairs) / sum(weight for weight, _ in pairs)
        mean = sum(w * g for w, g in zip(weights, slopes, strict=True)) / sum(weights)
        return equal((given, mean))
