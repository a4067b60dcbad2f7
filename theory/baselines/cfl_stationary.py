"""CFL: the cosines of the clients' updates at a stationary point of the pooled model."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from algorithms import FedAvg
from algorithms.bipartition import cosine_similarities
from synthetic import QuadraticMixture
from theory.baselines.resting import rest, start_of
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.identities import judge_largest
from theory.verdict import Finding

CLUSTERS = 3


def stationary_cosines(task: QuadraticMixture, step: float, local_steps: int) -> np.ndarray:
    """Run FedAvg to rest and give the cosines of the clients' next updates, (m, m)."""
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


def distance_from_simplex(stream: np.random.Generator) -> float:
    """Largest distance of a cosine from -1 / (K - 1) across clusters, from 1 inside."""
    clusters, members = int(stream.integers(2, 7)), int(stream.integers(1, 4))
    turn = np.linalg.qr(stream.standard_normal((clusters, clusters)))[0]
    optima = float(stream.uniform(0.5, 3)) * simplex(clusters) @ turn + stream.standard_normal(clusters)
    labels = np.repeat(np.arange(clusters), members)
    task = QuadraticMixture(
        hessians=np.broadcast_to(
            float(stream.uniform(0.2, 1)) * np.eye(clusters), (len(labels), clusters, clusters)
        ),
        centers=optima[labels],
        labels=labels,
    )
    found = stationary_cosines(task, float(stream.uniform(0.3, 1)), int(stream.integers(1, 4)))
    expected = np.where(labels[:, None] == labels, 1.0, -1 / (clusters - 1))
    return float(np.abs(found - expected).max())


@register("cfl/stationary-cosine", label="stationary point, simplex (ours)", kind="identity")
def stationary_cosine(context: Context) -> Finding:
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

    Checked
        FedAvg run to rest on random rotated simplices with 2 to 6 clusters, 1 to 3 local steps, all pairs
        of updates, to 1e-10.
    """
    return judge_largest(context, distance_from_simplex, "distance of a cosine from -1 / (K - 1)", trials=50)


def distance_from_opposite(stream: np.random.Generator) -> float:
    """Largest distance of a cosine from -1 across two clusters, from 1 inside."""
    dimension, sizes = int(stream.integers(1, 5)), stream.integers(1, 5, 2)
    labels = np.repeat([0, 1], sizes)
    turn = np.linalg.qr(stream.standard_normal((dimension, dimension)))[0]
    hessian = turn @ np.diag(stream.uniform(0.2, 1, dimension)) @ turn.T
    task = QuadraticMixture(
        hessians=np.broadcast_to((hessian + hessian.T) / 2, (len(labels), dimension, dimension)),
        centers=stream.standard_normal((2, dimension))[labels],
        labels=labels,
    )
    found = stationary_cosines(task, float(stream.uniform(0.3, 1)), int(stream.integers(1, 4)))
    return float(np.abs(found - np.where(labels[:, None] == labels, 1.0, -1.0)).max())


@register("cfl/two-clusters", label="stationary point, K = 2 (ours)", kind="identity")
def two_clusters(context: Context) -> Finding:
    """At a stationary point two clusters pull in exactly opposite directions.

    Hypotheses
        Two clusters of any sizes and minimisers; all clients have one Hessian A, any; FedAvg at rest.

    Statement
        The cosine of two updates is -1 across the clusters and 1 inside.

    Symbols
        As ``cfl/stationary-cosine``, which it extends to unequal sizes for K = 2.

    Source
        Ours; the setting is that of CFL, Sattler et al. (2020). Identity: n_1 g_1 + n_2 g_2 = 0.

    Checked
        FedAvg run to rest on random tasks of up to 8 clients in up to 4 dimensions, to 1e-10.
    """
    return judge_largest(context, distance_from_opposite, "distance of a cosine from -1 or 1", trials=50)


def minimisers(instance: Instance) -> list[Fraction]:
    """One client a cluster, in one dimension."""
    return [Fraction(instance[f"minimiser_{k}"]) for k in range(CLUSTERS)]


def missed(instance: Instance) -> tuple[Number, Number]:
    """Largest distance of a cosine across clusters from -1 / (K - 1), and 0."""
    points = minimisers(instance)
    pulls = [point - sum(points) / CLUSTERS for point in points]
    if not all(pulls) or len(set(points)) < CLUSTERS:
        return 0, 0
    return max(
        abs((1 if one * other > 0 else -1) + Fraction(1, CLUSTERS - 1))
        for one, other in combinations(pulls, 2)
    ), 0


def confirm(instance: Instance, measured: float) -> None:
    """Run FedAvg to rest on the three clients."""
    task = QuadraticMixture(
        hessians=np.ones((CLUSTERS, 1, 1)),
        centers=np.array([[float(point)] for point in minimisers(instance)]),
        labels=np.arange(CLUSTERS),
    )
    cosines = stationary_cosines(task, 0.5, 1)[np.triu_indices(CLUSTERS, 1)]
    confirm_equal("distance", float(np.abs(cosines + 1 / (CLUSTERS - 1)).max()), measured)


@register("cfl/stationary-cosine-anywhere", label="stationary point, any minimisers", kind="identity",
          replay=replay_with(missed), repaired_by="cfl/stationary-cosine")  # fmt: skip
def stationary_cosine_anywhere(context: Context) -> Finding:
    """At a stationary point the cross-cluster cosine is -1 / (K - 1), wherever the clusters lie.

    Hypotheses
        As ``cfl/stationary-cosine`` without the simplex: three clusters of one client each.

    Statement
        cos(Delta w_i, Delta w_j) = -1 / (K - 1) for clients of different clusters.

    Symbols
        As ``cfl/stationary-cosine``.

    Source
        The value that is expected of K clusters in experiments; it is that of a regular simplex. The sum of
        the updates is 0 in general, and for K = 3 that leaves room for a cosine of 1.

    Checked
        Three clients with curvature 1 in one dimension, exactly. The found instance is run to rest.
    """
    from hypothesis import strategies as st

    drawn: Any = st.fixed_dictionaries({f"minimiser_{k}": st.integers(-4, 4) for k in range(CLUSTERS)})
    return seek(
        context,
        drawn,
        missed,
        violated=lambda one, measured, _: (
            f"minimisers {', '.join(str(encode(point)) for point in minimisers(one))}: at FedAvg's rest two clusters "
            f"have a cosine that is {float(measured):g} away from -1/2"
        ),
        consistent="all cosines are -1 / (K - 1)",
        confirm=confirm,
    )
