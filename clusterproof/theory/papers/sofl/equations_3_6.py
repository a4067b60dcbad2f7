"""(3), (4) and (6): the objective of the clustering, and its K, over all partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isqrt
from typing import Annotated

import numpy as np

from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, at_most, claim, drawn, equal, integers, suppose

Point = tuple[Fraction, ...]


def partitions(size: int) -> Iterator[tuple[int, ...]]:
    """Yield all partitions of 0 .. size - 1 as the group of each element, numbered by first appearance."""

    def extend(labels: tuple[int, ...], groups: int) -> Iterator[tuple[int, ...]]:
        if len(labels) == size:
            yield labels
            return
        for group in range(groups + 1):
            yield from extend((*labels, group), max(groups, group + 1))

    return extend((), 0)


def groups_of(labels: Sequence[int]) -> list[list[int]]:
    """Return the members of each group."""
    return [
        [member for member, label in enumerate(labels) if label == group] for group in range(max(labels) + 1)
    ]


def squared_distance(first: Point, second: Point) -> Fraction:
    """||x - y||^2."""
    return sum(((a - b) ** 2 for a, b in zip(first, second, strict=True)), Fraction(0))


def within_sum(points: Sequence[Point], labels: Sequence[int]) -> Fraction:
    """Return SoFL's (6), the sum of squared distances of the points to the means of their groups."""
    total = Fraction(0)
    for members in groups_of(labels):
        group = [points[i] for i in members]
        mean = tuple(sum(column, Fraction(0)) / len(group) for column in zip(*group, strict=True))
        total += sum((squared_distance(point, mean) for point in group), Fraction(0))
    return total


def exact_curve(points: Sequence[Point]) -> list[Fraction]:
    """Return the least within-cluster sum of squares for 1 .. n clusters, by enumeration of all partitions."""
    best: dict[int, Fraction] = {}
    for labels in partitions(len(points)):
        groups, total = max(labels) + 1, within_sum(points, labels)
        best[groups] = min(best.get(groups, total), total)
    return [best[groups] for groups in range(1, len(points) + 1)]


def random_points(stream: np.random.Generator) -> list[Point]:
    """Three to six distinct points at small whole numbers; one time in four the corners of a simplex."""
    count = int(stream.integers(3, 7))
    if stream.random() < 0.25:
        return [tuple(Fraction(int(i == k)) for i in range(count)) for k in range(count)]
    dimension = int(stream.integers(1, 4))
    while True:
        points = {tuple(Fraction(int(x)) for x in stream.integers(0, 6, dimension)) for _ in range(count)}
        if len(points) == count:
            return sorted(points)


def write_points(points: Sequence[Point]) -> list[list[int]]:
    """Return points at whole numbers as JSON."""
    return [[int(value) for value in point] for point in points]


def read_points(written: list[list[int]]) -> list[Point]:
    """Read three to six distinct points at whole numbers."""
    points: list[Point] = [tuple(Fraction(value) for value in point) for point in written]
    whole = all(type(value) is int for point in written for value in point)
    if not (
        whole and 3 <= len(points) <= 6 and len(set(points)) == len(points) and len({*map(len, points)}) == 1
    ):
        raise ValueError("three to six distinct points at whole numbers are needed")
    return points


Points = Annotated[list[Point], drawn(random_points, write=write_points, read=read_points)]


@claim("sofl/equation-3", label="(3)", repaired_by="sofl/equation-6", ill_posed=True)
def equation_3(
    b1: Annotated[int, integers(0, 5, upwards=True)],
    b2: Annotated[int, integers(lambda b1: b1 + 1, 6, upwards=True)],
    b3: Annotated[int, integers(lambda b2: b2 + 1, 7, upwards=True)],
    b4: Annotated[int, integers(lambda b3: b3 + 1, 8, upwards=True)],
) -> Sides:
    """The number of clusters and the clusters themselves minimise the sum of the clients' losses.

    Hypotheses
        K is "the value of K in Equation (3)", unknown, and C a partition of the clients.

    Statement
        min over W = {w_1 .. w_K} and C = {C_1 .. C_K} of sum_k sum_(i in C_k) L(w_k, D_i).

    Source
        Zhang and Qiao (2024), (3) and Section 4. Definition. The sum has no weights p_i, which (1) and (5) have. Read:
        K is given from outside, as the number of true clusters, and (6) is minimised for it: ``sofl/equation-6``.

    Proof
        Splitting a cluster never raises the sum, since both parts may keep its model. So the minimum
        over K is reached with one cluster a client, and only there where all minimisers differ.
    """
    centres: list[Point] = [(Fraction(coordinate),) for coordinate in (b1, b2, b3, b4)]
    best = min((within_sum(centres, labels), labels) for labels in partitions(4))[1]
    return at_most(
        max(best) + 1,
        fewer_than_clients=3,
        words="with K free the best partition has one cluster a client, and with K given (3) does not determine it; "
        "read: K is given, and (6) is minimised",
    )


