"""Line 30 of Algorithm 1: the weights of a cluster's average."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from algorithms.cfl import PartitionState, average_in_clusters
from algorithms.second_clustering import by_appearance
from theory.claim import Context, register
from theory.verdict import Finding, Kind


def weights_by_input(amounts: list[list[int]]) -> list[Fraction]:
    """Sum of the weights n_m / n of each cluster, n the amount of all data, as in the input (line 1)."""
    everything = sum(map(sum, amounts))
    return [Fraction(sum(own), everything) for own in amounts]


@register("sofl/algorithm-1-line-30", label="Algorithm 1, line 30", kind="definition",
          repaired_by="sofl/aggregation-in-cluster")  # fmt: skip
def algorithm_line_30(context: Context) -> Finding:
    """A cluster's model is the sum of its clients' models with weights n_m / n.

    Hypotheses
        None: it is a definition. n is "the amount of data" of the input.

    Statement
        M = |C_i|, W_i = sum_(m=1)^M (n_m / n) w_m.

    Symbols
        n_m the data of client m, n of all; M the clients of the cluster.

    Source
        Zhang and Qiao (2024), Algorithm 1, lines 1 and 27-31. With the input's n the weights of a cluster
        sum to its share of the data and the model shrinks with each round; before the clustering the
        same line is an average. Line 29 takes all clients of the cluster, line 8 trains m of them. Read: n
        is the data of the cluster, and all its clients take part: ``sofl/aggregation-in-cluster``.

    Checked
        The sum of the weights before and after a clustering of random amounts of data into two to
        eight clusters, in rational arithmetic.
    """
    stream = context.generator("amounts")
    trials = context.number_of_trials(100)
    sums: list[Fraction] = []
    for _ in range(trials):
        amounts = [
            stream.integers(1, 1000, int(stream.integers(1, 6))).tolist()
            for _ in range(int(stream.integers(2, 9)))
        ]
        together = weights_by_input([[amount for own in amounts for amount in own]])
        sums.extend(weights_by_input(amounts) if together == [1] else [Fraction(1)])
    largest = float(max(sums))
    equal = float(weights_by_input([[500] * 5] * 4)[0])
    return Finding(
        verdict=Kind.ILL_POSED if largest < 1 else Kind.CONSISTENT,
        reason="with the input's n the weights sum to 1 before the clustering and to a cluster's share after it: "
        f"{equal:g} for four equal clusters, {float(min(sums)):.3g} to {largest:.3g} over {len(sums)} random ones; "
        "read: n is the data of the cluster",
        measured=equal,
        bound=1.0,
        trials=trials,
    )


@register("sofl/aggregation-in-cluster", label="Algorithm 1, line 30, as meant", kind="identity")
def aggregation_in_cluster(context: Context) -> Finding:
    """A cluster's model is the mean of its clients' models.

    Hypotheses
        Equal amounts of data; the clients are clustered.

    Statement
        W_i = (1 / |C_i|) sum_(m in C_i) w_m, so that equal models are kept and W_i is in their convex hull.

    Symbols
        w_m the clients' models after their local steps, |C_i| the cluster's clients.

    Source
        Zhang and Qiao (2024), (5) and Algorithm 1, line 30, with n the data of the cluster. Identity.

    Checked
        The aggregation that SoFL uses after every round, on random models, updates and clusters of 2 to 12
        clients, against the mean summed client by client; the mean lies between its clients' models.
    """
    stream = context.generator("states")
    trials = context.number_of_trials(100)
    worst, failures = 0.0, 0
    for _ in range(trials):
        clients, dimension = int(stream.integers(2, 13)), int(stream.integers(1, 4))
        members = by_appearance(stream.integers(0, 4, clients))
        received = stream.standard_normal((clients, dimension))[members]
        updates = stream.standard_normal((clients, dimension))
        state = PartitionState(received, np.arange(clients), members, 0)
        found = average_in_clusters(state, np.arange(clients), updates).models
        for client in range(clients):
            own = [other for other in range(clients) if members[other] == members[client]]
            mean = sum(received[other] + updates[other] for other in own) / len(own)
            sent = (received + updates)[own]
            gap = float(np.abs(found[client] - mean).max())
            worst = max(worst, gap)
            outside = (found[client] < sent.min(axis=0) - 1e-12) | (found[client] > sent.max(axis=0) + 1e-12)
            failures += gap > 1e-10 or bool(outside.any())
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest difference of SoFL's model from the mean of its clients' over {trials} partitions",
        measured=worst,
        bound=1e-10,
        trials=trials,
        failures=failures,
    )
