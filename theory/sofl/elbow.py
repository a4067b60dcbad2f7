"""Line 14 of Algorithm 1, K = elbow(M): where the map is perfect it fails, and it never says one cluster."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Annotated

import numpy as np

from clusterproof.algorithms.parts import self_organising_map as som
from clusterproof.algorithms.parts.second_clustering import elbow
from clusterproof.theory.sofl.partitions import Point, exact_curve
from clusterproof.theory.statement import Family, Sides, at_most, integers, suppose

PAPER = Family("sofl")
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
        """The three, each in a direction of its own."""
        numbers = ((self.x1, self.y1), (self.x2, self.y2), (self.x3, self.y3))
        apart = all(p[0] * q[1] != q[0] * p[1] for p, q in combinations(numbers, 2))
        suppose("each winner has a direction of its own", apart)
        return [(Fraction(x), Fraction(y)) for x, y in numbers]


def elbow_of(winners: list[Point]) -> int:
    """What the elbow answers on the exact curve of the winners."""
    return elbow(np.array([float(value) for value in exact_curve(winners)]))


def run_the_map(one: ThreeWinners) -> None:
    """Run the map from the winners on clients that are equal within clusters: one winner a cluster stays.

    Raises
    ------
    ArithmeticError
        If the map does not return exactly the true clusters.
    """
    winners = np.array(one.points, dtype=float)
    clients = np.repeat(winners, 3, axis=0)
    order = som.sample_order(len(clients), 300, np.random.default_rng(0))
    neurons = som.train(winners[None], clients, order, learning_rate=0.1, radius=0.0)
    found = som.best_matching_units(neurons, clients)
    if found.tolist() != np.repeat(np.arange(len(winners)), 3).tolist():
        raise ArithmeticError(f"the map groups the clients as {found.tolist()}")


@PAPER.claim("elbow-exact-winners", label="Algorithm 1, line 14", kind="identity", confirm=run_the_map,
             repaired_by="sofl/guarded-count")  # fmt: skip
def elbow_exact_winners(one: ThreeWinners) -> Sides:
    """Where the map returns exactly the true clusters, the elbow of the winners returns their number.

    Hypotheses
        Clients are equal within each of K >= 3 clusters, the map has one winner for each. So it is at a
        common stationary point of losses with equal Hessians.

    Statement
        K = elbow(M), M the winners, with the curve WCSS_1 .. WCSS_z of (6), z = |M|.

    Symbols
        M ``winners``, z their number; ``cluster_count="elbow"``.

    Source
        Zhang and Qiao (2024), Section 4.1 ("the accuracy of the K value is ensured") and Algorithm 1,
        line 14. The detector is not named; here the point farthest below the chord of the curve's ends.
        Any detector that needs a point on both sides behaves alike. Read: ``sofl/guarded-count``.

    Proof
        WCSS_z = 0 is the end of the curve, where the distance to the chord is zero; so a number below z
        is answered, and with z = K winners fewer than K clusters.

    Checked
        Exact curves of three winners at whole numbers, by trying every partition, the smallest first.
        The map of ours, started there with radius 0, keeps one winner a cluster.
    """
    return at_most(len(one.points), answer=elbow_of(one.points))


@PAPER.claim("one-cluster", label="Section 4.1, contribution (1)", kind="identity",
             repaired_by="sofl/guarded-count")  # fmt: skip
def one_cluster(one: ThreeWinners) -> Sides:
    """Without prior knowledge SoFL finds the number of clusters, one included.

    Hypotheses
        All clients have one distribution (K = 1); their updates differ, so that the map has z >= 3 winners.

    Statement
        elbow(M) = 1.

    Symbols
        As ``sofl/elbow-exact-winners``.

    Source
        Zhang and Qiao (2024), contribution (1): "does not require a priori knowledge, such as the number of
        clusters, and can determine the number of clusters more accurately". No K = 1 is tried in the paper.
        Read: ``sofl/guarded-count``.

    Proof
        ``sofl/elbow-below-chord``: the curve lies strictly below its chord unless all winners are at the
        same distance of each other.

    Checked
        Three winners at whole numbers, the smallest first.
    """
    return at_most(elbow_of(one.points), one=1)
