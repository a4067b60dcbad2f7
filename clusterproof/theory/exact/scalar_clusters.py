"""Runs on the smallest tasks, in exact arithmetic: two clusters of scalar clients, and one of identical clients.

With two clusters, clients of cluster 1 have phi = (chi - 1)^2 / 2, and clients of cluster 2 have phi = (chi + 1)^2 /
2. So mu = L = 1 and Delta = 2. Nothing is random, and all assumptions of the paper hold if initial errors are at most
1/2. With the step size 1 / L, model p satisfies e' = (1 + beta - l_p) e - beta e(previous).

Identical clients under option II with one local step all have the same models, the iterates of the heavy-ball method.
So the paper's chi_i have the same values before and after averaging. A counterexample refutes a claim for both
meanings of chi_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Annotated

from clusterproof.checker.claims import choice, integers, rationals


def exact_path(curvature: Fraction, momentum: Fraction, start: Fraction, rounds: int) -> list[Fraction]:
    """Return the errors e_0 .. e_T of the heavy-ball method without initial momentum, in rational arithmetic.

    Parameters
    ----------
    curvature
        Product a = step * eigenvalue.
    momentum, start
        Momentum beta, and initial error e_0.
    rounds
        Number of rounds T.
    """
    path = [start, (1 - curvature) * start]
    while len(path) <= rounds:
        path.append((1 + momentum - curvature) * path[-1] - momentum * path[-2])
    return path[: rounds + 1]


def has_positive_probability(tails: int, smallest: int) -> bool:
    """Return whether the probability 1 - lambda_0 - ... - tails exp(-c l m) in the paper is positive for some lambda_i.

    The paper allows any lambda_0, ..., lambda_4 in (0, 1), and without noise no bound depends on them. The condition
    is then tails exp(-l m / 8) < 1, with c = 1/8 by Hoeffding's inequality, as in (A5). The function checks the
    sufficient condition tails^8 < 2.718^(l m) < exp(l m) in exact arithmetic.

    Parameters
    ----------
    tails
        Coefficient of exp(-c l m).
    smallest
        Number of clients in the smallest cluster, l m.
    """
    return tails**8 < Fraction(2718, 1000) ** smallest


def carried(values: Sequence[Fraction], momentum: Fraction) -> Fraction:
    """Return sum_(k < t) beta^(t-1-k) v_k, the momentum buffer of values v_0 .. v_(t-1).

    Parameters
    ----------
    values
        v_0 .. v_(t-1).
    momentum
        Momentum beta.
    """
    return reduce(lambda buffer, value: momentum * buffer + value, values, Fraction(0))


LAST = 8
"""Number of rounds in a path."""
Round = Annotated[int, integers(0, 6)]
STARTS = tuple(Fraction(*ratio) for ratio in ((1, 2), (1, 1), (2, 1), (10, 1), (1, 4), (1, 10), (1, 100)))


@dataclass(frozen=True)
class IdenticalClients:
    """A run of N clients with phi = a (chi - chi*)^2 / 2 in one cluster, with eta = 1, in rational arithmetic.

    Attributes
    ----------
    clients, curvature, momentum
        |C_p| = N, eta L = a in (0, 1], and beta.
    start
        Initial error e_0 = chi_p^0 - chi*_p.
    """

    clients: Annotated[int, integers(1, 4, upwards=True)]
    curvature: Annotated[Fraction, rationals(Fraction(1, 100), 1, 5)]
    momentum: Annotated[Fraction, rationals(0, Fraction(9, 10), 4)]
    start: Annotated[Fraction, choice(*STARTS)]

    @property
    def path(self) -> tuple[Fraction, ...]:
        """The errors e_0, e_1, ... of the model in each round."""
        return tuple(exact_path(self.curvature, self.momentum, self.start, LAST))

    def error(self, t: int) -> Fraction:
        """Return e_t = chi_p^t - chi*_p, or e_0 for t < 0."""
        return self.path[max(t, 0)]

    def move(self, t: int) -> Fraction:
        """Return the change chi^t - chi^(t-1) of the model."""
        return self.error(t) - self.error(t - 1)

    @property
    def growth(self) -> Fraction:
        """The number 1 + eta L / |C_p| in the definition of M."""
        return 1 + self.curvature / self.clients

    @property
    def weight(self) -> Fraction:
        """Return beta (1 + beta)."""
        return self.momentum * (1 + self.momentum)

    @property
    def base(self) -> Fraction:
        """Return M = max(1 + eta L / |C_p|, beta (1 + beta))."""
        return max(self.growth, self.weight)

    def ratio(self, t: int) -> Fraction:
        """Return the quotient eps_t^2 / eps_(t-1)^2 of the squared errors."""
        return self.error(t) ** 2 / self.error(t - 1) ** 2
