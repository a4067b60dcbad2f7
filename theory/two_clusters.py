"""The smallest task there is: two clusters of scalar quadratics, evaluated exactly and by running.

Clients of cluster 1 have phi = (chi - 1)^2 / 2, those of cluster 2 phi = (chi + 1)^2 / 2, so that
mu = L = 1, Delta = 2, nothing is random, and all of the paper's assumptions hold for starts within
1/2. Model p obeys e' = (1 + beta - l_p) e - beta e(previous) with step 1 / L.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import CFLMGD, Trace, run
from synthetic import QuadraticMixture
from theory.counterexample import Instance, confirm_equal


def exact_path(curvature: Fraction, momentum: Fraction, start: Fraction, rounds: int) -> list[Fraction]:
    """Errors e_0 .. e_T of heavy ball from rest, in rational arithmetic.

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


def two_cluster_task(clients: int, own: int) -> QuadraticMixture:
    """Give the task with ``own`` clients in cluster 1 and the others in cluster 2."""
    labels = np.repeat([0, 1], [own, clients - own])
    centers = np.where(labels == 0, 1.0, -1.0)[:, None]
    return QuadraticMixture(hessians=np.ones((clients, 1, 1)), centers=centers, labels=labels)


def run_two_clusters(clients: int, own: int, algorithm: CFLMGD, start: float, rounds: int) -> Trace:
    """Run from models that stand ``start`` from their optima, towards each other.

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


def path_instances() -> Any:
    """Give a hypothesis strategy: up to 10 clients and 6 rounds, momentum up to 0.9, starts in the basin."""
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "clients": st.integers(2, 10),
            "own": st.integers(1, 9),
            "momentum": st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=10),
            "start": st.sampled_from([Fraction(1, 2), Fraction(1, 4), Fraction(1, 10)]),
            "round": st.integers(1, 6),
        }
    )
    return instances.filter(lambda instance: instance["own"] < instance["clients"])


def confirm_path(instance: Instance, _measured: float) -> None:
    """Run the algorithm on an instance and compare its errors with the exact path.

    Raises
    ------
    ArithmeticError
        If they differ.
    """
    clients, own, rounds = int(instance["clients"]), int(instance["own"]), int(instance["round"])
    momentum, start = Fraction(instance["momentum"]), Fraction(instance["start"])
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum), momentum_owner="client")
    errors = run_two_clusters(clients, own, algorithm, float(start), rounds).errors
    for t, expected in enumerate(exact_path(Fraction(own, clients), momentum, start, rounds)):
        confirm_equal(f"error of round {t}", float(np.asarray(errors)[t, 0]), abs(float(expected)))
