"""Exact computation of FPFC on scalar clients with losses (w - b)^2 / 2. All clients take part in every round."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from clusterproof.checker.claims import suppose
from clusterproof.methods.exact import exact_clients, mean
from clusterproof.methods.pairs import Pairs, fpfc, shrinkage

STRENGTH, CONCAVITY = Fraction(3, 5), Fraction(37, 10)
"""The parameters lambda and a of SCAD."""
WEAK_CONVEXITY = Fraction(1, 1000)
"""The constant L_- of convex losses, which may be any positive number."""
DIGITS = 10**20
"""Reciprocal of the width of the interval that contains a root."""


@dataclass(frozen=True)
class ScalarSetting:
    """A setting of Theorem 1 with L_f = 1 and the largest step size that it allows.

    Attributes
    ----------
    augmentation, smoothing, local_steps
        rho, xi and T.
    """

    augmentation: Any
    smoothing: Any
    local_steps: Any

    @property
    def step_size(self) -> Any:
        """The step size alpha = 1 / (L_f + 2 rho - L_-)."""
        return 1 / (1 + 2 * self.augmentation - WEAK_CONVEXITY)

    @property
    def lipschitz(self) -> Any:
        """The smoothness L_g = max(lambda / xi, 1 / (a - 1)) of the penalty."""
        return max(STRENGTH / self.smoothing, 1 / (CONCAVITY - 1))

    @property
    def second_denominator(self) -> Any:
        """The number rho^2 - L_g rho - 2 L_g^2."""
        rho, lipschitz = self.augmentation, self.lipschitz
        return rho**2 - lipschitz * rho - 2 * lipschitz**2

    @property
    def squared_power(self) -> Any:
        """The number c^T, the square of q."""
        convexity, smoothness = self.augmentation - WEAK_CONVEXITY, 1 + self.augmentation
        contraction = 1 - 2 * self.step_size * convexity * smoothness / (smoothness + convexity)
        return contraction**self.local_steps

    @property
    def power(self) -> tuple[Any, Any]:
        """A lower and an upper bound on q = c^(T/2)."""
        low = Fraction(math.isqrt(math.floor(self.squared_power * DIGITS**2)), DIGITS)
        return low, low + Fraction(1, DIGITS)

    def suppose_the_printed(self) -> None:
        """Suppose the hypotheses of Theorem 1 on rho and T, for both bounds on q."""
        rho, (_, high) = self.augmentation, self.power
        suppose("rho > 2 lambda / xi", rho > 2 * STRENGTH / self.smoothing)
        suppose("rho > 2 / (a - 1)", rho > 2 / (CONCAVITY - 1))
        suppose("q < 1/2", 4 * self.squared_power < 1)
        suppose("rho > L_f / (1 - 2q)", rho * (1 - 2 * high) > 1)

    def first_denominator(self, inexactness: Any) -> Any:
        """Return rho - L_f - 2 r L_h with r = ``inexactness``."""
        return self.augmentation - 1 - 2 * inexactness * (1 + self.augmentation)

    def most_of_first(self, low: Any, high: Any) -> Any:
        """Return an upper bound on C_1 for p = 1 and r between ``low`` and ``high``.

        The first denominator must not change its sign between both ends.
        """
        rho, denominator = self.augmentation, self.first_denominator(high)
        inexactness = high if denominator > 0 else low
        inexact = 6 * ((inexactness * (1 + rho)) ** 2 + rho**2) / denominator
        return inexact + 12 * rho**3 / self.second_denominator

    def shrink(self, delta: Any) -> Any:
        """Return the proximal point of a difference for the smoothed SCAD divided by rho."""
        return shrinkage(abs(delta), STRENGTH, CONCAVITY, self.smoothing, self.augmentation) * delta

    def mean_squared_gradient(self, minimisers: Sequence[Any], start: Any, rounds: int) -> Any:
        """Return the mean over rounds of ||grad_w L_0||^2 for clients with a common initial model."""
        count = len(minimisers)

        def gradient_of(minimiser: Any) -> Callable[[Any], Any]:
            return lambda w: w - minimiser

        gradients = [gradient_of(minimiser) for minimiser in minimisers]
        clients = exact_clients(gradients, [self.local_steps] * count)
        models: Sequence[Any] = [start] * count
        theta: Pairs = [[Fraction(0)] * count for _ in range(count)]
        dual, total = theta, Fraction(0)
        for _ in range(rounds):
            models, theta, dual = fpfc(
                clients,
                models,
                theta,
                dual,
                step_size=self.step_size,
                augmentation=self.augmentation,
                shrink=self.shrink,
                participants=range(count),
            )
            found = [g(w) + mean(duals) for g, w, duals in zip(gradients, models, dual, strict=True)]
            total += sum(gradient**2 for gradient in found)
        return total / rounds

    def least_squared_difference(self, clients: Any, rounds: Any) -> Any:
        """Return a lower bound of the mean of E (w_i - w_j)^2, for minimisers 1 and -1 and one participant per round.

        No pair is ever updated: theta = v = 0. All participants get the mean of the models, which does not change the
        difference. The bound is the square of E (w_i - w_j), rounded down.
        """
        moves = (1 - (1 - self.step_size * (1 + self.augmentation)) ** self.local_steps) / clients
        keeps, gains = rounded_down(1 - moves), rounded_down(2 * moves / (1 + self.augmentation))
        difference = total = Fraction(0)
        for _ in range(rounds):
            difference = rounded_down(keeps * difference + gains)
            total += difference**2
        return total / rounds


def rounded_down(number: Any) -> Fraction:
    """Return the largest fraction with 20 digits that is at most a number."""
    return Fraction(math.floor(number * DIGITS), DIGITS)
