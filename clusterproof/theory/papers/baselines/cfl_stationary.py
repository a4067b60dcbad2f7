"""CFL: the cosines of the clients' updates at a stationary point of the pooled model."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Annotated

import numpy as np

from clusterproof.algorithms import FedAvg
from clusterproof.algorithms.bipartition import cosine_similarities
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, Stream, claim, equal, integers, reals, suppose
from clusterproof.theory.papers.baselines.resting import rest, start_of

Step = Annotated[float, reals(Fraction(3, 10), 1)]
"""Step size in units of 1 / L, for L = 1."""
LocalSteps = Annotated[int, integers(1, 3)]


def stationary_cosines(task: QuadraticMixture, step: float, local_steps: int) -> np.ndarray:
    """Run FedAvg to rest and return the cosines of the clients' next updates, (m, m)."""
    algorithm = FedAvg(step_size=step, local_steps=local_steps)
    model = np.array(rest(algorithm, task, start_of(task, 1)).models)[0]
    clients, stream = np.arange(task.clients), np.random.default_rng(0)
    points = np.broadcast_to(model, task.centers.shape)
    for _ in range(local_steps):
        points = points - step * task.gradients(points, clients, stream)
    return cosine_similarities(points - model)


def simplex(clusters: int) -> np.ndarray:
    """Vertices of a regular simplex around 0, (K, K)."""
    return np.asarray(np.eye(clusters) - 1 / clusters)


@claim("cfl/stationary-cosine", label="stationary point, simplex", judges="ours", evaluations=50)
def stationary_cosine(
    clusters: Annotated[int, integers(2, 6)],
    members: Annotated[int, integers(1, 3)],
    size: Annotated[float, reals(Fraction(1, 2), 3)],
    curvature: Annotated[float, reals(Fraction(1, 5), 1)],
    step_size: Step,
    local_steps: LocalSteps,
    stream: Stream,
) -> Sides:
    """At a stationary point, K clusters on a regular simplex have cross-cluster cosine -1 / (K - 1).

    Hypotheses
        Clusters of equal size whose minimisers are the vertices of a regular simplex; every client has the
        Hessian a I and its cluster's minimiser; FedAvg at rest.

    Statement
        cos(Delta w_i, Delta w_j) = -1 / (K - 1) for clients of different clusters, 1 inside a cluster: every
        cut along clusters has the same largest similarity.

    Symbols
        Delta w_i the client's update, K the number of clusters.

    Source
        Ours; the setting is that of CFL, Sattler et al. (2020). Identity: the updates are multiples of b_c -
        mean b, whose sum is 0.
    """
    rotation = np.linalg.qr(stream.standard_normal((clusters, clusters)))[0]
    optima = size * simplex(clusters) @ rotation + stream.standard_normal(clusters)
    labels = np.repeat(np.arange(clusters), members)
    task = QuadraticMixture(
        hessians=np.broadcast_to(curvature * np.eye(clusters), (len(labels), clusters, clusters)),
        centers=optima[labels],
        labels=labels,
    )
    expected = np.where(labels[:, None] == labels, 1.0, -1 / (clusters - 1))
    return equal((stationary_cosines(task, step_size, local_steps), expected), rounding=1e-10)


@claim("cfl/two-clusters", label="stationary point, K = 2", judges="ours", evaluations=50)
def two_clusters(
    first: Annotated[int, integers(1, 4)],
    second: Annotated[int, integers(1, 4)],
    dimension: Annotated[int, integers(1, 4)],
    step_size: Step,
    local_steps: LocalSteps,
    stream: Stream,
) -> Sides:
    """At a stationary point two clusters pull in exactly opposite directions.

    Hypotheses
        Two clusters of any sizes and minimisers; all clients have one Hessian A, any; FedAvg at rest.

    Statement
        The cosine of two updates is -1 across the clusters and 1 inside.

    Source
        Ours; the setting is that of CFL, Sattler et al. (2020). Identity: n_1 g_1 + n_2 g_2 = 0.
    """
    labels = np.repeat([0, 1], [first, second])
    rotation = np.linalg.qr(stream.standard_normal((dimension, dimension)))[0]
    hessian = rotation @ np.diag(stream.uniform(0.2, 1, dimension)) @ rotation.T
    task = QuadraticMixture(
        hessians=np.broadcast_to((hessian + hessian.T) / 2, (len(labels), dimension, dimension)),
        centers=stream.standard_normal((2, dimension))[labels],
        labels=labels,
    )
    expected = np.where(labels[:, None] == labels, 1.0, -1.0)
    return equal((stationary_cosines(task, step_size, local_steps), expected), rounding=1e-10)


Minimiser = Annotated[int, integers(-4, 4, upwards=True, downwards=True)]


def pulls(minimisers: Sequence[int]) -> list[Fraction]:
    """Return the updates of clients with curvature 1 at FedAvg's fixed point, up to a factor."""
    return [point - Fraction(sum(minimisers), len(minimisers)) for point in minimisers]


def run_to_rest(minimiser_0: Minimiser, minimiser_1: Minimiser, minimiser_2: Minimiser) -> float:
    """Return the largest distance of a cosine across clusters from -1/2, at the end of a run."""
    centers = np.array([[float(minimiser_0)], [float(minimiser_1)], [float(minimiser_2)]])
    task = QuadraticMixture(hessians=np.ones((3, 1, 1)), centers=centers, labels=np.arange(3))
    return float(np.abs(stationary_cosines(task, 0.5, 1)[np.triu_indices(3, 1)] + 0.5).max())


@claim(
    "cfl/stationary-cosine-anywhere",
    label="stationary point, any minimisers",
    judges="ours",
    confirm=run_to_rest,
    repaired_by="cfl/stationary-cosine",
)
def stationary_cosine_anywhere(
    minimiser_0: Minimiser, minimiser_1: Minimiser, minimiser_2: Minimiser
) -> Sides:
    """At a stationary point the cross-cluster cosine is -1 / (K - 1), wherever the clusters lie.

    Hypotheses
        As ``cfl/stationary-cosine`` without the simplex: three clusters of one client each.

    Statement
        cos(Delta w_i, Delta w_j) = -1 / (K - 1) for clients of different clusters.

    Source
        Ours: an expectation that no source prints. The value is that of a regular simplex. The sum of
        the updates is 0 in general, and for K = 3 that allows a cosine of 1.
    """
    updates = pulls((minimiser_0, minimiser_1, minimiser_2))
    suppose("the clusters have minimisers of their own", len(set(updates)) == len(updates))
    suppose("no update is 0", all(updates))
    cosines = (1 if update * other > 0 else -1 for update, other in combinations(updates, 2))
    return equal(*((cosine, Fraction(-1, len(updates) - 1)) for cosine in cosines))