def two_groups(points: list[Point]) -> list[tuple[int, ...]]:
    """Return all partitions into two groups."""
    return [labels for labels in partitions(len(points)) if max(labels) == 1]


def pair_sum(points: list[Point], labels: tuple[int, ...], squared: bool) -> Fraction:
    """Return (4), the distances of all ordered pairs within the groups; points are on a line unless ``squared``."""
    total = Fraction(0)
    for members in groups_of(labels):
        for i in members:
            for j in members:
                square = squared_distance(points[i], points[j])
                total += square if squared else Fraction(isqrt(int(square)))
    return total


@claim("sofl/equation-4", label="(4), (5)", judges="reading", repaired_by="sofl/equation-6")
def equation_4(
    b1: Annotated[int, integers(0, 0, upwards=True)],
    b2: Annotated[int, integers(lambda b1: b1, 12, upwards=True)],
    b3: Annotated[int, integers(lambda b2: b2, 12, upwards=True)],
    b4: Annotated[int, integers(lambda b3: b3, 12, upwards=True)],
) -> Sides:
    """Minimising the distances within clusters (4), and then each cluster's loss (5), minimises (3).

    Hypotheses
        K is given; theta_i are the clients' own minimisers (as variables of (4) they would all be equal), weights are
        equal, all losses have the same Hessian. K = 2; dist is the Euclidean distance or its square, whichever serves
        the claim better; ties are resolved in its favour.

    Statement
        A partition that minimises sum_k sum_(i,j in C_k) dist(theta_i, theta_j) has, with the best
        model of each cluster, the least sum of losses (3).

    Source
        Zhang and Qiao (2024), Section 4: "we can decompose Equation (3) into two distinct optimization stages: the
        clustering stage with the optimization objective, as shown in Equation (4), and the model fusion stage". That
        the stages together minimise (3), what theta_i and dist are, and that K is given, are the reading's. Since
        sum_(i,j in C) ||theta_i - theta_j||^2 = 2 |C| sum_i ||theta_i - mean||^2, (4) charges a client of a large
        cluster more. The sum (6) does not: ``sofl/equation-6``.
    """
    points: list[Point] = [(Fraction(coordinate),) for coordinate in (b1, b2, b3, b4)]
    candidates = two_groups(points)
    reached = []
    for squared in (False, True):
        scores = {labels: pair_sum(points, labels, squared) for labels in candidates}
        best = (labels for labels in candidates if scores[labels] == min(scores.values()))
        reached.append(min(within_sum(points, labels) for labels in best))  # ties in favour of the claim
    return at_most(min(reached), least=min(within_sum(points, labels) for labels in candidates))


def whole_mixture(stream: np.random.Generator) -> QuadraticMixture:
    """Draw clients at whole numbers with Hessian I, in two clusters at random."""
    clients, dimension = int(stream.integers(3, 9)), int(stream.integers(1, 4))
    return QuadraticMixture(
        hessians=np.broadcast_to(np.eye(dimension), (clients, dimension, dimension)),
        centers=stream.integers(-9, 10, (clients, dimension)).astype(float),
        labels=np.sort(np.append(np.arange(2), stream.integers(0, 2, clients - 2))),
    )


@claim("sofl/equation-6", label="(6)", evaluations=60)
def equation_6(task: Annotated[QuadraticMixture, drawn(whole_mixture)]) -> dict[str, Sides]:
    """With equal Hessians, (3) at the best models is half the within-cluster sum of squares (6).

    Hypotheses
        phi_i(w) = ||w - theta_i||^2 / 2; the partition is given.

    Statement
        min_W sum_k sum_(i in C_k) phi_i(w_k) = WCSS / 2 = (1/2) sum_k sum_(i in C_k) ||theta_i - mu_k||^2,
        and the sum over ordered pairs of (4) is sum_k 2 |C_k| WCSS_k.

    Source
        Zhang and Qiao (2024), (3), (4) and (6). Identity, ours. At a given K both therefore have the
        same minimisers, and k-means on the clients' models is (3).
    """
    suppose("phi_i(w) = ||w - theta_i||^2 / 2", (task.hessians == np.eye(task.dimension)).all())
    suppose(
        "the theta_i are whole numbers below 1000",
        (task.centers == np.round(task.centers)).all() and np.abs(task.centers).max() < 1000,
    )
    labels, sizes = task.labels.tolist(), np.bincount(task.labels)
    least = sum(size * float(task.expected_loss(task.optima[k], k)) for k, size in enumerate(sizes))
    points: list[Point] = [tuple(Fraction(int(value)) for value in row) for row in task.centers]
    pairs, weighted = Fraction(0), Fraction(0)
    for members in groups_of(labels):
        group = [points[i] for i in members]
        pairs += sum((squared_distance(x, y) for x in group for y in group), Fraction(0))
        weighted += 2 * len(group) * within_sum(group, [0] * len(group))
    return {
        "losses": equal((least, float(within_sum(points, labels) / 2)), rounding=1e-12 * (1 + abs(least))),
        "pairs": equal((pairs, weighted)),
    }
