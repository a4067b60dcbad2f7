"""The division by m in (5) and (9)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, Stream, choice, claim, drawn, equal, reals, suppose
from clusterproof.theory.exact.rounding import share_of_largest


def equal_clusters(stream: np.random.Generator) -> QuadraticMixture:
    """Draw two to four clusters of three clients each."""
    clusters = int(stream.integers(2, 5))
    return QuadraticMixture.random(
        clusters=clusters,
        clients=3 * clusters,
        dimension=3,
        condition_number=5.0,
        seed=int(stream.integers(2**31)),
    )


@claim("cfl-mgd/division-by-clients", label="(5), (9)", evaluations=60)
def division_by_clients(
    task: Annotated[QuadraticMixture, drawn(equal_clusters)],
    momentum: Annotated[float, reals(0, Fraction(9, 10))],
    stream: Stream,
) -> Sides:
    """Dividing by all clients makes the step of cluster p equal to eta l_p.

    Hypotheses
        Option I, every client in its own cluster, no noise.

    Statement
        chi_p - (eta/m) sum_(i in C_p) g_i = chi_p - eta l_p grad phi_p(chi_p): the run with step eta divided by m is
        the run with step eta l_p divided by |C_p|. Without momentum the rounds to a given accuracy grow as 1 / l_p.

    Symbols
        l_p ``proportions``, m ``clients``; ``normalisation="clients"`` and ``"cluster"``.

    Source
        Zhao et al. (2023), (5), (9) and line 15; the paper calls eta = 1/L its step.
    """
    suppose("two clusters or more, of equal size", task.clusters > 1 and np.ptp(task.proportions) < 1e-12)
    initial = task.initial_models(task.clusters, (), stream)
    by_clients = CFLMGD(step_size=1.0, momentum=momentum)
    by_cluster = CFLMGD(step_size=1.0 / task.clusters, momentum=momentum, normalisation="cluster")
    traces = [run(algorithm, task, rounds=30, initial=initial) for algorithm in (by_clients, by_cluster)]
    suppose(
        "every client is in its own cluster",
        all((trace.assignments == task.labels).all() for trace in traces),
    )
    models = [trace.models for trace in traces]
    return equal((models[0], models[1]), rounding=share_of_largest(1e-10, models[0]))


CONDITION_NUMBER, TOLERANCE = 10.0, 1e-6


@lru_cache(maxsize=64)
def rounds_to_tolerance(clusters: int, normalisation: str, most: int) -> int:
    """Count the rounds without momentum until every error is at most 10^-6 of its start; ``most`` + 1 if later.

    The task has ``clusters`` equal clusters, and models start along the flattest direction.
    """
    spectrum = np.diag([1 / CONDITION_NUMBER, 1.0])
    centers = np.arange(clusters)[:, None] * np.array([0.0, 4.0])
    task = QuadraticMixture(
        hessians=np.broadcast_to(spectrum, (clusters, 2, 2)), centers=centers, labels=np.arange(clusters)
    )
    initial = task.optima + np.array([0.1, 0.0])
    algorithm = CFLMGD(step_size=1.0, momentum=0.0, normalisation=normalisation)
    errors = np.asarray(run(algorithm, task, rounds=most, initial=initial).errors).max(axis=-1)
    reached = errors <= TOLERANCE * errors[0]
    return int(np.argmax(reached)) if reached.any() else most + 1


@division_by_clients.step("rounds")
def rounds(
    clusters: Annotated[int, choice(2, 4, 10)], divided_by: Annotated[str, choice("clients", "cluster")]
) -> Sides:
    """(1 - eta l_p mu)^T reaches 10^-6 in log(10^-6) / log(1 - eta l_p mu) rounds; divided by |C_p|, with l_p = 1."""
    share = 1 / clusters if divided_by == "clients" else 1.0
    expected = math.ceil(math.log(TOLERANCE) / math.log(1 - share / CONDITION_NUMBER))
    needed = rounds_to_tolerance(clusters, divided_by, expected)
    words = (
        f"{needed} rounds to 10^-6 at kappa = 10 for P = {clusters}, divided by {divided_by}, not {expected}"
    )
    return equal((needed, expected), words=words)
