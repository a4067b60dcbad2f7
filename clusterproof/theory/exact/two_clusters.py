"""The smallest task: two clusters of scalar quadratics, evaluated exactly and by runs.

Clients of cluster 1 have phi = (chi - 1)^2 / 2, those of cluster 2 phi = (chi + 1)^2 / 2, so that
mu = L = 1, Delta = 2, nothing is random, and all of the paper's assumptions hold for starts within
1/2. Model p obeys e' = (1 + beta - l_p) e - beta e(previous) with step 1 / L.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD, Trace, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import choice, integers, rationals
from clusterproof.theory.claims.confirm import confirm_equal


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

    The paper takes any lambda_0, ..., lambda_4 in (0, 1), and without noise no bound depends on them. So this is
    tails exp(-l m / 8) < 1, with c = 1/8 by Hoeffding's inequality, as in (A5). It is decided in exact arithmetic, on
    the safe side, by tails^8 < 2.718^(l m) < exp(l m).

    Parameters
    ----------
    tails
        Coefficient of exp(-c l m).
    smallest
        l m, the clients of the smallest cluster.
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


def two_cluster_task(clients: int, own: int) -> QuadraticMixture:
    """Return the task with ``own`` clients in cluster 1 and the others in cluster 2."""
    labels = np.repeat([0, 1], [own, clients - own])
    centers = np.where(labels == 0, 1.0, -1.0)[:, None]
    return QuadraticMixture(hessians=np.ones((clients, 1, 1)), centers=centers, labels=labels)


def run_two_clusters(clients: int, own: int, algorithm: CFLMGD, start: float, rounds: int) -> Trace:
    """Run from models at distance ``start`` from their optima, towards each other.

    Parameters
    ----------
    clients, own
        m and the size of cluster 1.
    algorithm
        CFL-MGD with any options.
    start
        |e_0|, below 1.
    rounds
        T.
    """
    initial = np.array([[1.0 - start], [-1.0 + start]])
    return run(algorithm, two_cluster_task(clients, own), rounds=rounds, initial=initial)


@dataclass(frozen=True)
class NoiseFreeRun:
    """A run of this task from models at distance ``start`` from their optima, evaluated in round ``round``."""

    clients: Annotated[int, integers(2, 10, upwards=True)]
    own: Annotated[int, integers(1, lambda clients: clients - 1)]
    momentum: Annotated[Fraction, rationals(Fraction(1, 10), Fraction(9, 10), 10)]
    start: Annotated[Fraction, choice(Fraction(1, 2), Fraction(1, 4), Fraction(1, 10))]
    round: Annotated[int, integers(1, 6)]

    @property
    def share(self) -> Fraction:
        """l_1."""
        return Fraction(self.own, self.clients)

    @cached_property
    def path(self) -> list[Fraction]:
        """Errors e_0 .. e_t of model 1, which are its gradients."""
        return exact_path(self.share, self.momentum, self.start, self.round)

    @property
    def buffer(self) -> Fraction:
        """sum_(k < t) beta^(t-1-k) e_k: the buffers of the cluster's clients."""
        return carried(self.path[: self.round], self.momentum)


@dataclass(frozen=True)
class LargeRun(NoiseFreeRun):
    """Such a run of up to 100 clients, for statements with a probability that few clients make negative."""

    clients: Annotated[int, integers(2, 100, upwards=True)]


def confirm_path(noise_free: NoiseFreeRun) -> None:
    """Run the algorithm and compare its errors with the exact path.

    Raises
    ------
    ArithmeticError
        If they differ.
    """
    algorithm = CFLMGD(step_size=1.0, momentum=float(noise_free.momentum), momentum_owner="client")
    trace = run_two_clusters(
        noise_free.clients, noise_free.own, algorithm, float(noise_free.start), noise_free.round
    )
    for t, expected in enumerate(noise_free.path):
        confirm_equal(f"error of round {t}", float(np.asarray(trace.errors)[t, 0]), abs(float(expected)))
