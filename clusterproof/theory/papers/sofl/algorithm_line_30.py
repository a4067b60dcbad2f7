"""Line 30 of Algorithm 1: the weights of a cluster's average."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms.cfl import PartitionState, average_in_clusters
from clusterproof.algorithms.second_clustering import by_appearance
from clusterproof.theory.claims import Sides, Stream, at_least, at_most, claim, drawn, equal, integers

Amount = Annotated[int, integers(1, 6, upwards=True)]
"""Data of a client."""


def weights_by_input(amounts: list[list[int]]) -> list[Fraction]:
    """Return the sum of the weights n_m / n of each cluster, n the amount of all data, as in the input (line 1)."""
    everything = sum(map(sum, amounts))
    return [Fraction(sum(cluster_amounts), everything) for cluster_amounts in amounts]


@claim(
    "sofl/algorithm-1-line-30",
    label="Algorithm 1, line 30",
    repaired_by="sofl/aggregation-in-cluster",
    ill_posed=True,
)
def algorithm_line_30(first: Amount, second: Amount, other: Amount) -> Sides:
    """A cluster's model is the sum of its clients' models with weights n_m / n.

    Hypotheses
        n is "the amount of data" of the input.

    Statement
        M = |C_i|, W_i = sum_(m=1)^M (n_m / n) w_m, n_m the data of client m.

    Source
        Zhang and Qiao (2024), Algorithm 1, lines 1 and 27-31. With the input's n the weights of a cluster
        sum to its share of the data and the model shrinks with each round; before the clustering the
        same line is an average. Line 29 takes all clients of the cluster, line 8 trains m of them. Read: n
        is the data of the cluster, and all its clients take part: ``sofl/aggregation-in-cluster``.
    """
    weight = weights_by_input([[first, second], [other]])[0]
    return equal(
        (weight, 1),
        words=lambda: (
            f"two clients with {first} and {second} samples in a cluster and a client with {other} outside: with n "
            f"of the input the cluster's weights sum to {weight}, its share of all data; read: n is the data of the "
            "cluster"
        ),
    )


def draw_members(stream: np.random.Generator) -> np.ndarray:
    """Draw the clusters of two to twelve clients."""
    return np.asarray(by_appearance(stream.integers(0, 4, int(stream.integers(2, 13)))))


def read_members(written: list[int]) -> np.ndarray:
    """Read clusters, numbered by first appearance."""
    members = np.array(written, dtype=np.int64)
    if members.ndim != 1 or not (by_appearance(members) == members).all():
        raise ValueError("clusters must be numbered by first appearance")
    return members


@claim(
    "sofl/aggregation-in-cluster", label="Algorithm 1, line 30, as meant", judges="reading", evaluations=100
)
def aggregation_in_cluster(
    members: Annotated[np.ndarray, drawn(draw_members, write=np.ndarray.tolist, read=read_members)],
    dimension: Annotated[int, integers(1, 3)],
    stream: Stream,
) -> dict[str, Sides]:
    """A cluster's model is the mean of its clients' models.

    Hypotheses
        Equal amounts of data; the clients are clustered.

    Statement
        W_i = (1 / |C_i|) sum_(m in C_i) w_m, so that equal models are kept and W_i is in their convex hull.

    Source
        Zhang and Qiao (2024), (5) and Algorithm 1, line 30, with n the data of the cluster. Identity.
    """
    clients = len(members)
    received = stream.standard_normal((clients, dimension))[members]
    updates = stream.standard_normal((clients, dimension))
    state = PartitionState(received, np.arange(clients), members, 0)
    models = np.asarray(average_in_clusters(state, np.arange(clients), updates).models)
    sent = [(received + updates)[members == cluster] for cluster in members]
    means = [sum(cluster_models) / len(cluster_models) for cluster_models in sent]
    return {
        "mean": equal((models, np.stack(means)), rounding=1e-10),
        "hull, above": at_most(
            models, largest=np.stack([cluster_models.max(axis=0) for cluster_models in sent])
        ),
        "hull, below": at_least(
            models, smallest=np.stack([cluster_models.min(axis=0) for cluster_models in sent])
        ),
    }
