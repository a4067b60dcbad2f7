"""Claims on line 14 of Algorithm 1: the number of clusters, from the elbow or from the silhouette with a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from clusterproof.algorithms import SoFL
from clusterproof.checker.claims import (
    Frequency,
    Replicates,
    Sides,
    Stream,
    Z,
    at_most,
    claim,
    equal,
    probability,
    sequences,
    suppose,
)
from clusterproof.running import cluster_count, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.sofl.equations_3_6 import Point, exact_curve, squared_distance


def chord(curve: Sequence[Fraction]) -> list[Fraction]:
    """Return the straight line from the first to the last value of a curve."""
    last = len(curve) - 1
    return [(curve[0] * (last - k) + curve[-1] * k) / last for k in range(len(curve))]


def elbow(curve: Sequence[Fraction]) -> int:
    """Return the number of clusters at which the curve is farthest below its chord, or 1 if it is nowhere below it."""
    depths = [above - value for above, value in zip(chord(curve), curve, strict=True)]
    return depths.index(max(depths)) + 1


@claim(
    "sofl/elbow-exact-winners",
    label="Algorithm 1, line 14, elbow by the chord",
    source="reading",
    repaired_by="sofl/guarded-count",
    expected="violated",
    headline=(
        "The elbow of line 14 finds 2 clusters where the map has found exactly 3, at (0, 1), (1, "
        "0) and (1, 1)."
    ),
    rank=5,
    places="algorithm 1, line 13; figure 8",
)
def elbow_exact_winners(
    x1: int = Z[0:], y1: int = Z[0:], x2: int = Z[0:], y2: int = Z[0:], x3: int = Z[0:], y3: int = Z[0:]
) -> Sides:
    """If the map returns exactly the true clusters, the curve is farthest below its chord at the number of clusters.

    Hypotheses
        Clients are equal within each of K >= 3 clusters, and the map has one winner for each cluster. (This happens
        at a common stationary point of losses with equal Hessians.) The winners have different directions.

    Statement
        K = elbow(M), where M is the set of winners and the curve is WCSS_1 .. WCSS_z of (6), z = |M|.

    Source
        Zhang and Qiao (2024), Section 4.1 (b): "By analyzing the WCSS curves of the winning neurons, the accuracy of
        the K value of the number of clusters is ensured", and Algorithm 1, line 14, K = elbow(M). The paper does not
        define the elbow. Our reading defines it as the point farthest below the chord between the ends of the curve.
        Every definition that excludes the ends of the curve has the same flaw. Section 5.2.2 allows maps with as many
        winners as clusters: "a closer resolution can be taken, when the SOM will degenerate into a K-means
        algorithm". ``sofl/guarded-count`` defines a number of clusters without this flaw.

    Proof
        The last point of the curve is WCSS_z = 0, where the distance to the chord is zero. So the elbow is below z,
        and for z = K winners it is below K.
    """
    winners = [(x1, y1), (x2, y2), (x3, y3)]
    apart = all(p[0] * q[1] != q[0] * p[1] for p, q in combinations(winners, 2))
    suppose("each winner has a direction of its own", apart)
    return at_most(3, answer=elbow(exact_curve([(Fraction(x), Fraction(y)) for x, y in winners])))


COORDINATES: Any = sequences(Z[0:5], lambda count: count)


@claim(
    "sofl/elbow-below-chord",
    label="Algorithm 1, line 14",
    source="ours",
    tight=True,
    evaluations=30,
    expected="consistent, tight within 2",
    places="contribution 1; figure 8",
)
def elbow_below_chord(
    count: int = Z[3:6],
    x: tuple[int, ...] = COORDINATES,
    y: tuple[int, ...] = COORDINATES,
    z: tuple[int, ...] = COORDINATES,
) -> dict[str, Sides]:
    """The curve of within-cluster sums lies below its chord, and equals its chord only for a regular simplex.

    Hypotheses
        There are z >= 3 distinct points, here ``count`` points in space. The curve WCSS_1 .. WCSS_z contains the
        smallest sums over all partitions.

    Statement
        WCSS_k <= WCSS_1 (z - k) / (z - 1) for k = 1 .. z, with equality for all k exactly if all pairs of points have
        the same distance. So for z >= 3 winners, the elbow is 1 only for a regular simplex, and it is never z.

    Source
        Ours, about Zhang and Qiao (2024), Algorithm 1, line 14 and (6). Equality can occur. So for the winners that
        most clearly form z clusters, the corners of a regular simplex, the elbow returns one cluster.

    Proof
        Put each of k - 1 random points in a cluster of its own, and all other points in one cluster. The sum of
        squares of this last cluster is the sum of the squared distances of its pairs, divided by z - k + 1. Its mean
        over the random choice is WCSS_1 (z - k) / (z - 1), and the smallest sum is at most this mean. For k = z - 1
        the sum is half of the squared distance of one pair. So if the smallest sum equals the mean, all pairs have
        the same distance. Then every partition has the smallest sum.
    """
    points: list[Point] = [tuple(map(Fraction, each)) for each in zip(x, y, z, strict=True)]
    distances = [squared_distance(p, q) for p, q in combinations(points, 2)]
    suppose("the points are distinct", all(distances))
    curve, regular = exact_curve(points), min(distances) == max(distances)
    answer = elbow(curve)
    return {
        "below": at_most(curve, chord=chord(curve)),
        "equality": equal((int(curve == chord(curve)), int(regular))),
        "one": equal((int(answer == 1), int(regular))),
        "never z": at_most(answer, fewer=count - 1),
    }


DIMENSION = 40
"""Dimension of the models."""

ALLOWED = 0.05
"""Largest share of runs in which the claim allows a wrong number of clusters."""

COUNTS = (1, 2, 4, 8)
"""True numbers of clusters in the check."""


def clustered_clients(clusters: int, stream: np.random.Generator) -> QuadraticMixture:
    """Return 24 clients whose first updates have a cosine of about 0.8 within a cluster and 0 across clusters.

    If there is one cluster, the updates have a cosine of about 0.1, as the updates of equal clients have near the
    optimum.
    """
    labels = np.arange(24) * clusters // 24
    strength = 2.0 if clusters > 1 else 1 / 3
    directions = np.linalg.qr(stream.standard_normal((DIMENSION, DIMENSION)))[0][:clusters]
    noise = stream.standard_normal((24, DIMENSION)) / np.sqrt(DIMENSION)
    return QuadraticMixture(
        hessians=np.broadcast_to(np.eye(DIMENSION), (24, DIMENSION, DIMENSION)),
        centers=strength * directions[labels] + noise,
        labels=labels,
    )


def counted(task: QuadraticMixture, seed: int) -> int:
    """Return the number of clusters after SoFL's single clustering."""
    algorithm = SoFL(step_size=0.1, pretraining=0, cluster_count="silhouette")
    trace = run(algorithm, task, rounds=1, seed=seed, initial=np.zeros((1, DIMENSION)))
    return cluster_count(trace.last_assignments)


