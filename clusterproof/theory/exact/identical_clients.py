"""Identical clients under option II with one local step: one exact heavy-ball path.

Every reading of the paper's chi_i, before or after averaging, then has the same path: a path that breaks a claim breaks
it in every reading.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated

from clusterproof.checker.claims import choice, integers, rationals
from clusterproof.theory.exact.two_clusters import exact_path

LAST = 8
"""Number of rounds of a path."""
Round = Annotated[int, integers(0, 6)]
STARTS = tuple(Fraction(*ratio) for ratio in ((1, 2), (1, 1), (2, 1), (10, 1), (1, 4), (1, 10), (1, 100)))


@dataclass(frozen=True)
class IdenticalClients:
    """N clients phi = a (chi - chi*)^2 / 2 in one cluster, eta = 1, from rest, in rational arithmetic.

    Attributes
    ----------
    clients, curvature, momentum
        |C_p| = N, eta L = a in (0, 1], beta.
    start
        e_0 = chi_p^0 - chi*_p.
    """

    clients: Annotated[int, integers(1, 4, upwards=True)]
    curvature: Annotated[Fraction, rationals(Fraction(1, 100), 1, 5)]
    momentum: Annotated[Fraction, rationals(0, Fraction(9, 10), 4)]
    start: Annotated[Fraction, choice(*STARTS)]

    @cached_property
    def path(self) -> tuple[Fraction, ...]:
        """Errors e_0, e_1, ..."""
        return tuple(exact_path(self.curvature, self.momentum, self.start, LAST))

    def error(self, t: int) -> Fraction:
        """Return e_t = chi_p^t - chi*_p; for t < 0 return the start."""
        return self.path[max(t, 0)]

    def move(self, t: int) -> Fraction:
        """Return chi^t - chi^(t-1)."""
        return self.error(t) - self.error(t - 1)

    @property
    def growth(self) -> Fraction:
        """1 + eta L / |C_p|."""
        return 1 + self.curvature / self.clients

    @property
    def weight(self) -> Fraction:
        """beta (1 + beta)."""
        return self.momentum * (1 + self.momentum)

    @property
    def base(self) -> Fraction:
        """M = max(1 + eta L / |C_p|, beta (1 + beta))."""
        return max(self.growth, self.weight)

    def ratio(self, t: int) -> Fraction:
        """Return eps_t^2 / eps_(t-1)^2."""
        return self.error(t) ** 2 / self.error(t - 1) ** 2
