"""Claims on the objectives (3)-(6) of the clustering, on the choice of K, and on the weights in (5) and line 30."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms.cfl import PartitionState, average_in_clusters
from clusterproof.algorithms.second_clustering import by_appearance
from clusterproof.checker.claims import (
    Q,
    Sides,
    Stream,
    Z,
    at_least,
    at_most,
    claim,
    equal,
    integers,
    sequences,
)

Point = tuple[Fraction, ...]
Labels = tuple[int, ...]


def partitions(size: int) -> list[Labels]:
    """Return all partitions of 0, ..., size - 1, each as a list with the group of each element.

    Groups are numbered by first appearance.
    """
    found: list[Labels] = [(0,)]
    for _ in range(size - 1):
        found = [(*labels, group) for labels in found for group in range(max(labels) + 2)]
    return found


def groups_of(points: Sequence[Point], labels: Labels) -> list[list[Point]]:
    """Return the points of each group."""
    pairs = list(zip(points, labels, strict=True))
    return [[point for point, label in pairs if label == group] for group in range(max(labels) + 1)]


def squared_distance(first: Point, second: Point) -> Fraction:
    """Return ||x - y||^2."""
    return sum(((a - b) ** 2 for a, b in zip(first, second, strict=True)), Fraction(0))


def mean_of(group: Sequence[Point]) -> Point:
    """Return the mean of points."""
    return tuple(sum(column, Fraction(0)) / len(group) for column in zip(*group, strict=True))


def within_sum(points: Sequence[Point], labels: Labels) -> Fraction:
    """Return SoFL's (6), the sum of squared distances of the points to the means of their groups."""
    groups = groups_of(points, labels)
    return sum((squared_distance(point, mean_of(group)) for group in groups for point in group), Fraction(0))


def exact_curve(points: Sequence[Point]) -> list[Fraction]:
    """Return the smallest within-cluster sum of squares for 1 .. n clusters, by enumeration of all partitions."""
    found = [(max(labels), within_sum(points, labels)) for labels in partitions(len(points))]
    return [min(total for groups, total in found if groups == k) for k in range(len(points))]


@claim(
    "sofl/equation-3",
    label="(3)",
    repaired_by="sofl/equation-6",
    ill_posed=True,
    expected="ill-posed",
    headline=True,
)
def equation_3(
    b1: int = Z[0:],
    b2: int = Z[lambda b1: b1 + 1 :],
    b3: int = Z[lambda b2: b2 + 1 :],
    b4: int = Z[lambda b3: b3 + 1 :],
) -> Sides:
    """The number of clusters and the clusters themselves minimise the sum of the clients' losses.

    Hypotheses
        K is "the value of K in Equation (3)", which is unknown, and C is a partition of the clients.

    Statement
        min over W = {w_1 .. w_K} and C = {C_1 .. C_K} of sum_k sum_(i in C_k) L(w_k, D_i).

    Source
        Zhang and Qiao (2024), (3) and Section 4. (3) is a definition. Unlike (1) and (5), it has no weights p_i. In
        our reading, K is the given number of true clusters, and the method minimises (6) for this K, see
        ``sofl/equation-6``.

    Proof
        Splitting a cluster does not increase the smallest sum, because both parts may have the old model. So one
        cluster per client minimises the sum over K. If all minimisers differ, no other partition does.
    """
    centres: list[Point] = [(Fraction(coordinate),) for coordinate in (b1, b2, b3, b4)]
    best = min((within_sum(centres, labels), labels) for labels in partitions(4))[1]
    return at_most(
        max(best) + 1,
        fewer_than_clients=3,
        words="with K free the best partition has one cluster a client, and with K given (3) does not determine it; "
        "read: K is given, and (6) is minimised",
    )


def pair_sum(points: Sequence[Point], labels: Labels, squared: bool) -> Fraction:
    """Return (4) for points on a line: the sum of distances, or of their squares, over ordered pairs within groups."""
    pairs = [(x[0] - y[0]) for group in groups_of(points, labels) for x in group for y in group]
    return sum((gap**2 if squared else abs(gap) for gap in pairs), Fraction(0))


LINE: Any = (
    integers(0, 0, upwards=True),
    integers(lambda b1: b1, 12, upwards=True),
    integers(lambda b2: b2, 12, upwards=True),
    integers(lambda b3: b3, 12, upwards=True),
)