@claim(
    "sofl/guarded-count",
    label="Algorithm 1, line 14, repaired",
    source="ours",
    quick=False,
    replicates=24,
    expected="inconclusive",
    places="contribution 1",
    headline=True,
)
def guarded_count(stream: Stream, replicates: Replicates) -> Frequency:
    """The silhouette of the clients, with a threshold for a single cluster, finds 1, 2, 4 and 8 clusters.

    Hypotheses
        There are 24 clients in K clusters of equal size. Updates have a cosine of about 0.8 within a cluster and 0
        across clusters. For K = 1, the cosine is about 0.1. The map has 5 x 5 neurons, which are initialised with
        samples, and SoFL's schedule.

    Statement
        P(K_hat != K) <= 0.05. K_hat is the number k among 2 .. z whose partition of the clients, by k-means on the z
        winners, has the largest mean cosine silhouette. It is 1 if this silhouette is below 0.25.

    Source
        Ours, about Zhang and Qiao (2024), Algorithm 1, line 14. The rule may merge clusters whose updates have a
        large cosine, so the threshold 0.25 does not suit every task. The claim needs scikit-learn, the extra
        ``cluster``. This count replaces the elbow, which never returns z and almost never returns 1, see
        ``sofl/elbow-below-chord``.
    """
    wrong = []
    for clusters in stream.choice(COUNTS, replicates):
        task = clustered_clients(int(clusters), stream)
        wrong.append(counted(task, int(stream.integers(2**31))) != clusters)
    return probability(np.array(wrong), at_most=ALLOWED)
