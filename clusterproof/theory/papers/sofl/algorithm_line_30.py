"""Line 30 of Algorithm 1: the weights of a cluster's average."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from clusterproof.algorithms.cfl import PartitionState, average_in_clusters
from clusterproof.algorithms.second_clustering import by_appearance
from clusterproof.checker.claims import Sides, Stream, Z, at_least, at_most, claim, equal


@claim(
    "sofl/algorithm-1-line-30",
    label="Algorithm 1, line 30",
    repaired_by="sofl/aggregation-in-cluster",
    ill_posed=True,
    expected="ill-posed",
    headline=(
        "The weights n_m / n of line 30 do not sum to 1 within a cluster. With two clients "
        "inside, one outside and one sample each, they sum to 2/3."
    ),
    rank=2,
    places="(1)",
)
def algorithm_line_30(first: int = Z[1:], second: int = Z[1:], other: int = Z[1:]) -> Sides:
    """A cluster's model is the sum of its clients' models with weights n_m / n.

    Hypotheses
        n is "the amount of data" of the input. Two clients with ``first`` and ``second`` samples in a cluster, and one
        with ``other`` outside.

    Statement
        M = |C_i|, W_i = sum_(m=1)^M (n_m / n) w_m, n_m the data of client m: the weights sum to 1.

    Source
        Zhang and Qiao (2024), Algorithm 1, lines 1 and 27-31. With the input's n the weights of a cluster
        sum to its share of the data and the model shrinks with each round; before the clustering the
        same line is an average. Line 29 takes all clients of the cluster, line 8 trains m of them. Read: n
        is the data of the cluster, and all its clients take part: ``sofl/aggregation-in-cluster``.
    """
    everything = first + second + other
    return equal(
        (Fraction(first, everything) + Fraction(second, everything), 1),
        words="with n of the input a cluster's weights sum to its share of all data; read: n is the cluster's data",
    )


@claim(
    "sofl/aggregation-in-cluster",
    label="Algorithm 1, line 30, as meant",
    source="reading",
    evaluations=100,
    expected="consistent, sharp within 2",
    headline=True,
    places="algorithm 1, line 19; algorithm 1, line 27; algorithm 1, line 28; algorithm 1, line 29",
)
def aggregation_in_cluster(
    stream: Stream, clients: int = Z[2:12], dimension: int = Z[1:3]
) -> dict[str, Sides]:
    """A cluster's model is the mean of its clients' models.

    Hypotheses
        Equal amounts of data; the clients are clustered.

    Statement
        W_i = (1 / |C_i|) sum_(m in C_i) w_m, so that equal models are kept and W_i is in their convex hull.

    Source
        Zhang and Qiao (2024), (5) and Algorithm 1, line 30, with n the data of the cluster. Identity.
    """
    members = by_appearance(stream.integers(0, 4, clients))
    received = stream.standard_normal((clients, dimension))[members]
    updates = stream.standard_normal((clients, dimension))
    state = PartitionState(received, np.arange(clients), members, 0)
    models = np.asarray(average_in_clusters(state, np.arange(clients), updates).models)
    sent = [(received + updates)[members == cluster] for cluster in members]
    means = [sum(cluster_models) / len(cluster_models) for cluster_models in sent]
    return {
        "mean": equal((models, np.stack(means)), rounding=1e-10),
        "hull, above": at_most(models, largest=np.stack([each.max(axis=0) for each in sent])),
        "hull, below": at_least(models, smallest=np.stack([each.min(axis=0) for each in sent])),
    }
