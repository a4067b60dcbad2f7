"""Line 14 of Algorithm 1: the number of clusters by the elbow, and with a guard."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Annotated

import numpy as np

from clusterproof.algorithms import SoFL, cluster_count, run
from clusterproof.algorithms.second_clustering import elbow
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import (
    Frequency,
    Replicates,
    Sides,
    Stream,
    at_most,
    claim,
    equal,
    integers,
    probability,
    suppose,
)
from clusterproof.theory.papers.sofl.equations_3_6 import Point, Points, exact_curve, squared_distance

Place = Annotated[int, integers(0, 4, upwards=True)]


@dataclass(frozen=True)
class ThreeWinners:
    """Winning neurons (x_k, y_k) at whole numbers."""

    x1: Place
    y1: Place
    x2: Place
    y2: Place
    x3: Place
    y3: Place

    @property
    def points(self) -> list[Point]:
        """The three points, in different directions."""
        numbers = ((self.x1, self.y1), (self.x2, self.y2), (self.x3, self.y3))
        apart = all(p[0] * q[1] != q[0] * p[1] for p, q in combinations(numbers, 2))
        suppose("each winner has a direction of its own", apart)
        return [(Fraction(x), Fraction(y)) for x, y in numbers]


def elbow_of(winners: list[Point]) -> int:
    """Return the elbow of the exact curve of the winners."""
    return elbow(np.array([float(value) for value in exact_curve(winners)]))


@claim(
    "sofl/elbow-exact-winners",
    label="Algorithm 1, line 14, elbow by the chord",
    judges="reading",
    repaired_by="sofl/guarded-count",
)
def elbow_exact_winners(triple: ThreeWinners) -> Sides:
    """Where the map returns exactly the true clusters, the point farthest below the chord is at their number.

    Hypotheses
        Clients are equal within each of K >= 3 clusters, the map has one winner for each. So it is at a
        common stationary point of losses with equal Hessians.

    Statement
        K = elbow(M), M the winners, with the curve WCSS_1 .. WCSS_z of (6), z = |M|.

    Source
        Zhang and Qiao (2024), Section 4.1 (b): "By analyzing the WCSS curves of the winning neurons, the accuracy of
        the K value of the number of clusters is ensured", and Algorithm 1, line 14, K = elbow(M). The detector is
        the reading's, as the paper names none: the point farthest below the chord of the curve's ends; any that needs
        a point on both sides behaves alike. Maps with as many winners as clusters are provided for in Section 5.2.2:
        "a closer resolution can be taken, when the SOM will degenerate into a K-means algorithm". A count without
        this flaw: ``sofl/guarded-count``.

    Proof
        WCSS_z = 0 is the end of the curve, where the distance to the chord is zero; so the elbow is below z,
        and with z = K winners it gives fewer than K clusters.
    """
    return at_most(len(triple.points), answer=elbow_of(triple.points))


def chord(curve: list[Fraction]) -> list[Fraction]:
    """Return the straight line from the first to the last value of a curve."""
    last = len(curve) - 1
    return [(curve[0] * (last - k) + curve[-1] * k) / last for k in range(len(curve))]


def equidistant(points: list[Point]) -> bool:
    """Return whether all pairs of points have the same distance."""
    distances = {squared_distance(points[i], points[j]) for i in range(len(points)) for j in range(i)}
    return len(distances) <= 1


@claim("sofl/elbow-below-chord", label="Algorithm 1, line 14", judges="ours", tight=True, evaluations=30)
def elbow_below_chord(points: Points) -> dict[str, Sides]:
    """The curve of within-cluster sums lies below its chord, and on it only for a regular simplex.

    Hypotheses
        z >= 3 distinct points, the curve WCSS_1 .. WCSS_z of the least sums.

    Statement
        WCSS_k <= WCSS_1 (z - k) / (z - 1) for k = 1 .. z, with equality for all k exactly where all pairs
        of points have the same distance. So the elbow answers 1 for a regular simplex and for no
        other set of z >= 3 winners, and never z.

    Source
        Ours on Zhang and Qiao (2024), Algorithm 1, line 14 and (6). Tight. The only sets of winners
        that are called one cluster are thus those that are most clearly z of them.

    Proof
        Make k - 1 random points clusters of their own and the rest one cluster. Its sum is that of the
        squared distances of its pairs over z - k + 1; in the mean over the choices that is WCSS_1 (z - k)
        / (z - 1), and the least sum is at most the mean. At k = z - 1 the sum is half of one pair's squared
        distance: if the least equals the mean, all pairs are equal; then every partition attains it.
    """
    curve, regular = exact_curve(points), equidistant(points)
    line, answer = chord(curve), elbow(np.array([float(value) for value in curve]))
    return {
        "below": at_most(curve, chord=line),
        "equality": equal((int(curve == line), int(regular))),
        "one": equal((int(answer == 1), int(regular))),
        "never z": at_most(answer, fewer=len(points) - 1),
    }


DIMENSION = 40
"""Dimension of the models."""

ALLOWED = 0.05
"""Share of the runs in which the number may be wrong."""

COUNTS = (1, 2, 4, 8)
"""True numbers of clusters that are tried."""


def clustered_clients(clusters: int, stream: np.random.Generator) -> QuadraticMixture:
    """Twenty-four clients whose first updates from zero have cosine about 0.8 inside a cluster, 0 outside.

    One cluster has a weak common direction: cosine about 0.1, as homogeneous clients near the optimum.
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
    "sofl/guarded-count", label="Algorithm 1, line 14, repaired", judges="ours", quick=False, replicates=24
)
def guarded_count(stream: Stream, replicates: Replicates) -> Frequency:
    """The silhouette of the clients, with one cluster allowed, finds 1, 2, 4 and 8 clusters.

    Hypotheses
        24 clients in K equal clusters with updates at a cosine of about 0.8 inside and 0 across; for K = 1
        about 0.1. The map has 5 x 5 neurons that start at samples and SoFL's schedule.

    Statement
        P(K_hat != K) <= 0.05, where K_hat is the number k of 2 .. z whose partition of the clients, by k-means
        on the z winners, has the largest mean cosine silhouette, and 1 where that is below 0.25.

    Source
        Ours on Zhang and Qiao (2024), Algorithm 1, line 14. Clusters at a large cosine of each other may be merged, so
        that 0.25 is no general constant. Needs scikit-learn, the extra ``cluster``. It
        replaces the elbow by the chord, which never answers z and hardly ever one: ``sofl/elbow-below-chord``.
    """
    wrong = []
    for _ in range(replicates):
        clusters = int(stream.choice(COUNTS))
        task = clustered_clients(clusters, stream)
        wrong.append(counted(task, int(stream.integers(2**31))) != clusters)
    return probability(np.array(wrong), at_most=ALLOWED)