@claim(
    "sofl/equation-4",
    label="(4), (5)",
    source="reading",
    repaired_by="sofl/equation-6",
    expected="violated",
    headline=(
        "Minimising (4) and then (5) does not minimise (3). For clients at 0, 1, 2 and 4 it "
        "gives two clusters with the sum 2.5. The minimum is 2."
    ),
    rank=4,
    places="(5)",
)
def equation_4(b1: int = LINE[0], b2: int = LINE[1], b3: int = LINE[2], b4: int = LINE[3]) -> Sides:
    """Minimising the distances within clusters (4), and then each cluster's loss (5), minimises (3).

    Hypotheses
        K = 2 is given, and theta_i are the clients' own minimisers. (If (4) were minimised over the theta_i, they
        would all be equal.) Weights are equal, and all losses have the same Hessian. dist is the Euclidean distance
        or its square. The check chooses the distance, and the partition among ties in (4), for which the claim is
        true, if such a choice exists.

    Statement
        A partition that minimises sum_k sum_(i,j in C_k) dist(theta_i, theta_j) also minimises the sum of losses (3),
        with the best model of each cluster.

    Source
        Zhang and Qiao (2024), Section 4: "we can decompose Equation (3) into two distinct optimization stages: the
        clustering stage with the optimization objective, as shown in Equation (4), and the model fusion stage". The
        reading adds three things: the two stages together minimise (3), theta_i and dist have the meaning above, and
        K is given. Since sum_(i,j in C) ||theta_i - theta_j||^2 = 2 |C| sum_i ||theta_i - mean||^2, clients of a
        large cluster have a larger weight in (4). In (6) they have equal weights, see ``sofl/equation-6``.
    """
    points: list[Point] = [(Fraction(coordinate),) for coordinate in (b1, b2, b3, b4)]
    sums = {labels: within_sum(points, labels) for labels in partitions(4) if max(labels) == 1}
    reached = []
    for squared in (False, True):
        scores = {labels: pair_sum(points, labels, squared) for labels in sums}
        least = min(scores.values())  # ties are broken such that the claim is true
        reached.append(min(sums[labels] for labels in sums if scores[labels] == least))
    return at_most(min(reached), least=min(sums.values()))


MINIMISERS: Any = sequences(Q[::2], lambda clients: clients)


@claim("sofl/equation-6", label="(6)", evaluations=60, expected="consistent, no sharpness", headline=True)
def equation_6(
    clients: int = Z[1:8],
    theta: tuple[Fraction, ...] = MINIMISERS,
    model: Fraction = Q[::2],
) -> dict[str, Sides]:
    """For losses with equal Hessians, (3) at the best models is half the within-cluster sum of squares (6).

    Hypotheses
        phi_i(w) = ||w - theta_i||^2 / 2, and the partition is given. Both sides are sums over clusters and
        coordinates, so the check has one cluster and one coordinate.

    Statement
        min_W sum_k sum_(i in C_k) phi_i(w_k) = WCSS / 2 = (1/2) sum_k sum_(i in C_k) ||theta_i - mu_k||^2, since
        sum_i phi_i(w) = WCSS / 2 + |C| ||w - mu||^2 / 2. The sum over ordered pairs in (4) is sum_k 2 |C_k| WCSS_k.

    Source
        Zhang and Qiao (2024), (3), (4) and (6). The identity is ours. It implies that, for given K, (3) and (6) have
        the same minimisers, so that a partition of the clients' models with the smallest (6) minimises (3).
    """
    mean = sum(theta) / clients
    within = sum((each - mean) ** 2 for each in theta)
    losses = sum((model - each) ** 2 / 2 for each in theta)
    pairs = sum(sum((one - other) ** 2 for other in theta) for one in theta)
    return {
        "losses": equal((losses, within / 2 + clients * (model - mean) ** 2 / 2)),
        "pairs": equal((pairs, 2 * clients * within)),
    }


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
    """The model of a cluster is the sum of its clients' models with weights n_m / n.

    Hypotheses
        n is "the amount of data" in the input. The cluster has two clients, with ``first`` and ``second`` samples. A
        client outside the cluster has ``other`` samples.

    Statement
        M = |C_i|, W_i = sum_(m=1)^M (n_m / n) w_m, where n_m is the number of samples of client m. The weights sum to
        1.

    Source
        Zhang and Qiao (2024), Algorithm 1, lines 1 and 27-31. With this n, the weights in a cluster sum to the
        cluster's share of the data, so the model shrinks in each round. Before the clustering, the same line is an
        average. Line 29 uses all clients of the cluster, but line 8 trains only m clients. In our reading, n is the
        amount of data of the cluster, and all its clients take part, see ``sofl/aggregation-in-cluster``.
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
    expected="consistent, tight within 2",
    headline=True,
    places="algorithm 1, line 19; algorithm 1, line 27; algorithm 1, line 28; algorithm 1, line 29",
)
def aggregation_in_cluster(
    stream: Stream, clients: int = Z[2:12], dimension: int = Z[1:3]
) -> dict[str, Sides]:
    """The model of a cluster is the mean of its clients' models.

    Hypotheses
        The clients have equal amounts of data, and the clustering has taken place.

    Statement
        W_i = (1 / |C_i|) sum_(m in C_i) w_m. So W_i is in the convex hull of the models, and equal models stay
        unchanged.

    Source
        Zhang and Qiao (2024), (5) and Algorithm 1, line 30, where n is the amount of data of the cluster.
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
