"""The smallest task: two clusters of scalar quadratics, evaluated exactly.

Clients of cluster 1 have phi = (chi - 1)^2 / 2, and clients of cluster 2 phi = (chi + 1)^2 / 2, so that mu = L = 1 and
Delta = 2. Nothing is random, and all of the paper's assumptions hold for starts within 1/2. Model p obeys e' = (1 +
beta - l_p) e - beta e(previous) with step 1 / L.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce


def exact_path(curvature: Fraction, momentum: Fraction, start: Fraction, rounds: int) -> list[Fraction]:
    """Return errors e_0 .. e_T of heavy ball from rest, in rational arithmetic.

    Parameters
    ----------
    curvature
        a = step times eigenvalue.
    momentum, start
        beta and e_0.
    rounds
        T.
    """
    path = [start, (1 - curvature) * start]
    while len(path) <= rounds:
        path.append((1 + momentum - curvature) * path[-1] - momentum * path[-2])
    return path[: rounds + 1]


def has_positive_probability(tails: int, smallest: int) -> bool:
    """Return whether a printed probability 1 - lambda_0 - ... - tails exp(-c l m) is positive for some lambda_i.

    The paper takes any lambda_0, ..., lambda_4 in (0, 1), and without noise no bound depends on them. The condition is
    then tails exp(-l m / 8) < 1, with c = 1/8 by Hoeffding's inequality, as in (A5). It is decided in exact arithmetic,
    on the safe side, by tails^8 < 2.718^(l m) < exp(l m).

    Parameters
    ----------
    tails
        Coefficient of exp(-c l m).
    smallest
        l m, the number of clients in the smallest cluster.
    """
    return tails**8 < Fraction(2718, 1000) ** smallest


def carried(values: Sequence[Fraction], momentum: Fraction) -> Fraction:
    """Return sum_(k < t) beta^(t-1-k) v_k, the momentum buffer of values v_0 .. v_(t-1).

    Parameters
    ----------
    values
        v_0 .. v_(t-1).
    momentum
        beta.
    """
    return reduce(lambda buffer, value: momentum * buffer + value, values, Fraction(0))
